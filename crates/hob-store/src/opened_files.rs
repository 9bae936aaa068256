//! The files that this store opened, by device and inode.
//!
//! A deleted or replaced file stays usable through its descriptor. Writes to it succeed and are
//! gone at the next start. Invariant: nothing is acknowledged unless every file is still under its
//! name.

use crate::connection::sibling_path;
use crate::error::StoreError;
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::path::{Path, PathBuf};

/// The database, its write-ahead log and the lock of the home.
const SUFFIXES: &[&str] = &["", "-wal", ".lock"];

/// The identities of the store's files.
#[derive(Debug)]
pub(crate) struct OpenedFiles {
    files: Vec<OpenedFile>,
}

#[derive(Debug)]
struct OpenedFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl OpenedFiles {
    /// Remembers the files under these names. The store is open, so they exist; only the lock is
    /// missing where the caller took none.
    pub(crate) fn remember(database: &Path) -> OpenedFiles {
        let named = SUFFIXES.iter().map(|suffix| sibling_path(database, suffix));
        let files = named.filter_map(|path| {
            let identity = identity(&path)?;
            Some(OpenedFile { path, identity })
        });
        OpenedFiles {
            files: files.collect(),
        }
    }

    /// Fails with the first file that is no longer the opened one.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        // A missing file has no identity, so it counts as replaced.
        let is_lost = |file: &&OpenedFile| identity(&file.path) != Some(file.identity);
        self.files.iter().find(is_lost).map_or(Ok(()), |file| {
            Err(StoreError::Replaced {
                file: file.path.clone(),
            })
        })
    }
}

/// Returns device and inode of the file at `path`; none when there is none.
///
/// Asks for the inode only. Linux (6.13 and later) gives a file whose times were read a new time at
/// its next write, so reading them here would make every sync write the inode too.
#[cfg(target_os = "linux")]
fn identity(path: &Path) -> Option<(u64, u64)> {
    // A link that was put in the file's place counts as a replacement.
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO).ok()?;
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    Some((device, found.stx_ino))
}

#[cfg(not(target_os = "linux"))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
