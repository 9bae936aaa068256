//! Changing what is at a spot, whole or not at all. The new file is written beside the old one,
//! synced, and changes places with it; only then is it seen whether the old one is still what was
//! looked at, and if not they change back. So nothing that somebody wrote meanwhile is lost.

use crate::beneath;
use crate::spot::{Node, Refused, Spot, failed};
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fsync, mkdirat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the name of a file in the making begins.
const DRAFT: &str = ".hob-draft-";

/// Makes the folders that miss on the way to a spot; the spot is then inside the last of them.
pub(crate) fn make_missing(spot: &mut Spot) -> Result<(), Refused> {
    let mode = spot.usual_mode();
    for step in std::mem::take(&mut spot.missing) {
        let failed = |error| wrong(spot, error);
        match mkdirat(&*spot.folder, step.as_str(), Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        // Not through a link: what was just made is a folder, or somebody interferes.
        let opened = open_folder(&spot.folder, &step).map_err(failed)?;
        // The process keeps what it makes private; here the folder's own rights count.
        fchmod(&opened, Mode::from_raw_mode(mode)).map_err(failed)?;
        fsync(&*spot.folder).map_err(failed)?;
        spot.folder = Arc::new(opened);
    }
    Ok(())
}

/// Puts a file in the place of `before`.
pub(crate) fn file(spot: &Spot, before: &Node, bytes: &[u8], mode: u32) -> Result<(), Refused> {
    let draft = Draft::write(spot, bytes, mode)?;
    put(spot, before, draft)
}

/// Puts a link in the place of nothing.
pub(crate) fn link(spot: &Spot, target: &[u8]) -> Result<(), Refused> {
    let draft = Draft::new(spot);
    rustix::fs::symlinkat(target, &*spot.folder, draft.name.as_str())
        .map_err(|error| wrong(spot, error))?;
    put(spot, &Node::Nothing, draft)
}

/// Makes a folder in the place of nothing.
pub(crate) fn folder(spot: &Spot, mode: u32) -> Result<(), Refused> {
    let rights = Mode::from_raw_mode(mode);
    match mkdirat(&*spot.folder, spot.name.as_str(), rights) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(changed(spot)),
        Err(error) => return Err(wrong(spot, error)),
    }
    let opened = open_folder(&spot.folder, &spot.name).map_err(|error| wrong(spot, error))?;
    fchmod(&opened, rights).map_err(|error| wrong(spot, error))?;
    fsync(&*spot.folder).map_err(|error| wrong(spot, error))
}

/// Takes `before` away. A folder must be empty.
pub(crate) fn nothing(spot: &Spot, before: &Node) -> Result<(), Refused> {
    let told = |error| wrong(spot, error);
    if matches!(before, Node::Folder { .. }) {
        return match unlinkat(&*spot.folder, spot.name.as_str(), AtFlags::REMOVEDIR) {
            Ok(()) => fsync(&*spot.folder).map_err(told),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::NOENT) => {
                Err(changed(spot))
            }
            Err(error) => Err(told(error)),
        };
    }
    let mut aside = Draft::new(spot);
    match rename(spot, &spot.name, &aside.name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(changed(spot)),
        Err(error) => return Err(told(error)),
    }
    let is_it = spot
        .look_at(&aside.name)
        .is_ok_and(|found| same(&found, before));
    if !is_it {
        aside.keep();
        rename(spot, &aside.name, &spot.name, RenameFlags::NOREPLACE).map_err(told)?;
        return Err(changed(spot));
    }
    drop(aside);
    fsync(&*spot.folder).map_err(told)
}

