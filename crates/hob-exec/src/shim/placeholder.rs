//! Placeholders for protected paths that do not exist: empty files or folders that exist only
//! during a run, so that a mount over them can prevent their creation.
//!
//! Invariant: the last run that holds a placeholder removes it (each run holds a shared lock on
//! it), only while it is empty, and only if a run created it. A placeholder of a killed shim is
//! recognized by its time stamp and removed by the next run that protects the same path.

use crate::spawn_plan::SandboxPolicy;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// The placeholders of one run.
#[derive(Debug, Default)]
pub(super) struct PlaceholderSet(Vec<Placeholder>);

#[derive(Debug)]
struct Placeholder {
    path: PathBuf,
    kind: PlaceholderKind,
    held: OwnedFd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaceholderKind {
    File,
    Folder,
}

/// Attempts to create one: another run may remove it again before it is locked.
const TRIES: usize = 16;
/// The modification time that identifies a placeholder: 3 February 2001, 04:05:06. An even number
/// of seconds, because some file systems store no others.
const STAMP: i64 = 981_173_106;
/// Unusual modes that identify a placeholder until it has its time stamp.
const UNSTAMPED_FILE: u32 = 0o404;
const UNSTAMPED_FOLDER: u32 = 0o505;
/// The mode of placeholders of former versions.
const FORMER_FOLDER: u32 = 0o555;
/// The modes of stamped placeholders: usual ones, so that the user's own programs can use the path
/// in the meantime.
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// Dot names that are folders; other dot names become files.
const DOT_FOLDERS: &[&str] = &[
    ".config", ".git", ".github", ".gnupg", ".husky", ".local", ".ssh", ".vscode",
];

impl PlaceholderSet {
    /// Creates and holds one for each missing protected or hidden path in a writable root. A path
    /// whose parent is missing too is protected by its first missing folder; a path below something
    /// that is no folder is protected by that. Afterwards all protected paths exist.
    pub(super) fn create(policy: &mut SandboxPolicy) -> io::Result<PlaceholderSet> {
        let mut made = PlaceholderSet::default();
        match made.add_all(policy) {
            Ok(()) => Ok(made),
            Err(error) => {
                made.remove();
                Err(error)
            }
        }
    }

    fn add_all(&mut self, policy: &mut SandboxPolicy) -> io::Result<()> {
        let mut protected = Vec::new();
        for path in &policy.protected {
            if is_below(&policy.write, path) {
                protected.extend(self.hold_or_create(&policy.write, path, kind_by_name(path))?);
            } else {
                protected.push(path.clone());
            }
        }
        for path in policy
            .hidden
            .iter()
            .filter(|it| is_below(&policy.write, it))
        {
            let kept = self.hold_or_create(&policy.write, path, PlaceholderKind::Folder)?;
            // An existing hidden path is covered by a mount instead of being shown read-only.
            protected.extend(kept.filter(|kept| kept != path));
        }
        // Several paths may share their first missing folder.
        protected.sort();
        protected.dedup();
        policy.protected = protected;
        Ok(())
    }

    /// Returns the path that must be read-only to protect `path`; none if nobody could create it
    /// anyway, or if a placeholder above it prevents that.
    fn hold_or_create(
        &mut self,
        roots: &[PathBuf],
        path: &Path,
        kind: PlaceholderKind,
    ) -> io::Result<Option<PathBuf>> {
        let existing = deepest_existing(path);
        if self.0.iter().any(|made| made.path == existing) {
            return Ok((existing == path).then_some(existing));
        }
        // It may be a placeholder of another run, or of a killed one.
        let left = hold_existing(&existing).filter(|_| is_below(roots, &existing));
        if existing == path || left.is_some() || !existing.is_dir() {
            self.0.extend(left);
            return Ok(Some(existing));
        }
        let Some(missing) = first_step_below(&existing, path) else {
            return Ok(None);
        };
        let kind = if missing == path {
            kind
        } else {
            PlaceholderKind::Folder
        };
        match create_and_hold(&missing, kind) {
            Ok(made) => {
                self.0.extend(made);
                Ok(Some(missing))
            }
            Err(error) if cannot_be_made(&error, &existing) => Ok(None),
            Err(error) => Err(explain(&missing, &error)),
        }
    }

