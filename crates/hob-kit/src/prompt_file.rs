//! Reads files that become part of a prompt. A prompt leaves the machine, so a file must not be a
//! substitute for something else: no link to a key, no hard link to hob's token, no pipe.
//!
//! Invariants: a file is opened relative to the handle of its folder, without following links; only
//! a regular file with one name is read; opening never blocks; a folder outside hob's home never
//! gives access to files in it; the text is masked.

use crate::home::Home;
use crate::mask::SecretMask;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{File, FileType, Metadata};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Attempts to open a file that is being replaced, as editors do when they save.
const TRIES_MAX: usize = 16;
/// Folders above a workspace that are checked.
const DEPTH_MAX: usize = 2_048;
/// Entries of each of hob's own folders whose inodes are compared.
const HOME_ENTRIES_MAX: usize = 4_096;

/// The folder of a prompt file.
#[derive(Clone, Copy, Debug)]
pub enum PromptFolder<'a> {
    /// A folder of hob's home. The file must belong to the user hob runs as.
    Home(&'a Path),
    /// Any other folder. It must not be in hob's home, by whatever name.
    Outside { folder: &'a Path, home: &'a Home },
}

/// The reason for which a file is not part of a prompt, as a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptFileError {
    #[error("{0} is a link and was not read. Put the text itself into the file.")]
    Link(String),
    #[error(
        "{0} has a second name (a hard link), so it may be a file from elsewhere. It was not read. If it is yours, replace it with a copy."
    )]
    HardLink(String),
    #[error("{0} is {1}, not a file, and was not read.")]
    NotAFile(String, &'static str),
    #[error("{0} belongs to hob itself and was not read. Work in a folder outside hob's home.")]
    HobsOwn(String),
    #[error("{0} belongs to another user and was not read.")]
    Foreign(String),
    #[error("{0} changed each time it was opened and was not read.")]
    Changing(String),
    #[error("{0} cannot be read: {1}.")]
    Unreadable(String, String),
}

/// Reads a prompt file up to `bytes_max`, with secrets masked; `None` if it does not exist. Blocks.
pub fn read_prompt_file(
    folder: PromptFolder<'_>,
    name: &str,
    bytes_max: usize,
    mask: &SecretMask,
) -> Result<Option<String>, PromptFileError> {
    let Some(file) = open_prompt_file(folder, name)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    // One byte more than the bound tells a file that is cut from one that just fits.
    file.take(bytes_max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| PromptFileError::Unreadable(name.to_owned(), error.to_string()))?;
    let is_cut = bytes.len() > bytes_max;
    bytes.truncate(bytes_max);
    let mut stream = mask.stream();
    let mut masked = stream.push(&bytes).into_owned();
    // A text that was cut may end inside a secret. The stream holds that part back, and without
    // `finish` it is dropped.
    if !is_cut {
        masked.extend(stream.finish());
    }
    Ok(Some(String::from_utf8_lossy(&masked).into_owned()))
}

