//! Opens files below a workspace. The kernel resolves each path from the handle of the workspace
//! and refuses to leave it (`openat2`, `RESOLVE_BENEATH`). So `..`, links and folders that are
//! swapped for links meanwhile cannot lead out.
//!
//! Invariants: nothing outside the workspace or inside a hidden folder is opened; only regular
//! files are opened for reading; the file type is checked first through an `O_PATH` handle, which
//! cannot read and wakes no device.

use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Bytes of the longest path a model may name.
const PATH_BYTES_MAX: usize = 4_096;

/// The reason why a file is not opened; each sentence is for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WorkspaceOpenError {
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
pub(crate) struct WorkspaceFile {
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// Opens a file; `path` is relative to `workspace`, or absolute and inside it.
pub(crate) fn open_file(
    workspace: Option<&str>,
    path: &str,
    hidden: &[PathBuf],
) -> Result<WorkspaceFile, WorkspaceOpenError> {
    let workspace = workspace.ok_or(WorkspaceOpenError::NoWorkspace)?;
    let root = open_root(workspace)?;
    let shown = || shorten(path);
    check_path(path)?;
    let below =
        relative_path(workspace, path).ok_or_else(|| WorkspaceOpenError::Outside(shown()))?;
    let handle = resolve(&root, &below).map_err(|error| open_error(path, error))?;
    let found = fstat(&handle).map_err(|error| open_error(path, error))?;
    let place = proc_path(&handle);
    let real = std::fs::read_link(&place)
        .map_err(|error| WorkspaceOpenError::Failed(shown(), error.to_string()))?;
    if hidden.iter().any(|folder| real.starts_with(folder)) {
        return Err(WorkspaceOpenError::Hidden(shown()));
    }
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(WorkspaceOpenError::Folder(shown())),
        other => return Err(WorkspaceOpenError::Special(shown(), file_type_name(other))),
    }
    // Reopened through /proc/self/fd: the same file as the handle, even if the name was swapped.
    let file = File::open(&place).map_err(|error| {
        let reason = error.to_string();
        WorkspaceOpenError::Failed(shown(), reason)
    })?;
    Ok(WorkspaceFile {
        file,
        bytes: u64::try_from(found.st_size).unwrap_or(0),
    })
}

/// Opens the workspace folder, so that it can be read and synced.
pub(crate) fn open_workspace(
    workspace: Option<&str>,
) -> Result<(OwnedFd, &str), WorkspaceOpenError> {
    let workspace = workspace.ok_or(WorkspaceOpenError::NoWorkspace)?;
    let root = open_root(workspace)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&root, ".", flags, Mode::empty());
    let failed = |error| WorkspaceOpenError::Workspace(shorten(workspace), errno_text(error));
    Ok((opened.map_err(failed)?, workspace))
}

/// Opens a folder below `root`, so that it can be read and synced. Links are followed as long as
/// they stay below `root`.
pub(crate) fn open_folder(root: &OwnedFd, below: &str) -> Result<OwnedFd, Errno> {
    let handle = resolve(root, below)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(&handle, ".", flags, Mode::empty())
}

/// The path of an opened file or folder, as the kernel reports it.
pub(crate) fn real_path(handle: &OwnedFd) -> std::io::Result<PathBuf> {
    std::fs::read_link(proc_path(handle))
}

/// The `/proc` path of an open handle.
pub(crate) fn proc_path(handle: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(handle.as_raw_fd().to_string())
}

/// Checks the length and the characters of a path.
pub(crate) fn check_path(path: &str) -> Result<(), WorkspaceOpenError> {
    if path.is_empty() || path.len() > PATH_BYTES_MAX || path.contains('\0') {
        return Err(WorkspaceOpenError::NotAPath(shorten(path)));
    }
    Ok(())
}

fn open_root(workspace: &str) -> Result<OwnedFd, WorkspaceOpenError> {
    let failed = |reason: String| WorkspaceOpenError::Workspace(shorten(workspace), reason);
    if !workspace.starts_with('/') {
        return Err(failed("it is not an absolute path".to_owned()));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(workspace, flags, Mode::empty()).map_err(|error| failed(errno_text(error)))
}

/// The path relative to the workspace. An absolute path must begin with the components of the
/// workspace; the kernel resolves the components after them.
pub(crate) fn relative_path(workspace: &str, path: &str) -> Option<String> {
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
    // NO_MAGICLINKS: links in /proc could lead out without a path.
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match openat2(root, below, flags, Mode::empty(), within) {
            // A concurrent rename interrupted the resolution; the kernel asks for a retry.
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

/// Other systems have no `openat2`, so nothing is opened there.
#[cfg(not(target_os = "linux"))]
fn resolve(_: &OwnedFd, _: &str) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

pub(crate) fn open_error(path: &str, error: Errno) -> WorkspaceOpenError {
    let shown = shorten(path);
    match error {
        Errno::XDEV | Errno::LOOP => WorkspaceOpenError::Outside(shown),
        Errno::NOENT | Errno::NOTDIR => WorkspaceOpenError::Missing(shown),
        Errno::NOSYS => WorkspaceOpenError::Failed(
            shown,
            "this system cannot keep a path inside the workspace (openat2 is missing)".to_owned(),
        ),
        other => WorkspaceOpenError::Failed(shown, errno_text(other)),
    }
}

pub(crate) fn errno_text(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

pub(crate) fn file_type_name(kind: FileType) -> &'static str {
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
#[path = "workspace_dir_tests.rs"]
mod tests;
