//! Replacing a small file as a whole. Invariant: a reader sees the old content or the new, never
//! a part; after [`replace`] also if the machine loses power.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes `content` to `path` with mode 0600, durably. A symbolic link is followed, so that a
/// file kept elsewhere (a dotfiles repository) stays there.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    put(&target, content, true)?;
    File::open(directory_of(&target))?.sync_all()
}

/// Writes `content` to `path` with mode 0600, at once for every reader but not for ever: for what
/// means nothing after a reboot, such as who runs now.
pub fn replace_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    put(path, content, false)
}

fn put(target: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let draft: PathBuf = directory_of(target).join(format!(".{name}.{}.draft", std::process::id()));
    let written = write_draft(&draft, content, sync).and_then(|()| std::fs::rename(&draft, target));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

fn write_draft(draft: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    // A draft left by a crash of a process with the same pid is ours to remove.
    let _ = std::fs::remove_file(draft);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    file.write_all(content)?;
    if sync { file.sync_all() } else { Ok(()) }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
