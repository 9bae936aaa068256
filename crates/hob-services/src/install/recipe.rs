//! The steps of an installation, as data: downloads with their checksums, unpacking, checks and
//! written files.
//!
//! Invariant: every downloaded file has its size and checksum here, so nothing is installed that
//! hob's authors have not seen.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;

/// All steps of an installation, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallRecipe {
    pub steps: Vec<RecipeStep>,
    /// The size on disk when it is installed.
    pub disk_bytes: u64,
    /// The licences of the installed software, such as `llama.cpp: MIT`.
    pub licences: Vec<String>,
    /// Notes that are stored with the installation: programs of this machine that it needs to run
    /// (`python` with its path).
    pub notes: Vec<(String, String)>,
}

/// One step. Paths are relative to the installation's own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipeStep {
    Fetch(PackageFetch),
    /// Unpacks a downloaded file.
    Unpack {
        /// The name of the downloaded file.
        file: String,
        archive: ArchiveKind,
        /// The target folder; empty for the installation's own.
        into: String,
        /// The maximum of unpacked bytes.
        bytes_max: u64,
    },
    /// Stops the installation if a file has another size or checksum.
    Check {
        file: String,
        bytes: u64,
        sha256: String,
    },
    /// Writes a file that ships with hob.
    Write {
        file: String,
        content: String,
    },
}

/// A file that the user's own package client downloads by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFetch {
    pub client: PackageClient,
    pub name: String,
    pub version: String,
    /// The file name that the client gives it.
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
}

/// The package client of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageClient {
    /// `PYTHON -I -m pip download`.
    Pip { python: PathBuf },
    /// `NPM pack`.
    Npm { npm: PathBuf },
}

/// The format of a downloaded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKind {
    /// A zip, as Python's wheels are.
    Wheel,
    /// A gzipped tar with everything below `package/`, which is stripped.
    Tarball,
}

impl InstallRecipe {
    /// A hash of the steps. It identifies an interrupted installation that can continue, and the
    /// recipe of an existing installation.
    pub fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for step in &self.steps {
            let line = match step {
                // The client does not matter: the bytes are the same.
                RecipeStep::Fetch(fetch) => format!("fetch {} {}\n", fetch.file, fetch.sha256),
                // The Debug form is stored on disk by its hash: renaming a variant or a field of a
                // step makes every existing installation look outdated.
                other => format!("{other:?}\n"),
            };
            hasher.update(line);
        }
        hex(&hasher.finalize())
    }

    pub fn fetches(&self) -> impl Iterator<Item = &PackageFetch> {
        self.steps.iter().filter_map(|step| match step {
            RecipeStep::Fetch(fetch) => Some(fetch),
            _ => None,
        })
    }
}

/// Formats bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
