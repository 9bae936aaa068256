//! Replacing a file as a whole. Invariant: a reader sees the old content or the new, never a
//! part; after [`replace`] and [`Draft::finish`] also if the machine loses power.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
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

/// A file that is written piece by piece, with mode 0600, and appears under its name when it is
/// finished. Dropped before that it leaves nothing.
#[derive(Debug)]
pub struct Draft {
    writer: BufWriter<File>,
    place: PathBuf,
    target: PathBuf,
    finished: bool,
}

impl Draft {
    /// A device or a folder of that name is not replaced.
    pub fn create(path: &Path) -> io::Result<Draft> {
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if std::fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::other("it is there and no file"));
        }
        let place = draft_of(&target);
        Ok(Draft {
            writer: BufWriter::new(open_draft(&place)?),
            place,
            target,
            finished: false,
        })
    }

    /// Puts it in place, durably.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        std::fs::rename(&self.place, &self.target)?;
        self.finished = true;
        File::open(directory_of(&self.target))?.sync_all()
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.finished {
            let _ = std::fs::remove_file(&self.place);
        }
    }
}

fn put(target: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let draft = draft_of(target);
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

fn draft_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
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
#[path = "file_tests.rs"]
mod tests;