    /// Releases all placeholders and removes those that no other run holds.
    pub(super) fn remove(self) {
        for Placeholder { path, kind, held } in self.0.into_iter().rev() {
            // An exclusive lock is granted only to the last holder.
            let alone = rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok();
            let found = rustix::fs::fstat(&held);
            let Some(found) = found
                .ok()
                .filter(|found| alone && is_same_file(&path, found))
            else {
                continue;
            };
            // Removing a folder fails, as it should, if somebody put something into it.
            let _ = match kind {
                PlaceholderKind::Folder => std::fs::remove_dir(&path),
                PlaceholderKind::File if is_unused_file(&found) => std::fs::remove_file(&path),
                PlaceholderKind::File => Ok(()),
            };
        }
    }
}

/// Returns true if a path lies in a root and is not the root itself.
fn is_below(roots: &[PathBuf], path: &Path) -> bool {
    let mut roots = roots.iter();
    roots.any(|root| path != root && path.starts_with(root))
}

/// The longest part of a path that exists.
fn deepest_existing(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find(|part| std::fs::symlink_metadata(part).is_ok());
    existing.unwrap_or(Path::new("/")).to_owned()
}

/// The first step from a folder towards a path below it.
fn first_step_below(folder: &Path, path: &Path) -> Option<PathBuf> {
    let step = path.strip_prefix(folder).ok()?.iter().next()?;
    Some(folder.join(step))
}

fn kind_by_name(path: &Path) -> PlaceholderKind {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') && !DOT_FOLDERS.contains(&name.as_ref()) {
        PlaceholderKind::File
    } else {
        PlaceholderKind::Folder
    }
}

/// Returns true if the child cannot create anything there either: the file system is read-only, or
/// another user owns the folder and denies access. A folder of this user does not count, because
/// the child could change its mode.
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

fn explain(path: &Path, error: &io::Error) -> io::Error {
    let text = format!(
        "'{}' is protected, does not exist, and cannot be kept from being made: {error}",
        path.display()
    );
    io::Error::new(error.kind(), text)
}

/// Creates and holds a placeholder; none if something else was created there in the meantime.
fn create_and_hold(path: &Path, kind: PlaceholderKind) -> io::Result<Option<Placeholder>> {
    for _ in 0..TRIES {
        match create_empty(path, kind) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        match hold_existing(path) {
            Some(made) => return Ok(Some(made)),
            None if std::fs::symlink_metadata(path).is_ok() => return Ok(None),
            None => {}
        }
    }
    Err(io::Error::other("others make and remove it all the time"))
}

fn create_empty(path: &Path, kind: PlaceholderKind) -> rustix::io::Result<()> {
    match kind {
        PlaceholderKind::Folder => rustix::fs::mkdir(path, Mode::from_raw_mode(UNSTAMPED_FOLDER)),
        PlaceholderKind::File => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::from_raw_mode(UNSTAMPED_FILE)).map(drop)
        }
    }
}

/// Holds and stamps an existing placeholder, whichever run created it.
fn hold_existing(path: &Path) -> Option<Placeholder> {
    // Non-blocking, because a FIFO may take the file's place between `lstat` and `open`.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let kind = match rustix::fs::lstat(path).ok()? {
        found if is_unused_file(&found) => PlaceholderKind::File,
        found if is_unused_folder(path, &found) => PlaceholderKind::Folder,
        _ => return None,
    };
    let held = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    // This waits only for a run that is removing the placeholder right now.
    rustix::fs::flock(&held, FlockOperation::LockShared).ok()?;
    let found = rustix::fs::fstat(&held).ok()?;
    // It may have been removed before the lock was granted.
    if !is_same_file(path, &found) {
        return None;
    }
    // The stamp comes before the mode, so that at every moment one of them identifies it. If the
    // stamp cannot be set, the mode stays.
    if stamp(&held).is_ok() {
        let mode = match kind {
            PlaceholderKind::File => FILE_MODE,
            PlaceholderKind::Folder => FOLDER_MODE,
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

/// Returns true if a path still names the held file.
fn is_same_file(path: &Path, held: &Stat) -> bool {
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::statat(CWD, path, flags)
        .is_ok_and(|existing| (existing.st_dev, existing.st_ino) == (held.st_dev, held.st_ino))
}

#[cfg(test)]
#[path = "placeholder_tests.rs"]
mod tests;
