//! Atomic changes of workspace files. The new file is written beside the old one, synced and
//! exchanged with it. Then the old file is compared with the content that was read before; if it
//! differs, the two are exchanged back. So a concurrent change by another program is never lost.

use crate::workspace_dir;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath, cannot_open};
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fsync, mkdirat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Prefix of the names of draft files.
const DRAFT_PREFIX: &str = ".hob-draft-";

/// Creates the missing parent folders; `place` then points into the last of them.
pub(crate) fn create_missing_folders(place: &mut WorkspacePath) -> Result<(), ToolRefusal> {
    let mode = place.default_mode();
    for step in std::mem::take(&mut place.missing) {
        let to_refusal = |error| io_refusal(place, error);
        // EXIST is no error: another program may have created the folder meanwhile.
        match mkdirat(&*place.folder, step.as_str(), Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(to_refusal(error)),
        }
        // NOFOLLOW: another program may have put a link where the folder was just created.
        let opened = open_folder(&place.folder, &step).map_err(to_refusal)?;
        // The umask of the daemon makes new folders private; the mode of the parent applies here.
        fchmod(&opened, Mode::from_raw_mode(mode)).map_err(to_refusal)?;
        fsync(&*place.folder).map_err(to_refusal)?;
        place.folder = Arc::new(opened);
    }
    Ok(())
}

/// Replaces `before` with a file.
pub(crate) fn replace_file(
    place: &WorkspacePath,
    before: &FsNode,
    bytes: &[u8],
    mode: u32,
) -> Result<(), ToolRefusal> {
    let draft = DraftFile::write(place, bytes, mode)?;
    swap_in(place, before, draft)
}

/// Creates a symbolic link where nothing exists.
pub(crate) fn create_link(place: &WorkspacePath, target: &[u8]) -> Result<(), ToolRefusal> {
    let draft = DraftFile::new(place);
    rustix::fs::symlinkat(target, &*place.folder, draft.name.as_str())
        .map_err(|error| io_refusal(place, error))?;
    swap_in(place, &FsNode::Nothing, draft)
}

/// Creates a folder where nothing exists.
pub(crate) fn create_folder(place: &WorkspacePath, mode: u32) -> Result<(), ToolRefusal> {
    let rights = Mode::from_raw_mode(mode);
    match mkdirat(&*place.folder, place.name.as_str(), rights) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(changed_meanwhile(place)),
        Err(error) => return Err(io_refusal(place, error)),
    }
    let opened =
        open_folder(&place.folder, &place.name).map_err(|error| io_refusal(place, error))?;
    fchmod(&opened, rights).map_err(|error| io_refusal(place, error))?;
    fsync(&*place.folder).map_err(|error| io_refusal(place, error))
}

/// Removes `before`. A folder must be empty.
pub(crate) fn remove(place: &WorkspacePath, before: &FsNode) -> Result<(), ToolRefusal> {
    let to_refusal = |error| io_refusal(place, error);
    if matches!(before, FsNode::Folder { .. }) {
        return match unlinkat(&*place.folder, place.name.as_str(), AtFlags::REMOVEDIR) {
            Ok(()) => fsync(&*place.folder).map_err(to_refusal),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::NOENT) => {
                Err(changed_meanwhile(place))
            }
            Err(error) => Err(to_refusal(error)),
        };
    }
    // Renamed aside first: an unlink could not check what it removes.
    let mut aside = DraftFile::new(place);
    match rename(place, &place.name, &aside.name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(changed_meanwhile(place)),
        Err(error) => return Err(to_refusal(error)),
    }
    let is_unchanged = place
        .read_node_named(&aside.name)
        .is_ok_and(|found| is_same(&found, before));
    if !is_unchanged {
        aside.keep();
        rename(place, &aside.name, &place.name, RenameFlags::NOREPLACE).map_err(to_refusal)?;
        return Err(changed_meanwhile(place));
    }
    drop(aside);
    fsync(&*place.folder).map_err(to_refusal)
}