/// Moves what is at `from` to `to`, where nothing is.
pub(crate) fn moved(from: &Spot, to: &Spot) -> Result<(), Refused> {
    let done = renameat_with(
        &*from.folder,
        from.name.as_str(),
        &*to.folder,
        to.name.as_str(),
        RenameFlags::NOREPLACE,
    );
    match done {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(changed(from)),
        Err(Errno::EXIST) => return Err(changed(to)),
        Err(Errno::XDEV) => {
            return Err(Refused(format!(
                "'{}' and '{}' lie on different disks, so it is not moved.",
                from.shown, to.shown
            )));
        }
        Err(error) => return Err(wrong(from, error)),
    }
    fsync(&*to.folder).map_err(|error| wrong(to, error))?;
    fsync(&*from.folder).map_err(|error| wrong(from, error))
}

/// Opens a folder that is no link.
pub(crate) fn open_folder(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// What is told when a place is no longer what was looked at.
pub(crate) fn changed(spot: &Spot) -> Refused {
    Refused(format!(
        "'{}' was changed by somebody else meanwhile; it is left as it is. Look at it again first.",
        spot.shown
    ))
}

fn put(spot: &Spot, before: &Node, mut draft: Draft<'_>) -> Result<(), Refused> {
    let told = |error| wrong(spot, error);
    if *before == Node::Nothing {
        match rename(spot, &draft.name, &spot.name, RenameFlags::NOREPLACE) {
            Ok(()) => draft.keep(),
            Err(Errno::EXIST) => return Err(changed(spot)),
            Err(error) => return Err(told(error)),
        }
    } else {
        match rename(spot, &draft.name, &spot.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(changed(spot)),
            Err(error) => return Err(told(error)),
        }
        // Under the draft's name is now what was there.
        let is_it = spot
            .look_at(&draft.name)
            .is_ok_and(|found| same(&found, before));
        if !is_it {
            draft.keep();
            rename(spot, &draft.name, &spot.name, RenameFlags::EXCHANGE).map_err(told)?;
            // What comes back under that name is the draft, unless somebody interferes again.
            draft.throw_away();
            return Err(changed(spot));
        }
    }
    drop(draft);
    fsync(&*spot.folder).map_err(told)
}

fn same(found: &Node, before: &Node) -> bool {
    found.mark() == before.mark()
}

fn rename(spot: &Spot, from: &str, to: &str, how: RenameFlags) -> Result<(), Errno> {
    renameat_with(&*spot.folder, from, &*spot.folder, to, how)
}

fn wrong(spot: &Spot, error: Errno) -> Refused {
    failed(&spot.shown, &beneath::reason(error))
}

/// A file beside the spot that is removed at the end, unless it is kept.
struct Draft<'s> {
    spot: &'s Spot,
    name: String,
    kept: bool,
}

impl<'s> Draft<'s> {
    fn new(spot: &'s Spot) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Draft {
            spot,
            name: format!("{DRAFT}{}-{number}", std::process::id()),
            kept: false,
        }
    }

    fn write(spot: &'s Spot, bytes: &[u8], mode: u32) -> Result<Self, Refused> {
        let mut draft = Draft::new(spot);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let private = Mode::from_raw_mode(0o600);
        let opened = rustix::fs::openat(&*spot.folder, draft.name.as_str(), flags, private);
        let Ok(opened) = opened else {
            // It is not ours to remove.
            draft.keep();
            let error = opened.err().unwrap_or(Errno::IO);
            return Err(wrong(spot, error));
        };
        let mut file = File::from(opened);
        let written = file
            .write_all(bytes)
            .and_then(|()| Ok(fchmod(file.as_fd(), Mode::from_raw_mode(mode))?))
            .and_then(|()| file.sync_all());
        written.map_err(|error| failed(&spot.shown, &error.to_string()))?;
        Ok(draft)
    }

    fn keep(&mut self) {
        self.kept = true;
    }

    fn throw_away(&mut self) {
        self.kept = false;
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // One that stays is only a file too many, with a name that says whose it is.
            let _ = unlinkat(&*self.spot.folder, self.name.as_str(), AtFlags::empty());
        }
    }
}

#[cfg(test)]
#[path = "put_tests.rs"]
mod tests;