/// Opens a file that becomes part of a prompt; `None` if it does not exist. Blocks, but never on the
/// file itself.
pub fn open_prompt_file(
    folder: PromptFolder<'_>,
    name: &str,
) -> Result<Option<File>, PromptFileError> {
    let unreadable = |error: Errno| PromptFileError::Unreadable(name.to_owned(), reason(error));
    let (PromptFolder::Home(path) | PromptFolder::Outside { folder: path, .. }) = folder;
    // Only a plain name, so that the handle of the folder alone decides where the file is.
    if name.is_empty() || name == "." || name == ".." || name.contains('/') {
        return Err(unreadable(Errno::INVAL));
    }
    let handle = match rustix::fs::open(path, FOLDER, Mode::empty()) {
        Ok(handle) => File::from(handle),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    for _ in 0..TRIES_MAX {
        let found = match rustix::fs::openat(&handle, name, LOOK, Mode::empty()) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        match check(folder, &handle, name, found)? {
            CheckedFile::Sound(file) => return Ok(Some(file)),
            CheckedFile::Replaced => {}
        }
    }
    Err(PromptFileError::Changing(name.to_owned()))
}

/// Flags to open a folder only for looking up names.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Flags to inspect a file: this follows no link, reads nothing and triggers no device. For a plain
/// name it stays inside the folder exactly as `openat2` with `RESOLVE_BENEATH`,
/// `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_MAGICLINKS` does.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

enum CheckedFile {
    Sound(File),
    /// Another file has the name by now.
    Replaced,
}

fn check(
    folder: PromptFolder<'_>,
    handle: &File,
    name: &str,
    found: OwnedFd,
) -> Result<CheckedFile, PromptFileError> {
    let named = || name.to_owned();
    let failed = |error: std::io::Error| PromptFileError::Unreadable(named(), error.to_string());
    let found = File::from(found);
    let metadata = found.metadata().map_err(failed)?;
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return Err(PromptFileError::Link(named()));
    }
    if !kind.is_file() {
        return Err(PromptFileError::NotAFile(named(), kind_name(kind)));
    }
    if metadata.nlink() > 1 {
        return Err(PromptFileError::HardLink(named()));
    }
    match folder {
        PromptFolder::Home(_) if metadata.uid() != rustix::process::geteuid().as_raw() => {
            return Err(PromptFileError::Foreign(named()));
        }
        PromptFolder::Home(_) => {}
        PromptFolder::Outside { home, .. } => {
            if is_hobs_own(home, handle, &metadata).map_err(failed)? {
                return Err(PromptFileError::HobsOwn(named()));
            }
        }
    }
    let place = Path::new("/proc/self/fd").join(found.as_raw_fd().to_string());
    // Read after the link count: a file that still has its name now had it when the links were
    // counted, so no second name can come and go around the count.
    let current_path = std::fs::read_link(&place).map_err(failed)?;
    if metadata.nlink() == 0 || current_path.file_name() != Some(name.as_ref()) {
        return Ok(CheckedFile::Replaced);
    }
    // Opened again for reading by the path of the handle, so it cannot be another file.
    // Non-blocking, so that opening can never wait, whatever the file is.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&place)
        .map_err(failed)?;
    Ok(CheckedFile::Sound(file))
}

/// Returns true if a file or one of its folders belongs to hob.
fn is_hobs_own(home: &Home, folder: &File, file: &Metadata) -> std::io::Result<bool> {
    // Compared by device and inode, so that a bind mount or another spelling of the path hides
    // nothing.
    let own = own_numbers(home);
    if own.contains(&number(file)) {
        return Ok(true);
    }
    let mut here = folder.try_clone()?;
    let mut here_number = number(&here.metadata()?);
    for _ in 0..DEPTH_MAX {
        if own.contains(&here_number) {
            return Ok(true);
        }
        let above = File::from(rustix::fs::openat(&here, "..", FOLDER, Mode::empty())?);
        let above_number = number(&above.metadata()?);
        // `..` of the root is the root itself.
        if above_number == here_number {
            return Ok(false);
        }
        (here, here_number) = (above, above_number);
    }
    Err(std::io::Error::other("it is in too many folders"))
}

/// The device and inode of hob's folders and of their direct entries.
fn own_numbers(home: &Home) -> BTreeSet<(u64, u64)> {
    let mut numbers = BTreeSet::new();
    let folders: BTreeSet<PathBuf> = home.folders().into_iter().map(Path::to_owned).collect();
    for folder in folders {
        numbers.extend(std::fs::metadata(&folder).ok().as_ref().map(number));
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let found = entries.take(HOME_ENTRIES_MAX);
        numbers.extend(found.filter_map(|entry| entry.metadata().ok().as_ref().map(number)));
    }
    numbers
}

fn number(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

fn kind_name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn reason(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

#[cfg(test)]
#[path = "prompt_file_tests.rs"]
mod tests;
