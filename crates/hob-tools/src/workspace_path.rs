//! A place below the workspace where something is, or could be: its folder by handle and a name
//! in it. What is seen and what is changed through one spot is the same place, whatever is
//! renamed around it meanwhile.
//!
//! Invariants: the folder lies below the workspace and outside hob's own; the name is one step; a
//! link at the spot is seen as a link and never followed.

use crate::Ground;
use crate::beneath::{self, NotOpened};
use crate::commands::Commands;
use hob_exec::protected_paths::{PersonHome, Protection, protection};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the largest file that may be changed: what was there is kept for undoing.
pub(crate) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Folders that may be made on the way to a new file.
const MISSING_MAX: usize = 32;
/// Bytes of one name.
const NAME_BYTES_MAX: usize = 255;

/// Why nothing is done, in a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

impl From<NotOpened> for Refused {
    fn from(reason: NotOpened) -> Self {
        Refused(reason.to_string())
    }
}

impl From<hob_exec::ExecError> for Refused {
    fn from(reason: hob_exec::ExecError) -> Self {
        Refused(reason.to_string())
    }
}

/// A place.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// The nearest folder that exists.
    pub(crate) folder: Arc<OwnedFd>,
    /// The folders between it and the name that do not exist yet.
    pub(crate) missing: Vec<String>,
    pub(crate) name: String,
    /// As it is named to people: below the workspace.
    pub(crate) shown: String,
    /// Where it really lies.
    pub(crate) real: PathBuf,
    /// Whether a person is asked for a change of it also where writing is allowed.
    pub(crate) asks_always: bool,
    /// The person's home folder, below which more is protected.
    home: Option<PersonHome>,
}

/// What is at a spot.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Nothing,
    File { bytes: Vec<u8>, mode: u32 },
    Link { target: Vec<u8> },
    Folder { mode: u32 },
}

impl Spot {
    /// The spot that `path` names, and that may be changed.
    pub(crate) fn find(
        workspace: Option<&str>,
        path: &str,
        ground: &Ground,
    ) -> Result<Spot, Refused> {
        let (root, workspace) = beneath::root(workspace)?;
        beneath::check_path(path)?;
        let outside = || NotOpened::Outside(beneath::shorten(path));
        let below = beneath::below(workspace, path).ok_or_else(outside)?;
        let steps: Vec<&str> = below
            .split('/')
            .filter(|step| !step.is_empty() && *step != ".")
            .collect();
        let Some((name, before)) = steps.split_last() else {
            return Err(Refused(
                "This is the workspace itself; name something in it.".to_owned(),
            ));
        };
        if *name == ".." {
            return Err(outside().into());
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(NotOpened::NotAPath(beneath::shorten(path)).into());
        }
        let (folder, missing) = nearest(&root, before, path)?;
        let lies = beneath::real_path(&folder);
        let mut real = lies.map_err(|error| failed(path, &error.to_string()))?;
        real.extend(&missing);
        real.push(name);
        if ground
            .hidden()
            .iter()
            .any(|hidden| real.starts_with(hidden) || hidden.starts_with(&real))
        {
            return Err(NotOpened::Hidden(beneath::shorten(path)).into());
        }
        let spot = Spot {
            folder: Arc::new(folder),
            missing,
            name: (*name).to_owned(),
            shown: steps.join("/"),
            real,
            asks_always: false,
            home: ground.commands().and_then(Commands::home).cloned(),
        };
        spot.checked()
    }

    /// A spot in the folder at this one, which is `handle`.
    pub(crate) fn within(&self, handle: &Arc<OwnedFd>, name: &str) -> Result<Spot, Refused> {
        let spot = Spot {
            folder: Arc::clone(handle),
            missing: Vec::new(),
            name: name.to_owned(),
            shown: format!("{}/{name}", self.shown),
            real: self.real.join(name),
            asks_always: false,
            home: self.home.clone(),
        };
        spot.checked()
    }

    /// How a place below this one is protected.
    pub(crate) fn protection_below(&self, below: &Path) -> Option<Protection> {
        protection(&self.real.join(below), self.home.as_ref())
    }

