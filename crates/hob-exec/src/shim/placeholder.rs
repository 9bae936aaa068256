//! What stands where a protected path does not exist, so that a mount can keep it from being made:
//! an empty file or folder, there while a run needs it.
//!
//! Invariant: removed by the last run that holds it (each holds a shared lock on it), only while
//! empty, and only if a run made it. One that a killed shim left behind is known by its time stamp
//! and removed by the next run that protects the same path.

use crate::plan::Policy;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Placeholders of one run.
#[derive(Debug, Default)]
pub(super) struct Placeholders(Vec<Placeholder>);

#[derive(Debug)]
struct Placeholder {
    path: PathBuf,
    kind: Kind,
    held: OwnedFd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

/// A placeholder made by one run may be removed by another before it is locked.
const TRIES: usize = 16;
/// The time of last change by which a placeholder is known: 3 February 2001, 04:05:06. An even
/// number of seconds, because some file systems keep no others.
const STAMP: i64 = 981_173_106;
/// Modes nobody gives a file of their own: a placeholder is known by them until it has its stamp.
const UNSTAMPED_FILE: u32 = 0o404;
const UNSTAMPED_FOLDER: u32 = 0o505;
/// The mode of placeholders that former versions left.
const FORMER_FOLDER: u32 = 0o555;
/// Afterwards it has a usual mode, so that the person's own programs can use the place meanwhile.
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// Names with a dot in front that are folders; others with one are taken for files.
const DOT_FOLDERS: &[&str] = &[
    ".config", ".git", ".github", ".gnupg", ".husky", ".local", ".ssh", ".vscode",
];

impl Placeholders {
    /// Makes and holds one for each protected or hidden path in a writable root that is missing. A
    /// path whose parent is missing too is protected by its first missing folder; one below
    /// something that is no folder, by that. Afterwards all that is protected exists.
    pub(super) fn make(policy: &mut Policy) -> io::Result<Placeholders> {
        let mut made = Placeholders::default();
        match made.fill(policy) {
            Ok(()) => Ok(made),
            Err(error) => {
                made.remove();
                Err(error)
            }
        }
    }

    fn fill(&mut self, policy: &mut Policy) -> io::Result<()> {
        let mut protected = Vec::new();
        for path in &policy.protected {
            if is_below(&policy.write, path) {
                protected.extend(self.keep(&policy.write, path, kind_by_name(path))?);
            } else {
                protected.push(path.clone());
            }
        }
        for path in policy
            .hidden
            .iter()
            .filter(|it| is_below(&policy.write, it))
        {
            let kept = self.keep(&policy.write, path, Kind::Folder)?;
            // What is there is covered, not shown read-only.
            protected.extend(kept.filter(|kept| kept != path));
        }
        protected.sort();
        protected.dedup();
        policy.protected = protected;
        Ok(())
    }

    /// Gives what must stay as it is, so that a path below a writable root does; none when nobody
    /// could make it anyway, or a placeholder above it keeps it from being made.
    fn keep(&mut self, roots: &[PathBuf], path: &Path, kind: Kind) -> io::Result<Option<PathBuf>> {
        let there = deepest_there(path);
        if self.0.iter().any(|made| made.path == there) {
            return Ok((there == path).then_some(there));
        }
        // Also a placeholder of another run, or of one that was killed.
        let left = hold_left(&there).filter(|_| is_below(roots, &there));
        if there == path || left.is_some() || !there.is_dir() {
            self.0.extend(left);
            return Ok(Some(there));
        }
        let Some(missing) = first_below(&there, path) else {
            return Ok(None);
        };
        let kind = if missing == path { kind } else { Kind::Folder };
        match place(&missing, kind) {
            Ok(made) => {
                self.0.extend(made);
                Ok(Some(missing))
            }
            Err(error) if cannot_be_made(&error, &there) => Ok(None),
            Err(error) => Err(explained(&missing, &error)),
        }
    }

