//! The file through which a command is handed to a shell: `FOLDER/next`.
//!
//! If the machine has a file system in memory, the file lies there and `next` is a link to it. Each
//! command changes the file twice, and while a disk is being synced each change waits for
//! milliseconds. Nothing can be lost: the command is stored elsewhere, and the shell that takes it
//! does not outlive the memory.
//!
//! Invariants: the file contains a whole command or nothing; only the user can read it.

use super::write_private;
use rustix::fs::{StatFs, statfs};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

const NEXT: &str = "next";
/// The extension of a link beside a file in memory, which points to the terminal's folder.
const OWNER: &str = "of";
/// The usual mount point of a file system in memory.
const MEMORY: &str = "/dev/shm";
/// The kernel's type number of such a file system.
const TMPFS_MAGIC: i64 = 0x0102_1994;
/// The folder of the last id. It is separate, so that readers of the recording are not woken by it.
const HAND: &str = "hand";
const GIVEN: &str = "given";
/// The length of an id as text.
const ID_LETTERS: usize = 36;

/// Creates the empty file of a terminal.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    // A failed creation may have left its files, and `symlink` replaces nothing.
    discard(folder)?;
    let next = folder.join(NEXT);
    match memory_location(folder) {
        Some(file) => {
            remove_orphans(&file);
            write_private(&file, b"")?;
            symlink(folder, file.with_extension(OWNER))?;
            symlink(file, next)
        }
        None => write_private(&next, b""),
    }
}

/// Hands commands to the shell of one terminal.
#[derive(Debug)]
pub struct CommandHandoff {
    folder: PathBuf,
    /// The real path of the file.
    next: PathBuf,
    /// The file with the id of the last command, taken or not. Its content matters only as long as
    /// the shell lives, so it is never synced.
    given: File,
}

impl CommandHandoff {
    pub fn open(folder: &Path) -> io::Result<CommandHandoff> {
        let hand = folder.join(HAND);
        match DirBuilder::new().mode(0o700).create(&hand) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        // The file may have the id of a command that an earlier daemon handed over.
        options.read(true).write(true).create(true).truncate(false);
        Ok(CommandHandoff {
            folder: folder.to_owned(),
            next: file_location(folder),
            given: options.mode(0o600).open(hand.join(GIVEN))?,
        })
    }

    /// Writes a command to the file, where the shell takes it.
    pub fn hand_over(&self, id: &str, command: &str) -> io::Result<()> {
        // The id comes first, so that after a crash a taken command is never handed over again.
        let line = format!("{id:ID_LETTERS$}");
        self.given.write_all_at(line.as_bytes(), 0)?;
        self.replace_file(&[id.as_bytes(), b"\n", command.as_bytes()].concat())
    }

    /// Removes a command that the shell has not taken yet.
    pub fn withdraw(&self) -> io::Result<()> {
        self.replace_file(b"")
    }

    /// The id of a command that the shell has not taken yet.
    pub fn untaken(&self) -> io::Result<Option<String>> {
        let text = match std::fs::read(&self.next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let id = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let id = &id[..id.len().min(ID_LETTERS)];
        Ok((!id.is_empty()).then(|| String::from_utf8_lossy(id).into_owned()))
    }

    /// The id of the last handed-over command.
    pub fn given(&self) -> Option<String> {
        let mut line = [0; ID_LETTERS];
        self.given.read_exact_at(&mut line, 0).ok()?;
        let id = std::str::from_utf8(&line).ok()?;
        Some(id.trim_end().to_owned())
    }

    /// Replaces the file atomically.
    fn replace_file(&self, bytes: &[u8]) -> io::Result<()> {
        let unready = self.next.with_extension("tmp");
        match write_private(&unready, bytes) {
            // The folder in memory may be cleared when the user logs out. Looking it up creates it
            // again.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && memory_location(&self.folder).is_some() =>
            {
                write_private(&unready, bytes)?;
            }
            done => done?,
        }
        std::fs::rename(unready, &self.next)
    }
}

/// Removes the file of a terminal that has ended, before its folder is removed.
pub fn discard(folder: &Path) -> io::Result<()> {
    let place = file_location(folder);
    for path in [place.with_extension(OWNER), place, folder.join(NEXT)] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes files in memory whose terminal folder is gone: somebody removed a whole home.
fn remove_orphans(file: &Path) {
    let entries = file.parent().and_then(|ours| std::fs::read_dir(ours).ok());
    for owner in entries.into_iter().flatten().flatten() {
        let owner = owner.path();
        let is_link = owner.extension() == Some(OsStr::new(OWNER));
        // `exists` follows the link, so it is false if the target is gone.
        if is_link && !owner.exists() {
            let _ = std::fs::remove_file(owner.with_extension(NEXT));
            let _ = std::fs::remove_file(owner);
        }
    }
}

/// The real path of a terminal's file.
fn file_location(folder: &Path) -> PathBuf {
    let next = folder.join(NEXT);
    std::fs::read_link(&next).unwrap_or(next)
}

/// The path of a terminal's file in memory; none without a private folder there.
fn memory_location(folder: &Path) -> Option<PathBuf> {
    let StatFs { f_type, .. } = statfs(MEMORY).ok()?;
    let user = rustix::process::getuid().as_raw();
    let ours = Path::new(MEMORY).join(format!("hob-{user}"));
    // `/dev/shm` is writable for all users, so the folder may exist already and belong to another
    // user. Its owner and mode are checked below.
    let _ = DirBuilder::new().mode(0o700).create(&ours);
    let found = ours.symlink_metadata().ok()?;
    let is_private = found.is_dir() && found.uid() == user && found.mode() & 0o777 == 0o700;
    (f_type == TMPFS_MAGIC && is_private).then(|| ours.join(memory_file_name(folder.as_os_str())))
}

/// A stable file name for a folder: its FNV-1a hash.
fn memory_file_name(folder: &OsStr) -> String {
    let bytes = folder.as_bytes().iter();
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}.{NEXT}")
}
