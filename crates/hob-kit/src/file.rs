//! Replacing a small file as a whole. Invariant: a reader, also after a crash, sees the old
//! content or the new, never a part.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes `content` to `path` with mode 0600, durably. A symbolic link is followed, so that a
/// file kept elsewhere (a dotfiles repository) stays there.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let draft = directory.join(format!(".{name}.{}.draft", std::process::id()));
    let written = write_draft(&draft, content).and_then(|()| std::fs::rename(&draft, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written?;
    File::open(directory)?.sync_all()
}

fn write_draft(draft: &Path, content: &[u8]) -> io::Result<()> {
    // A draft left by a crash of a process with the same pid is ours to remove.
    let _ = std::fs::remove_file(draft);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    file.write_all(content)?;
    file.sync_all()
}
