//! Reads the folder of another system. Blocks.
//!
//! Invariants: nothing is written; no link is followed, so nothing outside the folder is read; only
//! regular files are opened, and opening never waits; sizes and counts are bounded, and a file above
//! its bound is refused, never cut.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Entries of one folder that are looked at.
const ENTRIES_MAX: usize = 20_000;

/// The reason why a file is not read; completes a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceFileError {
    Missing,
    Link,
    NotAFile,
    TooLarge { bytes: u64, bytes_max: u64 },
    NotText,
    Unreadable(String),
}

impl SourceFileError {
    pub fn reason(&self) -> String {
        match self {
            SourceFileError::Missing => "it does not exist".to_owned(),
            SourceFileError::Link => "it is a link, and links are not followed".to_owned(),
            SourceFileError::NotAFile => "it is neither a file nor a folder".to_owned(),
            SourceFileError::TooLarge { bytes, bytes_max } => {
                format!("it has {bytes} bytes; at most {bytes_max} are read")
            }
            SourceFileError::NotText => "it is not UTF-8 text".to_owned(),
            SourceFileError::Unreadable(error) => format!("it cannot be read: {error}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceEntryKind {
    File,
    Folder,
    Link,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEntry {
    pub name: String,
    pub kind: SourceEntryKind,
}

/// The entries of a folder by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceListing {
    pub entries: Vec<SourceEntry>,
    /// True if there are more than are looked at.
    pub is_cut: bool,
}

/// The folder of another system, by its handle.
#[derive(Debug)]
pub struct SourceFolder {
    root: OwnedFd,
    path: PathBuf,
}

impl SourceFolder {
    /// Opens a folder that a person named; its own path may lead over links.
    pub fn open(path: &Path) -> io::Result<SourceFolder> {
        let path = path.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(SourceFolder { root, path })
    }

    /// The whole path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a text file; `name` is relative, with `/` between its parts.
    pub fn read_text(&self, name: &str, bytes_max: u64) -> Result<String, SourceFileError> {
        let bytes = self.read(name, bytes_max)?;
        String::from_utf8(bytes).map_err(|_| SourceFileError::NotText)
    }

    /// Reads a text file that may be missing.
    pub fn find_text(&self, name: &str, bytes_max: u64) -> Result<Option<String>, SourceFileError> {
        match self.read_text(name, bytes_max) {
            Ok(text) => Ok(Some(text)),
            Err(SourceFileError::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>, SourceFileError> {
        let (folder, name) = self.folder_of(name)?;
        // NONBLOCK: a named pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = rustix::fs::openat(&folder, name, flags | OFlags::CLOEXEC, Mode::empty());
        let file = File::from(opened.map_err(open_error)?);
        let found = file.metadata().map_err(unreadable)?;
        if !found.is_file() {
            return Err(SourceFileError::NotAFile);
        }
        let too_large = |bytes| SourceFileError::TooLarge { bytes, bytes_max };
        if found.len() > bytes_max {
            return Err(too_large(found.len()));
        }
        let mut bytes = Vec::new();
        // The file may grow while it is read.
        file.take(bytes_max + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if bytes.len() as u64 > bytes_max {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(bytes)
    }

    /// Returns what is there under this name, if anything.
    pub fn kind(&self, name: &str) -> Result<SourceEntryKind, SourceFileError> {
        let (folder, name) = self.folder_of(name)?;
        let found = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(kind_of(FileType::from_raw_mode(
            found.map_err(open_error)?.st_mode,
        )))
    }

    /// True if a file or folder of this name exists.
    pub fn has(&self, name: &str) -> bool {
        self.kind(name).is_ok()
    }

    /// Lists a folder; the folder itself for an empty name. Names that are not UTF-8 are shown with
    /// replacement characters, and cannot be opened.
    pub fn list(&self, name: &str) -> Result<SourceListing, SourceFileError> {
        let folder = self.open_folder(name.split('/').filter(|part| !part.is_empty()))?;
        let mut listing = SourceListing::default();
        for entry in Dir::read_from(&folder).map_err(|error| unreadable(error.into()))? {
            let entry = entry.map_err(|error| unreadable(error.into()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            if listing.entries.len() >= ENTRIES_MAX {
                listing.is_cut = true;
                break;
            }
            let kind = match entry.file_type() {
                // Some file systems do not tell.
                FileType::Unknown => {
                    rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                        .map_or(SourceEntryKind::Other, |found| {
                            kind_of(FileType::from_raw_mode(found.st_mode))
                        })
                }
                told => kind_of(told),
            };
            listing.entries.push(SourceEntry { name, kind });
        }
        listing
            .entries
            .sort_by(|one, other| one.name.cmp(&other.name));
        Ok(listing)
    }

    /// The opened folder of a file, and the file's own name.
    fn folder_of<'n>(&self, name: &'n str) -> Result<(OwnedFd, &'n str), SourceFileError> {
        let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
        check_part(file)?;
        let parts = folder.split('/').filter(|part| !part.is_empty());
        Ok((self.open_folder(parts)?, file))
    }

    /// Opens a folder below, one part after the other, so that none of them can be a link.
    fn open_folder<'n>(
        &self,
        parts: impl Iterator<Item = &'n str>,
    ) -> Result<OwnedFd, SourceFileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder = rustix::fs::openat(&self.root, ".", flags, Mode::empty())
            .map_err(|error| unreadable(error.into()))?;
        for part in parts {
            check_part(part)?;
            let below = rustix::fs::openat(&folder, part, flags, Mode::empty());
            folder = match below {
                Ok(below) => below,
                // A link to a folder is refused as no folder.
                Err(Errno::NOTDIR) => {
                    let found = rustix::fs::statat(&folder, part, AtFlags::SYMLINK_NOFOLLOW);
                    let mode = found.map_err(open_error)?.st_mode;
                    return Err(match FileType::from_raw_mode(mode) {
                        FileType::Symlink => SourceFileError::Link,
                        _ => SourceFileError::Missing,
                    });
                }
                Err(error) => return Err(open_error(error)),
            };
        }
        Ok(folder)
    }
}

/// Refuses names that would lead out of the folder.
fn check_part(part: &str) -> Result<(), SourceFileError> {
    if part.is_empty() || part == "." || part == ".." || part.contains(['/', '\0']) {
        return Err(SourceFileError::Missing);
    }
    Ok(())
}

fn kind_of(file_type: FileType) -> SourceEntryKind {
    match file_type {
        FileType::RegularFile => SourceEntryKind::File,
        FileType::Directory => SourceEntryKind::Folder,
        FileType::Symlink => SourceEntryKind::Link,
        _ => SourceEntryKind::Other,
    }
}

/// Returns true if the file's name has this ending.
pub fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

fn open_error(error: Errno) -> SourceFileError {
    match error {
        Errno::NOENT => SourceFileError::Missing,
        Errno::LOOP => SourceFileError::Link,
        // A socket, or a pipe without a reader.
        Errno::NXIO => SourceFileError::NotAFile,
        error => unreadable(error.into()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn unreadable(error: io::Error) -> SourceFileError {
    SourceFileError::Unreadable(error.to_string())
}

#[cfg(test)]
#[path = "import_folder_tests.rs"]
mod tests;
