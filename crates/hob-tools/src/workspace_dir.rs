//! Files below a workspace. The kernel resolves each path starting at the workspace's handle and
//! refuses to leave it (`openat2`, `RESOLVE_BENEATH`), so neither `..` nor a link, nor a folder
//! swapped for a link meanwhile, leads out.
//!
//! Invariants: nothing outside the workspace or inside a hidden folder is opened; only a regular
//! file is opened for reading, and what it is was looked at before, through a handle that cannot
//! read and wakes no device.

use hob_kit::failpoint;
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Longest path a model may name.
const PATH_BYTES_MAX: usize = 4_096;

/// Why a file is not opened; each sentence is for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotOpened {
    #[error("There is no folder to work in: this run has no workspace, so no file can be opened.")]
    NoWorkspace,
    #[error("The workspace '{0}' cannot be opened: {1}.")]
    Workspace(String, String),
    #[error("'{0}' is not a path.")]
    NotAPath(String),
    #[error(
        "'{0}' leads out of the workspace. Only files below it can be opened; name one by its path relative to the workspace."
    )]
    Outside(String),
    #[error("'{0}' belongs to hob itself and is not shown to tools.")]
    Hidden(String),
    #[error("There is no file '{0}' in the workspace.")]
    Missing(String),
    #[error("'{0}' is a folder, not a file.")]
    Folder(String),
    #[error("'{0}' is {1}, not a file; it is not opened.")]
    Special(String, &'static str),
    #[error("'{0}' cannot be opened: {1}.")]
    Failed(String, String),
}

/// An opened file and its size.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// Opens `path`, which is relative to `workspace` or absolute and inside it.
pub(crate) fn open(
    workspace: Option<&str>,
    path: &str,
    hidden: &[PathBuf],
) -> Result<Opened, NotOpened> {
    let workspace = workspace.ok_or(NotOpened::NoWorkspace)?;
    let root = open_root(workspace)?;
    let shown = || shorten(path);
    check_path(path)?;
    let below = below(workspace, path).ok_or_else(|| NotOpened::Outside(shown()))?;
    let handle = resolve(&root, &below).map_err(|error| refused(path, error))?;
    let found = fstat(&handle).map_err(|error| refused(path, error))?;
    let place = proc_path(&handle);
    let real = std::fs::read_link(&place)
        .map_err(|error| NotOpened::Failed(shown(), error.to_string()))?;
    if hidden.iter().any(|folder| real.starts_with(folder)) {
        return Err(NotOpened::Hidden(shown()));
    }
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(NotOpened::Folder(shown())),
        other => return Err(NotOpened::Special(shown(), kind(other))),
    }
    // The same file again, now for reading: the handle names it, so it cannot be another.
    let file = File::open(&place).map_err(|error| {
        let reason = error.to_string();
        NotOpened::Failed(shown(), reason)
    })?;
    Ok(Opened {
        file,
        bytes: u64::try_from(found.st_size).unwrap_or(0),
    })
}

/// The workspace's handle; it can be walked and synced.
pub(crate) fn root(workspace: Option<&str>) -> Result<(OwnedFd, &str), NotOpened> {
    let workspace = workspace.ok_or(NotOpened::NoWorkspace)?;
    let root = open_root(workspace)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&root, ".", flags, Mode::empty());
    let failed = |error| NotOpened::Workspace(shorten(workspace), reason(error));
    Ok((opened.map_err(failed)?, workspace))
}

/// A folder below `root`, opened so that it can be read and synced. Links on the way are followed
/// as long as they stay below.
pub(crate) fn folder(root: &OwnedFd, below: &str) -> Result<OwnedFd, Errno> {
    let handle = resolve(root, below)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(&handle, ".", flags, Mode::empty())
}

/// Where an opened file or folder lies, as the kernel has it.
pub(crate) fn real_path(handle: &OwnedFd) -> std::io::Result<PathBuf> {
    std::fs::read_link(proc_path(handle))
}

/// A name that leads to what `handle` holds, and to nothing else.
pub(crate) fn proc_path(handle: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(handle.as_raw_fd().to_string())
}

/// Whether a model may name this path at all.
pub(crate) fn check_path(path: &str) -> Result<(), NotOpened> {
    if path.is_empty() || path.len() > PATH_BYTES_MAX || path.contains('\0') {
        return Err(NotOpened::NotAPath(shorten(path)));
    }
    Ok(())
}

fn open_root(workspace: &str) -> Result<OwnedFd, NotOpened> {
    let failed = |reason: String| NotOpened::Workspace(shorten(workspace), reason);
    if !workspace.starts_with('/') {
        return Err(failed("it is not an absolute path".to_owned()));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(workspace, flags, Mode::empty()).map_err(|error| failed(reason(error)))
}

/// The path below the workspace. An absolute one must name the workspace step by step; what the
/// steps after it mean is for the kernel to say.
pub(crate) fn below(workspace: &str, path: &str) -> Option<String> {
    let Some(absolute) = path.strip_prefix('/') else {
        return Some(path.to_owned());
    };
    let steps = |path: &str| -> Vec<String> {
        let steps = path.split('/');
        let steps = steps.filter(|step| !step.is_empty() && *step != ".");
        steps.map(str::to_owned).collect()
    };
    let (root, steps) = (steps(workspace), steps(absolute));
    let below = steps.strip_prefix(&root[..])?;
    Some(match below {
        [] => ".".to_owned(),
        below => below.join("/"),
    })
}

#[cfg(target_os = "linux")]
fn resolve(root: &OwnedFd, below: &str) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let mut within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if failpoint::broken(64) || failpoint::broken(65) {
        within = ResolveFlags::empty();
    }
    loop {
        match openat2(root, below, flags, Mode::empty(), within) {
            // A rename raced with the look-up; the kernel asks to look again.
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

/// Elsewhere nothing keeps a path inside a folder this surely, so nothing is opened.
#[cfg(not(target_os = "linux"))]
fn resolve(_: &OwnedFd, _: &str) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

pub(crate) fn refused(path: &str, error: Errno) -> NotOpened {
    let shown = shorten(path);
    match error {
        Errno::XDEV | Errno::LOOP => NotOpened::Outside(shown),
        Errno::NOENT | Errno::NOTDIR => NotOpened::Missing(shown),
        Errno::NOSYS => NotOpened::Failed(
            shown,
            "this system cannot keep a path inside the workspace (openat2 is missing)".to_owned(),
        ),
        other => NotOpened::Failed(shown, reason(other)),
    }
}

pub(crate) fn reason(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

pub(crate) fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link",
        _ => "something unknown",
    }
}

pub(crate) fn shorten(path: &str) -> String {
    const CHARS_MAX: usize = 200;
    match path.char_indices().nth(CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &path[..cut]),
        None => path.to_owned(),
    }
}

#[cfg(test)]
#[path = "beneath_tests.rs"]
mod tests;