    /// Lets go, and removes those that nobody else holds.
    pub(super) fn remove(self) {
        for Placeholder { path, kind, held } in self.0.into_iter().rev() {
            let alone = rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok();
            let found = rustix::fs::fstat(&held);
            let Some(found) = found.ok().filter(|found| alone && is_at(&path, found)) else {
                continue;
            };
            // Removing a folder fails, as it should, when somebody has put something into it.
            let _ = match kind {
                Kind::Folder => std::fs::remove_dir(&path),
                Kind::File if is_unused_file(&found) => std::fs::remove_file(&path),
                Kind::File => Ok(()),
            };
        }
    }
}

/// Whether a path lies in a root and is not the root itself.
fn is_below(roots: &[PathBuf], path: &Path) -> bool {
    let mut roots = roots.iter();
    roots.any(|root| path != root && path.starts_with(root))
}

/// The longest part of a path that exists.
fn deepest_there(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find(|part| std::fs::symlink_metadata(part).is_ok());
    there.unwrap_or(Path::new("/")).to_owned()
}

/// The step from a folder towards a path below it.
fn first_below(folder: &Path, path: &Path) -> Option<PathBuf> {
    let step = path.strip_prefix(folder).ok()?.iter().next()?;
    Some(folder.join(step))
}

fn kind_by_name(path: &Path) -> Kind {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') && !DOT_FOLDERS.contains(&name.as_ref()) {
        Kind::File
    } else {
        Kind::Folder
    }
}

/// Whether the child cannot make anything there either: the file system is read-only, or the
/// folder belongs to somebody else who keeps us out. A folder of our own that we may not write to
/// is another matter, because the child could change its mode.
fn cannot_be_made(error: &io::Error, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::getuid().as_raw();
    let is_ours = std::fs::metadata(folder).is_ok_and(|found| found.uid() == user);
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => true,
        io::ErrorKind::PermissionDenied => !is_ours,
        _ => false,
    }
}

fn explained(path: &Path, error: &io::Error) -> io::Error {
    let text = format!(
        "'{}' is protected, does not exist, and cannot be kept from being made: {error}",
        path.display()
    );
    io::Error::new(error.kind(), text)
}

/// Makes a placeholder and holds it; none when something else came to be there meanwhile.
fn place(path: &Path, kind: Kind) -> io::Result<Option<Placeholder>> {
    for _ in 0..TRIES {
        match create(path, kind) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        match hold_left(path) {
            Some(made) => return Ok(Some(made)),
            None if std::fs::symlink_metadata(path).is_ok() => return Ok(None),
            None => {}
        }
    }
    Err(io::Error::other("others make and remove it all the time"))
}

fn create(path: &Path, kind: Kind) -> rustix::io::Result<()> {
    match kind {
        Kind::Folder => rustix::fs::mkdir(path, Mode::from_raw_mode(UNSTAMPED_FOLDER)),
        Kind::File => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::from_raw_mode(UNSTAMPED_FILE)).map(drop)
        }
    }
}

/// Holds a placeholder that is there, whoever made it, and stamps it.
fn hold_left(path: &Path) -> Option<Placeholder> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let kind = match rustix::fs::lstat(path).ok()? {
        found if is_unused_file(&found) => Kind::File,
        found if is_unused_folder(path, &found) => Kind::Folder,
        _ => return None,
    };
    let held = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    // Only a run that is about to remove it holds the other kind of lock, and only that long.
    rustix::fs::flock(&held, FlockOperation::LockShared).ok()?;
    let found = rustix::fs::fstat(&held).ok()?;
    if !is_at(path, &found) {
        return None;
    }
    // The stamp before the mode: at every moment one of them tells what it is. Where the stamp
    // cannot be set, the mode goes on doing so.
    if stamp(&held).is_ok() {
        let mode = match kind {
            Kind::File => FILE_MODE,
            Kind::Folder => FOLDER_MODE,
        };
        let _ = rustix::fs::fchmod(&held, Mode::from_raw_mode(mode));
    }
    let path = path.to_owned();
    Some(Placeholder { path, kind, held })
}

fn stamp(held: &OwnedFd) -> rustix::io::Result<()> {
    let time = Timespec {
        tv_sec: STAMP,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::futimens(held, &times)
}

fn is_unused_file(found: &Stat) -> bool {
    let is_ours = found.st_mtime == STAMP || found.st_mode & 0o777 == UNSTAMPED_FILE;
    FileType::from_raw_mode(found.st_mode).is_file() && found.st_size == 0 && is_ours
}

fn is_unused_folder(path: &Path, found: &Stat) -> bool {
    let is_ours = found.st_mtime == STAMP
        || [UNSTAMPED_FOLDER, FORMER_FOLDER].contains(&(found.st_mode & 0o777));
    let is_empty = || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    FileType::from_raw_mode(found.st_mode).is_dir() && is_ours && is_empty()
}

/// Whether a path still names the file that is held.
fn is_at(path: &Path, held: &Stat) -> bool {
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::statat(CWD, path, flags)
        .is_ok_and(|there| (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino))
}

#[cfg(test)]
#[path = "placeholder_tests.rs"]
mod tests;
