//! The owner's token file: made when missing, read at start, watched for replacement.
//!
//! Invariant: the file is a regular file of ours that nobody else can read. A looser mode is
//! tightened and said aloud, because the token may already have been seen.

use crate::credential;
use hob_kit::dice::Dice;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why the owner's token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    #[error("'{}' cannot be read or made: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("'{}' belongs to another user; remove it and hob makes a new one.", path.display())]
    Foreign { path: PathBuf },
    #[error("'{}' holds no token of 64 hex digits; remove it and hob makes a new one.", path.display())]
    Malformed { path: PathBuf },
}

/// The owner's token of a home, made now if there is none.
pub fn read_or_make(path: &Path, dice: &Dice) -> Result<String, OwnerError> {
    match read(path) {
        Err(OwnerError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            let text = credential::mint_owner(dice);
            let line = format!("{text}\n");
            hob_kit::file::replace(path, line.as_bytes()).map_err(failed(path))?;
            Ok(text)
        }
        other => other,
    }
}

/// The owner's token of a home that has one.
pub fn read(path: &Path) -> Result<String, OwnerError> {
    const BYTES_MAX: u64 = 1_024;
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
    let file = File::options()
        .read(true)
        .custom_flags(no_follow.bits().cast_signed())
        .open(path)
        .map_err(failed(path))?;
    keep_private(&file, path)?;
    let mut text = String::new();
    file.take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(failed(path))?;
    let text = text.trim();
    if !credential::is_owner_text(text) {
        return Err(OwnerError::Malformed {
            path: path.to_owned(),
        });
    }
    Ok(text.to_owned())
}

fn keep_private(file: &File, path: &Path) -> Result<(), OwnerError> {
    let found = file.metadata().map_err(failed(path))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(OwnerError::Foreign {
            path: path.to_owned(),
        });
    }
    if found.mode() & 0o077 != 0 {
        tracing::warn!(
            "'{}' could be read by others and was made private; remove it to get a new token",
            path.display()
        );
        let private = std::fs::Permissions::from_mode(0o600);
        file.set_permissions(private).map_err(failed(path))?;
    }
    Ok(())
}

fn failed(path: &Path) -> impl Fn(io::Error) -> OwnerError {
    let path = path.to_owned();
    move |source| OwnerError::Io {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod tests;
