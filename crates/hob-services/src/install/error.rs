//! Errors of an installation, each with advice.

use hob_exec::ExecError;
use std::io;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// Reported before anything is done.
    #[error("There is not enough room in '{folder}': {} are needed and {} are free. Free some space and install it again.", size(*needed_bytes), size(*free_bytes))]
    NoRoom {
        folder: String,
        needed_bytes: u64,
        free_bytes: u64,
    },
    #[error("The disk is full. Nothing was installed; free some space and install it again.")]
    Full,
    #[error("{name} {version} could not be fetched: {why}")]
    Fetch {
        name: String,
        version: String,
        why: String,
    },
    #[error(
        "'{file}' failed verification ({what}), so nothing was installed. Your package server may have changed it."
    )]
    Wrong { file: String, what: String },
    #[error("'{file}' cannot be unpacked: {why}. Nothing was installed.")]
    Archive { file: String, why: String },
    #[error("'{path}' cannot be written: {why}. Nothing was installed.")]
    Disk { path: String, why: String },
    /// Downloaded and verified files stay.
    #[error("The installation was stopped; installing again continues with the downloaded files.")]
    Stopped,
}

impl InstallError {
    /// Converts an I/O error; a full disk has its own kind.
    pub(crate) fn at(path: &Path, error: &io::Error) -> InstallError {
        if error.kind() == io::ErrorKind::StorageFull
            || error.kind() == io::ErrorKind::QuotaExceeded
        {
            return InstallError::Full;
        }
        InstallError::Disk {
            path: path.display().to_string(),
            why: error.to_string(),
        }
    }

    pub(crate) fn of_program(name: &str, version: &str, error: &ExecError) -> InstallError {
        InstallError::Fetch {
            name: name.to_owned(),
            version: version.to_owned(),
            why: error.to_string(),
        }
    }
}

/// Formats a size for messages: `34 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            let tenths = bytes.saturating_mul(10) / unit;
            return if tenths >= 100 {
                format!("{} {name}", tenths.div_ceil(10))
            } else {
                format!("{}.{} {name}", tenths / 10, tenths % 10)
            };
        }
    }
    format!("{bytes} bytes")
}
