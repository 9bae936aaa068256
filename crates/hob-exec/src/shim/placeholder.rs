//! What stands where a protected path does not exist, so that a mount can keep it from being made:
//! an empty folder, there while a run needs it.
//!
//! Invariant: removed by the last run that holds it (each holds a shared lock on it), only while
//! empty, and only if made by a run.

use crate::plan::Policy;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::io;
use std::path::{Path, PathBuf};

/// Placeholders of one run.
#[derive(Debug, Default)]
pub(super) struct Placeholders(Vec<(PathBuf, OwnedFd)>);

/// A placeholder made by one run may be removed by another before it is locked.
const TRIES: usize = 16;

impl Placeholders {
    /// Makes and holds one for each protected path that is missing. A policy's path whose parent
    /// is missing too is protected by its first missing folder.
    pub(super) fn make(policy: &mut Policy) -> io::Result<Placeholders> {
        let mut made = Placeholders::default();
        for path in &mut policy.protected {
            if !policy.write.iter().any(|root| path.starts_with(root)) {
                continue;
            }
            let missing = path
                .ancestors()
                .take_while(|path| std::fs::symlink_metadata(path).is_err())
                .last();
            if let Some(missing) = missing {
                let missing = missing.to_owned();
                if let Some(held) = place(&missing)? {
                    made.0.push((missing.clone(), held));
                }
                *path = missing;
            } else if let Some(held) = hold_left(path) {
                made.0.push((path.clone(), held));
            }
        }
        policy.protected.sort();
        policy.protected.dedup();
        Ok(made)
    }

    /// Lets go, and removes those that nobody else holds.
    pub(super) fn remove(self) {
        for (path, held) in self.0 {
            if rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
                // Fails, as it should, when somebody has put something into it.
                let _ = std::fs::remove_dir(path);
            }
        }
    }
}

/// Makes an empty folder and holds it; none when something else came to be there meanwhile.
fn place(path: &Path) -> io::Result<Option<OwnedFd>> {
    use std::os::unix::fs::DirBuilderExt;
    for _ in 0..TRIES {
        match std::fs::DirBuilder::new().mode(MODE).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        match hold_left(path) {
            Some(held) => return Ok(Some(held)),
            None if std::fs::symlink_metadata(path).is_ok() => return Ok(None),
            None => {}
        }
    }
    Err(io::Error::other(format!(
        "'{}' cannot be kept from being made",
        path.display()
    )))
}

/// The mode by which a placeholder, also one left by a killed shim, is told from a folder of the
/// person's own.
const MODE: u32 = 0o555;

/// Holds a placeholder that is there.
fn hold_left(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(&held).ok()?;
    let is_placeholder = found.st_mode & 0o777 == MODE
        && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if !is_placeholder {
        return None;
    }
    // Only a run that is about to remove it holds the other kind of lock, and only that long.
    rustix::fs::flock(&held, FlockOperation::LockShared).ok()?;
    let there = rustix::fs::stat(path).ok()?;
    let is_same = (found.st_dev, found.st_ino) == (there.st_dev, there.st_ino);
    is_same.then_some(held)
}

#[cfg(test)]
#[path = "placeholder_tests.rs"]
mod tests;
