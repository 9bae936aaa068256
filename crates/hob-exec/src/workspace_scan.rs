//! One walk over the folders of a workspace, by handle and without following links: before a run
//! it finds what stays read-only, after a run it finds git repositories and autostart files that
//! the run created.
//!
//! Invariants: no link is followed and no folder outside the root is opened; bounded in folders;
//! the uppermost folders are looked at first; what could not be looked at is counted.

use crate::protected_paths::{
    PersonHome, Protection, is_dependency_folder, may_be_protected, protection_of,
};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Folders that one walk looks at.
pub const FOLDERS_MAX: usize = 200_000;
/// Protected places in one workspace: each is a mount of its own.
pub const PROTECTED_MAX: usize = 512;
/// What one `getdents64` fills.
const ENTRY_BUFFER_BYTES: usize = 64 * 1024;

/// A folder of the walk.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) handle: OwnedFd,
    pub(crate) path: PathBuf,
    /// Whether it lies in a folder of other people's packages.
    pub(crate) in_dependencies: bool,
}

/// What is done with what a walk meets.
pub(crate) trait Visitor {
    /// Takes an entry; false ends the way down there.
    fn entry(&mut self, folder: &Folder, name: &OsStr, kind: FileType) -> bool;
    /// Takes a folder that git takes for a repository without a work tree; false ends the way
    /// down there.
    fn bare_repository(&mut self, folder: &Folder) -> bool;
    /// Whether enough was found.
    fn is_full(&self) -> bool {
        false
    }
}

/// How a walk went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) folders: usize,
    /// Whether folders were left out: too many, too deep, or closed to us although they are ours.
    pub(crate) is_incomplete: bool,
}

/// Why what is protected in a workspace cannot be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    #[error("more than {FOLDERS_MAX} folders")]
    Folders,
    #[error("more than {PROTECTED_MAX} protected places")]
    Protected,
    #[error("it is itself a git repository without a work tree")]
    BareRepository,
}

/// Every place below a folder that exists and is protected. Blocks for the disk.
pub fn protected_below(root: &Path, home: Option<&PersonHome>) -> Result<Vec<PathBuf>, ScanError> {
    let mut finder = Finder {
        home: home.and_then(|home| home.inside(root).or_else(|| from_above(home, root))),
        found: Vec::new(),
    };
    let walked = walk(root, &mut finder);
    if finder.found.len() > PROTECTED_MAX {
        return Err(ScanError::Protected);
    }
    if walked.folders > FOLDERS_MAX {
        return Err(ScanError::Folders);
    }
    if finder.found.iter().any(|path| path == root) {
        return Err(ScanError::BareRepository);
    }
    Ok(finder.found)
}

/// The home folder's path in the spelling of a root that lies below it.
fn from_above(home: &PersonHome, root: &Path) -> Option<PathBuf> {
    let below = home.below(root)?;
    root.ancestors()
        .nth(below.components().count())
        .map(Path::to_owned)
}

struct Finder {
    home: Option<PathBuf>,
    found: Vec<PathBuf>,
}

impl Visitor for Finder {
    fn entry(&mut self, folder: &Folder, name: &OsStr, kind: FileType) -> bool {
        if may_be_protected(name.as_bytes()) {
            let path = folder.path.join(name);
            let below = self.home.as_ref();
            let below = below.and_then(|home| path.strip_prefix(home).ok());
            match protection_of(&path, below) {
                Some(Protection::Asked(_)) if folder.in_dependencies => {}
                None => {}
                Some(_) => {
                    self.found.push(path);
                    return false;
                }
            }
        }
        kind.is_dir()
    }

    fn bare_repository(&mut self, folder: &Folder) -> bool {
        // What is in it is protected with it.
        self.found.retain(|path| !path.starts_with(&folder.path));
        self.found.push(folder.path.clone());
        false
    }

    fn is_full(&self) -> bool {
        self.found.len() > PROTECTED_MAX
    }
}

