//! Atomic replacement of a file. Invariant: a reader sees the old content or the new, never a part;
//! after [`replace`] and [`AtomicFileWriter::finish`] also if the machine loses power.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes `content` to `path` with mode 0600, durably. A symbolic link is followed, so that a
/// file kept elsewhere (a dotfiles repository) stays there.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write_and_rename(&target, content, true)?;
    // The rename itself is durable only once the directory is synced.
    File::open(directory_of(&target))?.sync_all()
}

/// Writes `content` to `path` with mode 0600, atomically but not durably: for state that means
/// nothing after a reboot, such as the pid of the daemon.
pub fn replace_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    write_and_rename(path, content, false)
}

/// Writes a file piece by piece, with mode 0600. The file appears under its name when it is
/// finished; dropping the writer before that leaves nothing.
#[derive(Debug)]
pub struct AtomicFileWriter {
    writer: BufWriter<File>,
    draft_path: PathBuf,
    target: PathBuf,
    finished: bool,
}

impl AtomicFileWriter {
    /// Creates the draft. Refuses to replace a device or a folder.
    pub fn create(path: &Path) -> io::Result<AtomicFileWriter> {
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if std::fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::other("it exists and is not a file"));
        }
        let place = draft_path_of(&target);
        Ok(AtomicFileWriter {
            writer: BufWriter::new(open_draft(&place)?),
            draft_path: place,
            target,
            finished: false,
        })
    }

    /// Moves the file to its final name, durably.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        // Synced before the rename: after a power loss the name must never point to missing data.
        self.writer.get_ref().sync_all()?;
        std::fs::rename(&self.draft_path, &self.target)?;
        self.finished = true;
        File::open(directory_of(&self.target))?.sync_all()
    }
}

impl Write for AtomicFileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for AtomicFileWriter {
    fn drop(&mut self) {
        if !self.finished {
            let _ = std::fs::remove_file(&self.draft_path);
        }
    }
}

fn write_and_rename(target: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let draft = draft_path_of(target);
    let written = write_draft(&draft, content, sync).and_then(|()| std::fs::rename(&draft, target));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

fn write_draft(draft: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let mut file = open_draft(draft)?;
    file.write_all(content)?;
    if sync { file.sync_all() } else { Ok(()) }
}

fn draft_path_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // In the same directory, because a rename is atomic only within one file system. The pid keeps
    // two processes from writing the same draft.
    directory_of(target).join(format!(".{name}.{}.draft", std::process::id()))
}

fn open_draft(draft: &Path) -> io::Result<File> {
    // A draft left by a crash of a process with the same pid is ours to remove.
    let _ = std::fs::remove_file(draft);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
#[path = "atomic_file_tests.rs"]
mod tests;
