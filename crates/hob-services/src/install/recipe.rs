//! What installing a service does, as data: what is fetched by whom, what it must hash to, where it
//! is unpacked, what is checked and what is written.
//!
//! Invariant: every byte that is fetched has its size and checksum here, so nothing is installed
//! that hob's authors have not seen.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;

/// All that installing a service does, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    pub steps: Vec<Step>,
    /// What it takes on disk in the end.
    pub disk_bytes: u64,
    /// Of what is installed: `llama.cpp: MIT`.
    pub licences: Vec<String>,
    /// Remembered with the installation: programs of this machine that it needs to run
    /// (`python` with its path).
    pub notes: Vec<(String, String)>,
}

/// One step. Paths are relative to the installation's own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Fetch(Fetch),
    /// Takes what was fetched apart.
    Unpack {
        /// The file's name, as fetched.
        file: String,
        archive: Archive,
        /// The folder it goes into; empty for the installation's own.
        into: String,
        /// The most that may come out of it.
        bytes_max: u64,
    },
    /// Refuses to go on if a file is not what it should be.
    Check {
        file: String,
        bytes: u64,
        sha256: String,
    },
    /// Writes a file of our own.
    Write {
        file: String,
        content: String,
    },
}

/// A file that a package client of the person's own fetches by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    pub by: Fetcher,
    pub name: String,
    pub version: String,
    /// The name under which the client leaves it.
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
}

/// Who fetches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetcher {
    /// `PYTHON -I -m pip download`.
    Pip { python: PathBuf },
    /// `NPM pack`.
    Npm { npm: PathBuf },
}

/// What a fetched file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archive {
    /// A zip, as Python's wheels are.
    Wheel,
    /// A gzipped tar with everything below `package/`, which is left out.
    Tarball,
}

impl Recipe {
    /// The same for the same steps: what an interrupted installation goes on from, and how it is
    /// known which recipe an installation was made by.
    pub fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for step in &self.steps {
            let line = match step {
                // Who fetches does not matter: the bytes are the same.
                Step::Fetch(fetch) => format!("fetch {} {}\n", fetch.file, fetch.sha256),
                other => format!("{other:?}\n"),
            };
            hasher.update(line);
        }
        hex(&hasher.finalize())
    }

    pub fn fetches(&self) -> impl Iterator<Item = &Fetch> {
        self.steps.iter().filter_map(|step| match step {
            Step::Fetch(fetch) => Some(fetch),
            _ => None,
        })
    }
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
