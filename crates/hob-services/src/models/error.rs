//! Errors of fetching a model, each with advice.

use crate::install::size;
use hob_net::NetError;
use std::io;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// The text names no model that can be fetched.
    #[error("{0}")]
    Source(String),
    /// The hub has no such repository or file.
    #[error("{0}")]
    NotFound(String),
    /// The hub wants an account, or the licence accepted.
    #[error("{0}")]
    Gated(String),
    /// The request conflicts with what is there.
    #[error("{0}")]
    Conflict(String),
    /// The hub cannot be reached, or its answer cannot be used. A later attempt may succeed.
    #[error("{0}")]
    Hub(String),
    #[error("There is not enough room in '{folder}': {} are needed and {} are free. Free some space and pull it again.", size(*needed_bytes), size(*free_bytes))]
    NoRoom {
        folder: String,
        needed_bytes: u64,
        free_bytes: u64,
    },
    #[error(
        "The disk is full. What was fetched is kept; free some space and pull it again to continue."
    )]
    Full,
    #[error("'{path}' cannot be written: {why}.")]
    Disk { path: String, why: String },
    /// The file is not the one that the hub lists. It was deleted.
    #[error(
        "'{file}' failed verification ({what}), so it was deleted. Pull it again; if it fails again, the hub or somebody on the way has changed it."
    )]
    Wrong { file: String, what: String },
    #[error("The download was stopped; pulling it again continues.")]
    Stopped,
}

impl PullError {
    /// Converts an I/O error; a full disk has its own kind.
    pub(crate) fn at(path: &Path, error: &io::Error) -> PullError {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&error.kind()) {
            return PullError::Full;
        }
        PullError::Disk {
            path: path.display().to_string(),
            why: error.to_string(),
        }
    }

    /// Converts a failure of the network.
    pub(crate) fn of_network(error: &NetError) -> PullError {
        PullError::Hub(match error {
            NetError::Connect { host, reason } => format!(
                "The server {host} cannot be reached: {reason}. hob uses no proxy of the environment."
            ),
            other => other.to_string(),
        })
    }
}
