//! A path below the workspace, held as a handle of its folder and a name in it. Reads and changes
//! through one [`WorkspacePath`] reach the same place, even if folders are renamed meanwhile.
//!
//! Invariants: the folder lies below the workspace and outside hob's own folders; the name is one
//! component; a symbolic link at the path is never followed.

use crate::ToolEnv;
use crate::commands::CommandRunner;
use crate::workspace_dir::{self, WorkspaceOpenError};
use hob_exec::protected_paths::{PathProtection, PersonHome, protection};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the largest file that may be changed: its previous content is stored for undo.
pub(crate) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Parent folders that may be created for a new file.
const MISSING_MAX: usize = 32;
/// Bytes of one name.
const NAME_BYTES_MAX: usize = 255;

/// The reason why a tool does nothing, as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ToolRefusal(pub(crate) String);

impl From<WorkspaceOpenError> for ToolRefusal {
    fn from(reason: WorkspaceOpenError) -> Self {
        ToolRefusal(reason.to_string())
    }
}

impl From<hob_exec::ExecError> for ToolRefusal {
    fn from(reason: hob_exec::ExecError) -> Self {
        ToolRefusal(reason.to_string())
    }
}

/// A place below the workspace; something may or may not exist there.
#[derive(Clone, Debug)]
pub(crate) struct WorkspacePath {
    /// The nearest folder that exists.
    pub(crate) folder: Arc<OwnedFd>,
    /// The folders between `folder` and `name` that do not exist yet.
    pub(crate) missing: Vec<String>,
    pub(crate) name: String,
    /// The path relative to the workspace, as people see it.
    pub(crate) shown: String,
    /// The absolute path after all links are resolved.
    pub(crate) real: PathBuf,
    /// True if a person is asked about a change even where writing is allowed.
    pub(crate) asks_always: bool,
    /// The person's home folder, below which more paths are protected.
    home: Option<PersonHome>,
}

/// The content at a path.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum FsNode {
    Nothing,
    File { bytes: Vec<u8>, mode: u32 },
    Link { target: Vec<u8> },
    Folder { mode: u32 },
}

impl WorkspacePath {
    /// Resolves `path`; refuses one that may not be changed.
    pub(crate) fn resolve(
        workspace: Option<&str>,
        path: &str,
        env: &ToolEnv,
    ) -> Result<WorkspacePath, ToolRefusal> {
        let (root, workspace) = workspace_dir::open_workspace(workspace)?;
        workspace_dir::check_path(path)?;
        let outside = || WorkspaceOpenError::Outside(workspace_dir::shorten(path));
        let below = workspace_dir::relative_path(workspace, path).ok_or_else(outside)?;
        let steps: Vec<&str> = below
            .split('/')
            .filter(|step| !step.is_empty() && *step != ".")
            .collect();
        let Some((name, before)) = steps.split_last() else {
            return Err(ToolRefusal(
                "This is the workspace itself; name something in it.".to_owned(),
            ));
        };
        // `..` as the last component is no name that could be created or changed.
        if *name == ".." {
            return Err(outside().into());
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(WorkspaceOpenError::NotAPath(workspace_dir::shorten(path)).into());
        }
        let (folder, missing) = open_nearest_folder(&root, before, path)?;
        let lies = workspace_dir::real_path(&folder);
        let mut real = lies.map_err(|error| cannot_open(path, &error.to_string()))?;
        real.extend(&missing);
        real.push(name);
        if env
            .hidden()
            .iter()
            .any(|hidden| real.starts_with(hidden) || hidden.starts_with(&real))
        {
            return Err(WorkspaceOpenError::Hidden(workspace_dir::shorten(path)).into());
        }
        let place = WorkspacePath {
            folder: Arc::new(folder),
            missing,
            name: (*name).to_owned(),
            shown: steps.join("/"),
            real,
            asks_always: false,
            home: env.commands().and_then(CommandRunner::home).cloned(),
        };
        place.check_protection()
    }

    /// The path of `name` in the folder at this path; `handle` is that folder.
    pub(crate) fn child(
        &self,
        handle: &Arc<OwnedFd>,
        name: &str,
    ) -> Result<WorkspacePath, ToolRefusal> {
        let place = WorkspacePath {
            folder: Arc::clone(handle),
            missing: Vec::new(),
            name: name.to_owned(),
            shown: format!("{}/{name}", self.shown),
            real: self.real.join(name),
            asks_always: false,
            home: self.home.clone(),
        };
        place.check_protection()
    }

    /// The protection of a path below this one.
    pub(crate) fn protection_below(&self, below: &Path) -> Option<PathProtection> {
        protection(&self.real.join(below), self.home.as_ref())
    }

    fn check_protection(self) -> Result<WorkspacePath, ToolRefusal> {
        match protection(&self.real, self.home.as_ref()) {
            None => Ok(self),
            Some(PathProtection::Asked(_)) => Ok(WorkspacePath {
                asks_always: true,
                ..self
            }),
            Some(PathProtection::Refused(why)) => Err(ToolRefusal(format!(
                "'{}' is protected: {why}. Tools never change it; ask the person to do it.",
                workspace_dir::shorten(&self.shown)
            ))),
        }
    }