    fn checked(self) -> Result<Spot, Refused> {
        match protection(&self.real, self.home.as_ref()) {
            None => Ok(self),
            Some(Protection::Asked(_)) => Ok(Spot {
                asks_always: true,
                ..self
            }),
            Some(Protection::Refused(why)) => Err(Refused(format!(
                "'{}' is protected: {why}. Tools never change it; ask the person to do it.",
                beneath::shorten(&self.shown)
            ))),
        }
    }

    /// What is there now. A file is read whole, up to the largest that may be changed.
    pub(crate) fn look(&self) -> Result<Node, Refused> {
        if !self.missing.is_empty() {
            return Ok(Node::Nothing);
        }
        self.look_at(&self.name)
    }

    /// What is under another name in the same folder.
    pub(crate) fn look_at(&self, name: &str) -> Result<Node, Refused> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::openat(&*self.folder, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(Node::Nothing),
            Err(error) => return Err(beneath::refused(&self.shown, error).into()),
        };
        let found = fstat(&handle).map_err(|error| beneath::refused(&self.shown, error))?;
        let mode = found.st_mode & 0o777;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Ok(Node::Folder { mode }),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&handle, "", Vec::new());
                let target = target.map_err(|error| beneath::refused(&self.shown, error))?;
                Ok(Node::Link {
                    target: target.into_bytes(),
                })
            }
            FileType::RegularFile => {
                let bytes = self.read(&beneath::proc_path(&handle))?;
                Ok(Node::File { bytes, mode })
            }
            other => Err(NotOpened::Special(self.shown.clone(), beneath::kind(other)).into()),
        }
    }

    fn read(&self, place: &Path) -> Result<Vec<u8>, Refused> {
        let told = |error: std::io::Error| failed(&self.shown, &error.to_string());
        let file = File::open(place).map_err(told)?;
        let mut bytes = Vec::new();
        let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
        if read.map_err(told)? as u64 > FILE_BYTES_MAX {
            return Err(Refused(format!(
                "'{}' is larger than {FILE_BYTES_MAX} bytes, more than is kept for undoing; it is not changed.",
                self.shown
            )));
        }
        Ok(bytes)
    }

    /// What stays the same while something is renamed and is never another's: its number on the disk
    /// and when it was made. None where the file system does not say; a number alone is used again.
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

    /// The rights that something new gets in this folder: its own, without a stranger's writing.
    pub(crate) fn usual_mode(&self) -> u32 {
        let found = statat(&*self.folder, ".", AtFlags::empty());
        found.map_or(0o700, |found| (found.st_mode & 0o755) | 0o700)
    }
}

impl Node {
    /// What tells this from anything else that could be there.
    pub(crate) fn mark(&self) -> String {
        match self {
            Node::Nothing => "nothing".to_owned(),
            Node::File { bytes, .. } => file_mark(bytes),
            Node::Link { target } => format!("link:{}", hash(target)),
            Node::Folder { .. } => "folder".to_owned(),
        }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.mark())
    }
}

/// The mark of a file that holds `bytes`.
pub(crate) fn file_mark(bytes: &[u8]) -> String {
    format!("file:{}", hash(bytes))
}

pub(crate) fn hash(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The deepest folder on the way that exists, and the steps after it.
fn nearest(root: &OwnedFd, steps: &[&str], path: &str) -> Result<(OwnedFd, Vec<String>), Refused> {
    for there in (0..=steps.len()).rev() {
        let missing = &steps[there..];
        if missing.len() > MISSING_MAX {
            break;
        }
        let below = match &steps[..there] {
            [] => ".".to_owned(),
            some => some.join("/"),
        };
        match beneath::folder(root, &below) {
            // What is not there has no way up, and is not to be made.
            Ok(_) if missing.contains(&"..") => break,
            Ok(folder) => return Ok((folder, missing.iter().map(|&step| step.into()).collect())),
            Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR) => {
                let shown = beneath::shorten(&below);
                return Err(Refused(format!("'{shown}' is not a folder.")));
            }
            Err(error) => return Err(beneath::refused(path, error).into()),
        }
    }
    Err(NotOpened::NotAPath(beneath::shorten(path)).into())
}

pub(crate) fn failed(path: &str, reason: &str) -> Refused {
    NotOpened::Failed(beneath::shorten(path), reason.to_owned()).into()
}

#[cfg(test)]
#[path = "spot_tests.rs"]
mod tests;
