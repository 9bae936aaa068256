//! Scans the folders of a workspace by handle. Before a run the scan finds paths that stay
//! read-only; after a run it finds git repositories and autostart files that the run created.
//!
//! Invariants: no link is followed and no folder outside the root is opened; the number of folders
//! is bounded; upper folders come first; a folder that could not be read is reported.

use crate::protected_paths::{
    PathProtection, PersonHome, is_dependency_folder, may_be_protected, protection_of,
};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Folders in one scan.
pub const FOLDERS_MAX: usize = 200_000;
/// Protected paths in one workspace. Each one costs a mount.
pub const PROTECTED_MAX: usize = 512;
/// The buffer of one `getdents64` call.
const ENTRY_BUFFER_BYTES: usize = 64 * 1024;

/// A folder in a scan.
#[derive(Debug)]
pub(crate) struct ScannedFolder {
    pub(crate) handle: OwnedFd,
    pub(crate) path: PathBuf,
    /// True if it lies in a folder of dependencies.
    pub(crate) in_dependencies: bool,
}

/// The receiver of what a scan finds.
pub(crate) trait ScanVisitor {
    /// Handles an entry; false skips everything below it.
    fn visit_entry(&mut self, folder: &ScannedFolder, name: &OsStr, kind: FileType) -> bool;
    /// Handles a folder that git accepts as a bare repository; false skips everything below it.
    fn visit_bare_repository(&mut self, folder: &ScannedFolder) -> bool;
    /// Returns true if the scan can stop.
    fn is_full(&self) -> bool {
        false
    }
}

/// The summary of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScanSummary {
    pub(crate) folders: usize,
    /// True if folders were left out: too many, too deep, or not readable although this user owns
    /// them.
    pub(crate) is_incomplete: bool,
}

/// The reason why the protected paths of a workspace cannot be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    #[error("more than {FOLDERS_MAX} folders")]
    Folders,
    #[error("more than {PROTECTED_MAX} protected paths")]
    Protected,
    #[error("it is itself a bare git repository")]
    BareRepository,
}

/// Lists every existing protected path below a folder. Blocks on the disk.
pub fn protected_below(root: &Path, home: Option<&PersonHome>) -> Result<Vec<PathBuf>, ScanError> {
    let mut finder = ProtectedFinder {
        home: home.and_then(|home| {
            home.inside(root)
                .or_else(|| home_in_spelling_of(home, root))
        }),
        found: Vec::new(),
    };
    let summary = walk(root, &mut finder);
    if finder.found.len() > PROTECTED_MAX {
        return Err(ScanError::Protected);
    }
    if summary.folders > FOLDERS_MAX {
        return Err(ScanError::Folders);
    }
    if finder.found.iter().any(|path| path == root) {
        return Err(ScanError::BareRepository);
    }
    Ok(finder.found)
}

/// The home folder's path in the spelling of a root that lies below it.
fn home_in_spelling_of(home: &PersonHome, root: &Path) -> Option<PathBuf> {
    let below = home.below(root)?;
    root.ancestors()
        .nth(below.components().count())
        .map(Path::to_owned)
}

struct ProtectedFinder {
    home: Option<PathBuf>,
    found: Vec<PathBuf>,
}

impl ScanVisitor for ProtectedFinder {
    fn visit_entry(&mut self, folder: &ScannedFolder, name: &OsStr, kind: FileType) -> bool {
        if may_be_protected(name.as_bytes()) {
            let path = folder.path.join(name);
            let below = self.home.as_ref();
            let below = below.and_then(|home| path.strip_prefix(home).ok());
            match protection_of(&path, below) {
                Some(PathProtection::Asked(_)) if folder.in_dependencies => {}
                None => {}
                Some(_) => {
                    self.found.push(path);
                    return false;
                }
            }
        }
        kind.is_dir()
    }

    fn visit_bare_repository(&mut self, folder: &ScannedFolder) -> bool {
        // Protecting the folder also protects the paths in it.
        self.found.retain(|path| !path.starts_with(&folder.path));
        self.found.push(folder.path.clone());
        false
    }

    fn is_full(&self) -> bool {
        self.found.len() > PROTECTED_MAX
    }
}

/// Scans a folder and everything below it.
pub(crate) fn walk(root: &Path, visitor: &mut impl ScanVisitor) -> ScanSummary {
    let mut summary = ScanSummary::default();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(top) = rustix::fs::open(root, flags, Mode::empty()) else {
        return summary;
    };
    let mut buffer = vec![MaybeUninit::uninit(); ENTRY_BUFFER_BYTES];
    let mut waiting: VecDeque<(PathBuf, bool)> = VecDeque::from([(PathBuf::new(), false)]);
    while let Some((below, in_dependencies)) = waiting.pop_front() {
        summary.folders += 1;
        if summary.folders > FOLDERS_MAX || visitor.is_full() {
            summary.is_incomplete = true;
            break;
        }
        let handle = match open_below(&top, &below) {
            Ok(handle) => handle,
            // The folder vanished or was replaced by a link since it was listed.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(error) => {
                summary.is_incomplete |= error != Errno::ACCESS || is_ours(&top, &below);
                continue;
            }
        };
        let folder = ScannedFolder {
            handle,
            path: join(root, &below),
            in_dependencies,
        };
        if !scan_folder(&folder, &below, &mut buffer, visitor, &mut waiting) {
            summary.is_incomplete = true;
        }
    }
    summary
}

/// Reads the entries of one folder; false if some could not be read.
fn scan_folder(
    folder: &ScannedFolder,
    below: &Path,
    buffer: &mut [MaybeUninit<u8>],
    visitor: &mut impl ScanVisitor,
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
        // Some file systems do not store the type in the directory.
        if kind == FileType::Unknown {
            let found = rustix::fs::statat(&folder.handle, name, AtFlags::SYMLINK_NOFOLLOW);
            kind = found.map_or(FileType::Unknown, |found| {
                FileType::from_raw_mode(found.st_mode)
            });
        }
        marks.note(bytes);
        let name = OsStr::from_bytes(bytes);
        if visitor.visit_entry(folder, name, kind) && kind.is_dir() {
            let in_dependencies = folder.in_dependencies || is_dependency_folder(bytes);
            waiting.push_back((join(below, Path::new(name)), in_dependencies));
        }
    }
    if marks.is_repository() && !visitor.visit_bare_repository(folder) {
        // Folders of the repository were queued before its last mark was seen.
        waiting.truncate(before);
    }
    is_whole
}

/// The entries by which git recognizes a repository.
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
    // Without case: on a case-insensitive file system git finds these names, too.
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

/// Opens a folder below `top` without following any link.
pub(crate) fn open_below(top: &OwnedFd, below: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    // The kernel refuses an empty path.
    let below = if below == Path::new("") {
        Path::new(".")
    } else {
        below
    };
    rustix::fs::openat2(top, below, flags, Mode::empty(), within)
}

/// Returns true if this user owns a folder that cannot be read, and so could make it readable
/// again.
fn is_ours(top: &OwnedFd, below: &Path) -> bool {
    let found = rustix::fs::statat(top, below, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| found.st_uid == rustix::process::geteuid().as_raw())
}

/// Joins two paths. Joining an empty path would add a slash.
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