/// Moves the entry at `from` to `to`, where nothing exists.
pub(crate) fn move_entry(from: &WorkspacePath, to: &WorkspacePath) -> Result<(), ToolRefusal> {
    let done = renameat_with(
        &*from.folder,
        from.name.as_str(),
        &*to.folder,
        to.name.as_str(),
        RenameFlags::NOREPLACE,
    );
    match done {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(changed_meanwhile(from)),
        Err(Errno::EXIST) => return Err(changed_meanwhile(to)),
        Err(Errno::XDEV) => {
            return Err(ToolRefusal(format!(
                "'{}' and '{}' lie on different disks, so it is not moved.",
                from.shown, to.shown
            )));
        }
        Err(error) => return Err(io_refusal(from, error)),
    }
    // The target is synced first: after a crash the entry may be in both folders, never in none.
    fsync(&*to.folder).map_err(|error| io_refusal(to, error))?;
    fsync(&*from.folder).map_err(|error| io_refusal(from, error))
}

/// Opens a folder; a symbolic link is refused.
pub(crate) fn open_folder(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// The refusal when the content differs from what was read before.
pub(crate) fn changed_meanwhile(place: &WorkspacePath) -> ToolRefusal {
    ToolRefusal(format!(
        "'{}' was changed by another program meanwhile; it was left as it is. Read it again first.",
        place.shown
    ))
}

fn swap_in(
    place: &WorkspacePath,
    before: &FsNode,
    mut draft: DraftFile<'_>,
) -> Result<(), ToolRefusal> {
    let to_refusal = |error| io_refusal(place, error);
    if *before == FsNode::Nothing {
        match rename(place, &draft.name, &place.name, RenameFlags::NOREPLACE) {
            Ok(()) => draft.keep(),
            Err(Errno::EXIST) => return Err(changed_meanwhile(place)),
            Err(error) => return Err(to_refusal(error)),
        }
    } else {
        match rename(place, &draft.name, &place.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(changed_meanwhile(place)),
            Err(error) => return Err(to_refusal(error)),
        }
        // After the exchange the previous content is under the name of the draft.
        let is_unchanged = place
            .read_node_named(&draft.name)
            .is_ok_and(|found| is_same(&found, before));
        if !is_unchanged {
            draft.keep();
            rename(place, &draft.name, &place.name, RenameFlags::EXCHANGE).map_err(to_refusal)?;
            // The second exchange brings the draft back under its own name, so it may be deleted.
            draft.discard();
            return Err(changed_meanwhile(place));
        }
    }
    drop(draft);
    fsync(&*place.folder).map_err(to_refusal)
}

fn is_same(found: &FsNode, before: &FsNode) -> bool {
    found.fingerprint() == before.fingerprint()
}

fn rename(place: &WorkspacePath, from: &str, to: &str, how: RenameFlags) -> Result<(), Errno> {
    renameat_with(&*place.folder, from, &*place.folder, to, how)
}

fn io_refusal(place: &WorkspacePath, error: Errno) -> ToolRefusal {
    cannot_open(&place.shown, &workspace_dir::errno_text(error))
}

/// A temporary entry beside the target; dropping it removes it, unless it is kept.
struct DraftFile<'s> {
    place: &'s WorkspacePath,
    name: String,
    is_kept: bool,
}

impl<'s> DraftFile<'s> {
    fn new(place: &'s WorkspacePath) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        DraftFile {
            place,
            name: format!("{DRAFT_PREFIX}{}-{number}", std::process::id()),
            is_kept: false,
        }
    }

    fn write(place: &'s WorkspacePath, bytes: &[u8], mode: u32) -> Result<Self, ToolRefusal> {
        let mut draft = DraftFile::new(place);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Private until it is complete; the final mode is set after the content is written.
        let private = Mode::from_raw_mode(0o600);
        let opened = rustix::fs::openat(&*place.folder, draft.name.as_str(), flags, private);
        let Ok(opened) = opened else {
            // The file belongs to another program (EXCL failed), so it must not be removed.
            draft.keep();
            let error = opened.err().unwrap_or(Errno::IO);
            return Err(io_refusal(place, error));
        };
        let mut file = File::from(opened);
        let written = file
            .write_all(bytes)
            .and_then(|()| Ok(fchmod(file.as_fd(), Mode::from_raw_mode(mode))?))
            .and_then(|()| file.sync_all());
        written.map_err(|error| cannot_open(&place.shown, &error.to_string()))?;
        Ok(draft)
    }

    fn keep(&mut self) {
        self.is_kept = true;
    }

    fn discard(&mut self) {
        self.is_kept = false;
    }
}

impl Drop for DraftFile<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            // A failed removal is harmless: the prefix shows where the file comes from.
            let _ = unlinkat(&*self.place.folder, self.name.as_str(), AtFlags::empty());
        }
    }
}

#[cfg(test)]
#[path = "atomic_write_tests.rs"]
mod tests;
