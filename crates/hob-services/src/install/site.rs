//! The folder of an installation, and its atomic replacement and removal.
//!
//! ```text
//! services/NAME/installed/           the installation in use; `.recipe` identifies its recipe
//! services/NAME/.staging-RECIPE/     an installation in progress
//!     fetched/                       verified downloads
//!     made/                          becomes `installed` by one rename
//!     tmp/                           files that the package client is writing
//! ```
//!
//! Invariant: `installed` is complete and from one recipe, or absent.

use super::archive::make_folder;
use super::error::InstallError;
use super::recipe::{InstallRecipe, hex};
use rustix::fs::{CWD, RenameFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

const INSTALLED: &str = "installed";
const STAGING: &str = ".staging-";
const GONE: &str = ".gone";
const RECIPE: &str = ".recipe";
/// The length of the fingerprint in a folder name.
const STAGING_LETTERS: usize = 16;
const RECIPE_BYTES_MAX: u64 = 64 * 1024;
const CHUNK_BYTES: usize = 256 * 1024;
/// The maximum depth of folders; deeper ones are not measured.
const DEPTH_MAX: usize = 32;

/// A service's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallSite {
    folder: PathBuf,
}

/// The stored record of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallRecord {
    pub fingerprint: String,
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
}

impl InstallSite {
    /// A site at the service's own folder, [`hob_kit::home::Home::service`].
    pub fn new(folder: PathBuf) -> InstallSite {
        InstallSite { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the installation in use.
    pub fn installed(&self) -> PathBuf {
        self.folder.join(INSTALLED)
    }

    /// Reads the record of the installation in use; none if nothing is installed.
    pub fn read_record(&self) -> Option<InstallRecord> {
        let file = File::open(self.installed().join(RECIPE)).ok()?;
        let mut text = String::new();
        file.take(RECIPE_BYTES_MAX).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns true if the installation in use is from this recipe.
    pub fn is_made_by(&self, recipe: &InstallRecipe) -> bool {
        self.read_record()
            .is_some_and(|found| found.fingerprint == recipe.fingerprint())
    }

    /// Removes the installation and the rest of attempts. Returns the freed bytes. Blocks.
    pub fn remove(&self) -> io::Result<u64> {
        let gone = self.folder.join(GONE);
        let _ = fs::remove_dir_all(&gone);
        let mut freed = 0;
        // Renamed first: a partial removal must not look like an installation.
        match fs::rename(self.installed(), &gone) {
            Ok(()) => {
                freed += measure(&gone, 0);
                fs::remove_dir_all(&gone)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        for staging in self.staging_folders() {
            freed += measure(&staging, 0);
            fs::remove_dir_all(&staging)?;
        }
        // The folder stays if the service keeps its own files there.
        let _ = fs::remove_dir(&self.folder);
        Ok(freed)
    }

    pub(crate) fn fetched(&self, recipe: &InstallRecipe) -> PathBuf {
        self.staging(recipe).join("fetched")
    }

    pub(crate) fn made(&self, recipe: &InstallRecipe) -> PathBuf {
        self.staging(recipe).join("made")
    }

    pub(crate) fn tmp(&self, recipe: &InstallRecipe) -> PathBuf {
        self.staging(recipe).join("tmp")
    }

    fn staging(&self, recipe: &InstallRecipe) -> PathBuf {
        let fingerprint = recipe.fingerprint();
        let short = fingerprint.get(..STAGING_LETTERS).unwrap_or(&fingerprint);
        self.folder.join(format!("{STAGING}{short}"))
    }

    /// Creates the staging folders. Downloads of earlier attempts of this recipe stay.
    pub(crate) fn begin(&self, recipe: &InstallRecipe) -> Result<(), InstallError> {
        let staging = self.staging(recipe);
        // Downloads of other recipes are useless now and can be large.
        let old = self
            .staging_folders()
            .into_iter()
            .filter(|path| *path != staging);
        for path in old.chain([self.made(recipe), self.tmp(recipe), self.folder.join(GONE)]) {
            remove_tree(&path)?;
        }
        for path in [self.fetched(recipe), self.made(recipe), self.tmp(recipe)] {
            make_folder(&path).map_err(|error| InstallError::at(&path, &error))?;
        }
        Ok(())
    }

    /// Removes everything that an attempt left.
    pub(crate) fn discard(&self, recipe: &InstallRecipe) {
        let staging = self.staging(recipe);
        if let Err(error) = remove_tree(&staging) {
            tracing::warn!(folder = %staging.display(), "the rest of an installation could not be removed: {error}");
        }
        // Succeeds only if the folder is empty.
        let _ = fs::remove_dir(&self.folder);
    }

    /// Moves the new installation into its place durably, and removes the old one.
    pub(crate) fn finish(&self, recipe: &InstallRecipe) -> Result<(), InstallError> {
        let (made, installed) = (self.made(recipe), self.installed());
        let record = InstallRecord {
            fingerprint: recipe.fingerprint(),
            notes: recipe.notes.iter().cloned().collect(),
        };
        let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        let marker = made.join(RECIPE);
        hob_kit::atomic_file::replace(&marker, &text)
            .map_err(|error| InstallError::at(&marker, &error))?;
        let failed = |error: io::Error| InstallError::at(&installed, &error);
        // Synced before the rename, so that after a crash `installed` is never incomplete.
        sync_folders(&made, 0).map_err(failed)?;
        if installed.exists() {
            // With an exchange `installed` exists at every moment. The old installation is in the
            // staging folder afterwards, which is discarded below.
            let swap = RenameFlags::EXCHANGE;
            if rustix::fs::renameat_with(CWD, &made, CWD, &installed, swap).is_err() {
                // Not every file system can exchange two names. A crash between the two renames
                // leaves no installation, but never a mixed one.
                let gone = self.folder.join(GONE);
                fs::rename(&installed, &gone).map_err(failed)?;
                fs::rename(&made, &installed).map_err(failed)?;
            }
        } else {
            fs::rename(&made, &installed).map_err(failed)?;
        }
        // Makes the rename durable before the old installation is removed.
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
        let _ = fs::remove_dir_all(self.folder.join(GONE));
        self.discard(recipe);
        Ok(())
    }

    fn staging_folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let is_staging = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with(STAGING)
        };
        let entries = entries.filter_map(Result::ok).filter(is_staging);
        entries.map(|entry| entry.path()).collect()
    }
}

/// Returns a file's length and SHA-256. Blocks.
pub(crate) fn digest(path: &Path, stop: &CancellationToken) -> Result<(u64, String), InstallError> {
    let failed = |error: io::Error| InstallError::at(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        if stop.is_cancelled() {
            return Err(InstallError::Stopped);
        }
        let length = file.read(&mut buffer).map_err(failed)?;
        if length == 0 {
            return Ok((bytes, hex(&hasher.finalize())));
        }
        bytes += length as u64;
        hasher.update(&buffer[..length]);
    }
}

/// Returns an error if a file has another size or checksum. Blocks.
pub(crate) fn verify(
    path: &Path,
    bytes: u64,
    sha256: &str,
    stop: &CancellationToken,
) -> Result<(), InstallError> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let wrong = |what: String| InstallError::Wrong {
        file: file.clone().into_owned(),
        what,
    };
    // A symbolic link is refused: its target could change after the check.
    let there = fs::symlink_metadata(path);
    if !there.is_ok_and(|there| there.is_file()) {
        return Err(wrong("it is not there".to_owned()));
    }
    let (found_bytes, found) = digest(path, stop)?;
    if found_bytes != bytes {
        return Err(wrong(format!(
            "it has {found_bytes} bytes instead of {bytes}"
        )));
    }
    if found != sha256 {
        return Err(wrong(format!("its SHA-256 is {found} instead of {sha256}")));
    }
    Ok(())
}

/// The free space of the disk of the nearest existing folder.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let mut nearest = folder;
    while !nearest.exists() {
        let Some(parent) = nearest.parent() else {
            break;
        };
        nearest = parent;
    }
    let found = rustix::fs::statvfs(nearest)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

fn remove_tree(path: &Path) -> Result<(), InstallError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(InstallError::at(path, &error))
        }
        _ => Ok(()),
    }
}

/// The size of all files below a path; links are not followed.
pub(crate) fn measure(path: &Path, depth: usize) -> u64 {
    let Ok(there) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !there.is_dir() {
        return there.len();
    }
    let Ok(entries) = fs::read_dir(path) else {
        return 0;
    };
    if depth >= DEPTH_MAX {
        return 0;
    }
    let entries = entries.filter_map(Result::ok);
    entries.map(|entry| measure(&entry.path(), depth + 1)).sum()
}

/// Syncs all folders, so that the file names are durable. The files are synced when they are
/// written.
fn sync_folders(folder: &Path, depth: usize) -> io::Result<()> {
    if depth < DEPTH_MAX {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                sync_folders(&entry.path(), depth + 1)?;
            }
        }
    }
    File::open(folder)?.sync_all()
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
