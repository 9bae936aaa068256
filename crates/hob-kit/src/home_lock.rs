//! The lock that allows one daemon for each home: an `flock` on a file beside the database. The
//! kernel releases it when the holder ends in any way, so a stale file or a reused pid never locks
//! anyone out.
//!
//! The file also records whether the home ever had a database (`lived`). A missing database is then
//! reported as a loss and not taken for a fresh start.
//!
//! Invariant: the file is never deleted or replaced, because a lock belongs to the file and not to
//! its name.

use crate::home::Home;
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The lock on a home; dropping it releases the home.
#[derive(Debug)]
pub struct HomeLock {
    file: File,
    had_database: bool,
}

/// The reason for which the lock was not acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{}", held_message(path, *pid))]
    Held {
        path: PathBuf,
        /// Missing for the moment in which the holder has not written it yet.
        pid: Option<u32>,
    },
    #[error("'{}' cannot be locked: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl HomeLock {
    /// Acquires the lock, or returns its holder without waiting. The directories must exist.
    pub fn acquire(home: &Home) -> Result<HomeLock, LockError> {
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
        let had_database = read(&path).is_some_and(|content| content.lived);
        let lock = HomeLock { file, had_database };
        // On a full disk the pid may not be written; the lock is valid without it.
        let _ = lock.write(Some(std::process::id()), had_database);
        Ok(lock)
    }

    /// Returns true if an earlier holder recorded that this home has a database.
    pub fn had_database(&self) -> bool {
        self.had_database
    }

    /// Records durably that this home has a database. To be called after the store is open.
    pub fn mark_has_database(&mut self) -> io::Result<()> {
        if !self.had_database {
            self.write(Some(std::process::id()), true)?;
            // Durable before the daemon serves: after a power loss, a missing database must be
            // reported and not be taken for a new home.
            self.file.sync_all()?;
            self.had_database = true;
        }
        Ok(())
    }

    /// Writes the line of the lock file. Its width is fixed, so that one write replaces it.
    fn write(&self, pid: Option<u32>, lived: bool) -> io::Result<()> {
        let state = if lived { "lived" } else { "empty" };
        let line = format!("{:<10} {state}\n", pid.unwrap_or(0));
        self.file.write_all_at(line.as_bytes(), 0)
    }
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        // The pid is cleared while the lock is still held; the file closes after this.
        let _ = self.write(None, self.had_database);
    }
}

/// Returns the pid of the daemon that holds this home, if any.
pub fn holder_pid(home: &Home) -> Option<u32> {
    let path = home.lock_file();
    let file = OpenOptions::new().read(true).open(&path).ok()?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => None,
        Err(_) => read(&path)?.pid,
    }
}

/// Returns true if a daemon holds this home, even if it has not written its pid yet.
pub fn is_held(home: &Home) -> bool {
    let Ok(file) = OpenOptions::new().read(true).open(home.lock_file()) else {
        return false;
    };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

struct LockFileContent {
    pid: Option<u32>,
    lived: bool,
}

/// Opens and locks the file; `None` if another process holds it.
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
            Err(rustix::io::Errno::WOULDBLOCK) => {
                // A client that calls `holder_pid` holds a shared lock for a moment. Try again.
                held = true;
                std::thread::sleep(BETWEEN_TRIES);
                continue;
            }
            Err(errno) => return Err(errno.into()),
        }
        // Someone may have deleted the file between our open and our lock. A lock on a file without
        // this name protects nothing, so the name is checked again.
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

fn read(path: &Path) -> Option<LockFileContent> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let pid = words.next()?.parse().ok().filter(|pid| *pid != 0);
    Some(LockFileContent {
        pid,
        lived: words.next() == Some("lived"),
    })
}

fn held_message(path: &Path, pid: Option<u32>) -> String {
    let home = path.parent().unwrap_or(path).display();
    match pid {
        Some(pid) => format!(
            "A daemon already runs for '{home}' (pid {pid}); stop it with 'hob down', or set HOB_HOME for a second home."
        ),
        None => format!("A daemon is just starting for '{home}'; try again in a moment."),
    }
}

#[cfg(test)]
#[path = "home_lock_tests.rs"]
mod tests;
