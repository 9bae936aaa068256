//! The owner's token file: created when missing, read at start, watched for replacement.
//!
//! Invariant: the file belongs to hob's user and nobody else can read it. A looser mode is
//! tightened and logged, because the token may already have been seen.

use crate::credential;
use hob_kit::randomness::Randomness;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The reason why the owner's token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OwnerTokenError {
    #[error("'{}' cannot be read or created: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("'{}' belongs to another user; remove it and hob creates a new one.", path.display())]
    Foreign { path: PathBuf },
    #[error("'{}' holds no token of 64 hex digits; remove it and hob creates a new one.", path.display())]
    Malformed { path: PathBuf },
}

/// Reads the owner's token, or creates it if the file is missing.
pub fn read_or_create(path: &Path, randomness: &Randomness) -> Result<String, OwnerTokenError> {
    match read(path) {
        Err(OwnerTokenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            let text = credential::mint_owner(randomness);
            let line = format!("{text}\n");
            hob_kit::atomic_file::replace(path, line.as_bytes()).map_err(failed(path))?;
            Ok(text)
        }
        other => other,
    }
}

/// Reads the owner's token.
pub fn read(path: &Path) -> Result<String, OwnerTokenError> {
    const BYTES_MAX: u64 = 1_024;
    // A symlink could point to a file that somebody else controls.
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
    let file = File::options()
        .read(true)
        .custom_flags(no_follow.bits().cast_signed())
        .open(path)
        .map_err(failed(path))?;
    // Checked on the open file, so that the path cannot be swapped in between.
    ensure_private(&file, path)?;
    let mut text = String::new();
    file.take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(failed(path))?;
    let text = text.trim();
    if !credential::is_owner_token(text) {
        return Err(OwnerTokenError::Malformed {
            path: path.to_owned(),
        });
    }
    Ok(text.to_owned())
}

fn ensure_private(file: &File, path: &Path) -> Result<(), OwnerTokenError> {
    let found = file.metadata().map_err(failed(path))?;
    // A file of another user would let that user choose hob's owner token.
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(OwnerTokenError::Foreign {
            path: path.to_owned(),
        });
    }
    if found.mode() & 0o077 != 0 {
        tracing::warn!(
            "'{}' was readable by others and is now private; delete it to get a new token",
            path.display()
        );
        let private = std::fs::Permissions::from_mode(0o600);
        file.set_permissions(private).map_err(failed(path))?;
    }
    Ok(())
}

fn failed(path: &Path) -> impl Fn(io::Error) -> OwnerTokenError {
    let path = path.to_owned();
    move |source| OwnerTokenError::Io {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
#[path = "owner_token_tests.rs"]
mod tests;
