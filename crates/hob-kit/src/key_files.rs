//! Provider keys that a person pasted, one file each: `keys/PROVIDER` in the home.
//!
//! Invariants: folder and files are private (0700, 0600), and a file that others could read or that
//! is a link is not used; a file is replaced whole; a provider's name cannot leave the folder.

use crate::atomic_file;
use crate::home::Home;
use crate::secret::Secret;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// The most bytes of a key that are read.
const KEY_BYTES_MAX: u64 = 4_096;
/// The most files that are read.
const FILES_MAX: usize = 256;
/// The longest name of a provider.
const NAME_BYTES_MAX: usize = 64;

/// Reads every key, by provider. Files that cannot be used are left out, each with its reason in the
/// second list.
pub fn read_all(home: &Home) -> (Vec<(String, Secret)>, Vec<String>) {
    let (mut keys, mut problems) = (Vec::new(), Vec::new());
    let entries = std::fs::read_dir(home.keys()).into_iter().flatten();
    for entry in entries.flatten().take(FILES_MAX) {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Drafts of an interrupted write begin with a dot.
        if !is_name(&name) {
            continue;
        }
        match read(&entry.path()) {
            Ok(key) => keys.push((name, key)),
            Err(error) => problems.push(format!("the key file keys/{name} is not used: {error}")),
        }
    }
    keys.sort_by(|a, b| a.0.cmp(&b.0));
    (keys, problems)
}

/// Keeps a key.
pub fn store(home: &Home, provider: &str, key: &Secret) -> io::Result<()> {
    let path = path_of(home, provider)?;
    make_private_folder(&home.keys())?;
    // A link would lead the key to a place that is not private.
    if std::fs::symlink_metadata(&path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other(format!(
            "'{}' is not a file",
            path.display()
        )));
    }
    let mut text = key.expose().to_owned();
    text.push('\n');
    atomic_file::replace(&path, text.as_bytes())
}

/// Removes a key. Returns false if there was none.
pub fn remove(home: &Home, provider: &str) -> io::Result<bool> {
    match std::fs::remove_file(path_of(home, provider)?) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn path_of(home: &Home, provider: &str) -> io::Result<std::path::PathBuf> {
    if !is_name(provider) {
        return Err(io::Error::other("that is no name of a provider"));
    }
    Ok(home.keys().join(provider))
}

fn is_name(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(fine)
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // A folder from before may have been opened.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

fn read(path: &Path) -> io::Result<Secret> {
    let there = std::fs::symlink_metadata(path)?;
    if !there.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if there.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "others can read it; run: chmod 600 '{}'",
            path.display()
        )));
    }
    if there.len() > KEY_BYTES_MAX {
        return Err(io::Error::other("it is too long for a key"));
    }
    let text = std::fs::read_to_string(path)?;
    let key = text.trim();
    if key.is_empty() || key.chars().any(char::is_control) {
        return Err(io::Error::other("it is not one line with a key"));
    }
    Ok(Secret::new(key))
}

#[cfg(test)]
#[path = "key_files_tests.rs"]
mod tests;