    /// Reads the current content. A file is read whole, up to `FILE_BYTES_MAX`.
    pub(crate) fn read_node(&self) -> Result<FsNode, ToolRefusal> {
        if !self.missing.is_empty() {
            return Ok(FsNode::Nothing);
        }
        self.read_node_named(&self.name)
    }

    /// Reads the content of another name in the same folder.
    pub(crate) fn read_node_named(&self, name: &str) -> Result<FsNode, ToolRefusal> {
        // O_PATH reads nothing and wakes no device; the type is known before the content is opened.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::openat(&*self.folder, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(FsNode::Nothing),
            Err(error) => return Err(workspace_dir::open_error(&self.shown, error).into()),
        };
        let found =
            fstat(&handle).map_err(|error| workspace_dir::open_error(&self.shown, error))?;
        let mode = found.st_mode & 0o777;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Ok(FsNode::Folder { mode }),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&handle, "", Vec::new());
                let target =
                    target.map_err(|error| workspace_dir::open_error(&self.shown, error))?;
                Ok(FsNode::Link {
                    target: target.into_bytes(),
                })
            }
            FileType::RegularFile => {
                let bytes = self.read(&workspace_dir::proc_path(&handle))?;
                Ok(FsNode::File { bytes, mode })
            }
            other => Err(WorkspaceOpenError::Special(
                self.shown.clone(),
                workspace_dir::file_type_name(other),
            )
            .into()),
        }
    }

    fn read(&self, place: &Path) -> Result<Vec<u8>, ToolRefusal> {
        let to_refusal = |error: std::io::Error| cannot_open(&self.shown, &error.to_string());
        let file = File::open(place).map_err(to_refusal)?;
        let mut bytes = Vec::new();
        // One byte more than the limit, to detect a file that is too large or that still grows.
        let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
        if read.map_err(to_refusal)? as u64 > FILE_BYTES_MAX {
            return Err(ToolRefusal(format!(
                "'{}' is larger than {FILE_BYTES_MAX} bytes, more than can be stored for undo; it was not changed.",
                self.shown
            )));
        }
        Ok(bytes)
    }

    /// The inode number and birth time, which survive a rename and never belong to another file.
    /// None if the file system does not report both; inode numbers alone are reused.
    #[cfg(target_os = "linux")]
    pub(crate) fn identity(&self) -> Option<String> {
        use rustix::fs::{StatxFlags, statx};
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let found = statx(&*self.folder, self.name.as_str(), flags, wanted).ok()?;
        let is_whole = StatxFlags::from_bits_retain(found.stx_mask).contains(wanted);
        let born = found.stx_btime;
        is_whole.then(|| format!("{}@{}.{}", found.stx_ino, born.tv_sec, born.tv_nsec))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn identity(&self) -> Option<String> {
        None
    }

    /// The mode of a new entry: that of the folder, without write access for group and others.
    pub(crate) fn default_mode(&self) -> u32 {
        let found = statat(&*self.folder, ".", AtFlags::empty());
        found.map_or(0o700, |found| (found.st_mode & 0o755) | 0o700)
    }
}

impl FsNode {
    /// A string that differs for different content.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            FsNode::Nothing => "nothing".to_owned(),
            FsNode::File { bytes, .. } => file_fingerprint(bytes),
            FsNode::Link { target } => format!("link:{}", sha256_hex(target)),
            FsNode::Folder { .. } => "folder".to_owned(),
        }
    }
}

impl std::fmt::Debug for FsNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.fingerprint())
    }
}

/// The fingerprint of a file that holds `bytes`.
pub(crate) fn file_fingerprint(bytes: &[u8]) -> String {
    format!("file:{}", sha256_hex(bytes))
}

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Opens the deepest existing folder of the path; returns it with the missing components.
fn open_nearest_folder(
    root: &OwnedFd,
    steps: &[&str],
    path: &str,
) -> Result<(OwnedFd, Vec<String>), ToolRefusal> {
    for there in (0..=steps.len()).rev() {
        let missing = &steps[there..];
        if missing.len() > MISSING_MAX {
            break;
        }
        let below = match &steps[..there] {
            [] => ".".to_owned(),
            some => some.join("/"),
        };
        match workspace_dir::open_folder(root, &below) {
            // `..` below a missing folder has no meaning, and the folder must not be created for it.
            Ok(_) if missing.contains(&"..") => break,
            Ok(folder) => return Ok((folder, missing.iter().map(|&step| step.into()).collect())),
            Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR) => {
                let shown = workspace_dir::shorten(&below);
                return Err(ToolRefusal(format!("'{shown}' is not a folder.")));
            }
            Err(error) => return Err(workspace_dir::open_error(path, error).into()),
        }
    }
    Err(WorkspaceOpenError::NotAPath(workspace_dir::shorten(path)).into())
}

pub(crate) fn cannot_open(path: &str, reason: &str) -> ToolRefusal {
    WorkspaceOpenError::Failed(workspace_dir::shorten(path), reason.to_owned()).into()
}

#[cfg(test)]
#[path = "workspace_path_tests.rs"]
mod tests;
