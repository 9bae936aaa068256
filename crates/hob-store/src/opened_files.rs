//! The files that this store opened, by device and inode.
//!
//! A deleted or replaced file stays usable through its descriptor, so writes to it succeed and are
//! gone at the next start. Invariant: nothing is acknowledged unless every file still stands under
//! its name.

use crate::connection::beside;
use crate::error::StoreError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The database, its write-ahead log and the lock of the home.
const SUFFIXES: &[&str] = &["", "-wal", ".lock"];

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
    /// Remembers what stands under the names now. The store is open, so the files exist; only the
    /// lock is missing where the caller took none.
    pub(crate) fn remember(database: &Path) -> OpenedFiles {
        let named = SUFFIXES.iter().map(|suffix| beside(database, suffix));
        let files = named.filter_map(|path| {
            let identity = identity(&path)?;
            Some(OpenedFile { path, identity })
        });
        OpenedFiles {
            files: files.collect(),
        }
    }

    /// Fails with the first file that is no longer the one that was opened.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let is_lost = |file: &&OpenedFile| identity(&file.path) != Some(file.identity);
        self.files.iter().find(is_lost).map_or(Ok(()), |file| {
            Err(StoreError::Replaced {
                file: file.path.clone(),
            })
        })
    }
}

/// Device and inode of what stands at `path`; none when nothing does.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