/// Walks over a folder and all below it.
pub(crate) fn walk(root: &Path, visitor: &mut impl Visitor) -> Walked {
    let mut walked = Walked::default();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(top) = rustix::fs::open(root, flags, Mode::empty()) else {
        return walked;
    };
    let mut buffer = vec![MaybeUninit::uninit(); ENTRY_BUFFER_BYTES];
    let mut waiting: VecDeque<(PathBuf, bool)> = VecDeque::from([(PathBuf::new(), false)]);
    while let Some((below, in_dependencies)) = waiting.pop_front() {
        walked.folders += 1;
        if walked.folders > FOLDERS_MAX || visitor.is_full() {
            walked.is_incomplete = true;
            break;
        }
        let handle = match open_below(&top, &below) {
            Ok(handle) => handle,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(error) => {
                walked.is_incomplete |= error != Errno::ACCESS || is_ours(&top, &below);
                continue;
            }
        };
        let folder = Folder {
            handle,
            path: join(root, &below),
            in_dependencies,
        };
        if !read(&folder, &below, &mut buffer, visitor, &mut waiting) {
            walked.is_incomplete = true;
        }
    }
    walked
}

/// Looks at the entries of one folder; false if they could not all be read.
fn read(
    folder: &Folder,
    below: &Path,
    buffer: &mut [MaybeUninit<u8>],
    visitor: &mut impl Visitor,
    waiting: &mut VecDeque<(PathBuf, bool)>,
) -> bool {
    let before = waiting.len();
    let mut marks = RepositoryMarks::default();
    let mut entries = RawDir::new(&folder.handle, buffer);
    let mut is_whole = true;
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else {
            is_whole = false;
            break;
        };
        let name = entry.file_name();
        let bytes = name.to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let found = rustix::fs::statat(&folder.handle, name, AtFlags::SYMLINK_NOFOLLOW);
            kind = found.map_or(FileType::Unknown, |found| {
                FileType::from_raw_mode(found.st_mode)
            });
        }
        marks.note(bytes);
        let name = OsStr::from_bytes(bytes);
        if visitor.entry(folder, name, kind) && kind.is_dir() {
            let in_dependencies = folder.in_dependencies || is_dependency_folder(bytes);
            waiting.push_back((join(below, Path::new(name)), in_dependencies));
        }
    }
    if marks.is_repository() && !visitor.bare_repository(folder) {
        waiting.truncate(before);
    }
    is_whole
}

/// What git looks for when it asks whether a folder is a repository.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one name was seen; any of them can be without the others"
)]
struct RepositoryMarks {
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
}

impl RepositoryMarks {
    // Without case: some file systems compare so, and then git finds it.
    fn note(&mut self, name: &[u8]) {
        self.head |= name.eq_ignore_ascii_case(b"HEAD");
        self.objects |= name.eq_ignore_ascii_case(b"objects");
        self.refs |= name.eq_ignore_ascii_case(b"refs");
        self.common |= name.eq_ignore_ascii_case(b"commondir");
    }

    fn is_repository(&self) -> bool {
        self.head && (self.common || self.objects && self.refs)
    }
}

/// Opens what lies below `top`; no link on the way is followed.
pub(crate) fn open_below(top: &OwnedFd, below: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let below = if below == Path::new("") {
        Path::new(".")
    } else {
        below
    };
    rustix::fs::openat2(top, below, flags, Mode::empty(), within)
}

/// Whether a folder that cannot be read belongs to this user, who could open it again.
fn is_ours(top: &OwnedFd, below: &Path) -> bool {
    let found = rustix::fs::statat(top, below, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| found.st_uid == rustix::process::geteuid().as_raw())
}

/// Joining nothing would add a slash.
fn join(one: &Path, other: &Path) -> PathBuf {
    if other == Path::new("") {
        one.to_owned()
    } else {
        one.join(other)
    }
}

#[cfg(test)]
#[path = "workspace_scan_tests.rs"]
mod tests;
