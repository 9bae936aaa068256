//! The file in which a command is handed to a shell: `FOLDER/next`.
//!
//! Where the machine keeps files in memory, the file lies there and `next` is a link to it: each
//! command changes it twice, and a disk that is being synced makes whoever changes a file wait for
//! milliseconds. Nothing is lost by it: what is handed over is on record, and the shell that is to
//! take it does not outlive the memory.
//!
//! Invariant: the file holds a whole command or nothing; it is the person's alone.

use super::private;
use rustix::fs::{StatFs, statfs};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

const NEXT: &str = "next";
/// Beside a file in memory: a link to the folder it belongs to.
const OWNER: &str = "of";
/// Where files are kept in memory.
const MEMORY: &str = "/dev/shm";
/// What the kernel calls such a place.
const TMPFS_MAGIC: i64 = 0x0102_1994;
/// A folder of its own for what was given: whoever watches the recording is not woken by it.
const HAND: &str = "hand";
const GIVEN: &str = "given";
/// How long the text of an id is.
const ID_LETTERS: usize = 36;

/// Makes the empty file of a terminal.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    discard(folder)?;
    let next = folder.join(NEXT);
    match in_memory(folder) {
        Some(file) => {
            sweep(&file);
            private(&file, b"")?;
            symlink(folder, file.with_extension(OWNER))?;
            symlink(file, next)
        }
        None => private(&next, b""),
    }
}

/// Hands commands to the shell of one terminal.
#[derive(Debug)]
pub struct Hand {
    folder: PathBuf,
    /// Where the file lies.
    next: PathBuf,
    /// Says what was handed over last, whether it was taken or not. It lives and dies with the
    /// shell, so it is never synced.
    given: File,
}

impl Hand {
    pub fn open(folder: &Path) -> io::Result<Hand> {
        let hand = folder.join(HAND);
        match DirBuilder::new().mode(0o700).create(&hand) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        Ok(Hand {
            folder: folder.to_owned(),
            next: place(folder),
            given: options.mode(0o600).open(hand.join(GIVEN))?,
        })
    }

    /// Lays a command where the shell takes it when it is told to.
    pub fn give(&self, id: &str, command: &str) -> io::Result<()> {
        // First, so that a command which was taken is never handed over again.
        let line = format!("{id:ID_LETTERS$}");
        self.given.write_all_at(line.as_bytes(), 0)?;
        self.put(&[id.as_bytes(), b"\n", command.as_bytes()].concat())
    }

    /// Takes back a command that nobody has taken yet.
    pub fn withdraw(&self) -> io::Result<()> {
        self.put(b"")
    }

    /// The id of the command that lies there untaken.
    pub fn untaken(&self) -> io::Result<Option<String>> {
        let text = match std::fs::read(&self.next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let id = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let id = &id[..id.len().min(ID_LETTERS)];
        Ok((!id.is_empty()).then(|| String::from_utf8_lossy(id).into_owned()))
    }

    /// The id of the command that was handed over last.
    pub fn given(&self) -> Option<String> {
        let mut line = [0; ID_LETTERS];
        self.given.read_exact_at(&mut line, 0).ok()?;
        let id = std::str::from_utf8(&line).ok()?;
        Some(id.trim_end().to_owned())
    }

    /// Writes the file anew, at once.
    fn put(&self, bytes: &[u8]) -> io::Result<()> {
        let unready = self.next.with_extension("tmp");
        match private(&unready, bytes) {
            // What is in memory may be cleared when a person logs out.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && in_memory(&self.folder).is_some() =>
            {
                private(&unready, bytes)?;
            }
            done => done?,
        }
        std::fs::rename(unready, &self.next)
    }
}

/// Removes the file of a terminal that is over; its folder may go after that.
pub fn discard(folder: &Path) -> io::Result<()> {
    let place = place(folder);
    for path in [place.with_extension(OWNER), place, folder.join(NEXT)] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes files in memory whose folder is gone: somebody removed a whole home.
fn sweep(file: &Path) {
    let entries = file.parent().and_then(|ours| std::fs::read_dir(ours).ok());
    for owner in entries.into_iter().flatten().flatten() {
        let owner = owner.path();
        let is_link = owner.extension() == Some(OsStr::new(OWNER));
        // A link is there without what it leads to.
        if is_link && !owner.exists() {
            let _ = std::fs::remove_file(owner.with_extension(NEXT));
            let _ = std::fs::remove_file(owner);
        }
    }
}

/// Where the file lies.
fn place(folder: &Path) -> PathBuf {
    let next = folder.join(NEXT);
    std::fs::read_link(&next).unwrap_or(next)
}

/// The place of a terminal's file in memory; none where there is no such place that is ours alone.
fn in_memory(folder: &Path) -> Option<PathBuf> {
    let StatFs { f_type, .. } = statfs(MEMORY).ok()?;
    let user = rustix::process::getuid().as_raw();
    let ours = Path::new(MEMORY).join(format!("hob-{user}"));
    // It may be there already, and may be anybody's: the place is open to all.
    let _ = DirBuilder::new().mode(0o700).create(&ours);
    let found = ours.symlink_metadata().ok()?;
    let is_private = found.is_dir() && found.uid() == user && found.mode() & 0o777 == 0o700;
    (f_type == TMPFS_MAGIC && is_private).then(|| ours.join(name(folder.as_os_str())))
}

/// A name for a folder; the same folder has the same, and two hardly ever do.
fn name(folder: &OsStr) -> String {
    let bytes = folder.as_bytes().iter();
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}.{NEXT}")
}
