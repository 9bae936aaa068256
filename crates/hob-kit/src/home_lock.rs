//! One daemon a home: an `flock` on a file beside the database. The kernel frees it when its
//! holder ends, however that happens, so a stale file or a reused pid never locks anyone out.
//!
//! The file also remembers whether the home has lived, that is, once had a database: a missing
//! database is then a loss to report and not a fresh start.
//!
//! Invariant: the file is never deleted or replaced, because a lock belongs to the file and not
//! to its name.

use crate::failpoint;
use crate::home::Home;
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The lock on a home; dropping it frees the home.
#[derive(Debug)]
pub struct HomeLock {
    file: File,
    had_life: bool,
}

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{}", held_sentence(path, *pid))]
    Held {
        path: PathBuf,
        /// Missing for the instant in which the holder has not yet written it.
        pid: Option<u32>,
    },
    #[error("'{}' cannot be locked: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl HomeLock {
    /// Takes the lock, or says at once who holds it. The home's directories exist.
    pub fn take(home: &Home) -> Result<HomeLock, LockError> {
        let path = home.lock_file();
        let io = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        let file = open_locked(&path).map_err(io)?;
        let Some(file) = file else {
            let pid = read(&path).and_then(|content| content.pid);
            return Err(LockError::Held { path, pid });
        };
        let had_life = read(&path).is_some_and(|content| content.lived);
        let lock = HomeLock { file, had_life };
        // On a full disk the pid may not fit; the lock holds all the same.
        let _ = lock.write(Some(std::process::id()), had_life);
        Ok(lock)
    }

    /// Whether an earlier holder recorded that this home has a database.
    pub fn had_life(&self) -> bool {
        self.had_life
    }

    /// Records, durably, that this home has a database: to be called after the store opened.
    pub fn mark_lived(&mut self) -> io::Result<()> {
        if !self.had_life {
            self.write(Some(std::process::id()), true)?;
            self.file.sync_all()?;
            self.had_life = true;
        }
        Ok(())
    }

    /// One line of fixed width, so that a single write replaces it.
    fn write(&self, pid: Option<u32>, lived: bool) -> io::Result<()> {
        let state = if lived { "lived" } else { "empty" };
        let line = format!("{:<10} {state}\n", pid.unwrap_or(0));
        self.file.write_all_at(line.as_bytes(), 0)
    }
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        let _ = self.write(None, self.had_life);
    }
}

/// The pid of the daemon that holds this home, if one does.
pub fn holder(home: &Home) -> Option<u32> {
    let path = home.lock_file();
    let file = OpenOptions::new().read(true).open(&path).ok()?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => None,
        Err(_) => read(&path)?.pid,
    }
}

/// Whether anybody holds this home, also in the instant in which the holder has not yet written
/// its pid.
pub fn is_held(home: &Home) -> bool {
    let Ok(file) = OpenOptions::new().read(true).open(home.lock_file()) else {
        return false;
    };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

struct Content {
    pid: Option<u32>,
    lived: bool,
}

/// Opens and locks the file; none when another holds it. Tried again when the name meanwhile
/// points to another file, as when a person deleted it between our open and our lock, and when
/// it is held for a moment only, as [`holder`] does when a client looks.
fn open_locked(path: &Path) -> io::Result<Option<File>> {
    const TRIES_MAX: u32 = 10;
    const BETWEEN_TRIES: Duration = Duration::from_millis(5);
    let mut held = false;
    for _ in 0..TRIES_MAX {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) if failpoint::broken(10) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                held = true;
                std::thread::sleep(BETWEEN_TRIES);
                continue;
            }
            Err(errno) => return Err(errno.into()),
        }
        let named = std::fs::metadata(path).ok();
        let own = file.metadata()?;
        if named.is_some_and(|named| named.ino() == own.ino() && named.dev() == own.dev()) {
            return Ok(Some(file));
        }
    }
    if held {
        return Ok(None);
    }
    Err(io::Error::other("the lock file keeps being replaced"))
}

fn read(path: &Path) -> Option<Content> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let pid = words.next()?.parse().ok().filter(|pid| *pid != 0);
    Some(Content {
        pid,
        lived: words.next() == Some("lived"),
    })
}

fn held_sentence(path: &Path, pid: Option<u32>) -> String {
    let home = path.parent().unwrap_or(path).display();
    match pid {
        Some(pid) => format!(
            "A daemon already runs for '{home}' (pid {pid}); stop it with 'hob down', or set HOB_HOME for a second home."
        ),
        None => format!("A daemon is just starting for '{home}'; try again in a moment."),
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
