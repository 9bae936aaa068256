//! Inspects the workspace after a run. New git repositories that would run a program are renamed,
//! so that the user's next `git` does not run it. New files that other programs run are listed.
//!
//! Invariants: the inspection starts when no process of the run lives; paths that were protected
//! before the run are left alone; a rename is by handle, follows no link and replaces nothing.

use crate::git_config::find_program_setting;
use crate::protected_paths::{PathProtection, may_be_protected, protection_of};
use crate::spawn_plan::SandboxPolicy;
use crate::workspace_scan::{ScanVisitor, ScannedFolder, open_below, walk};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// The longest git configuration that is read; a longer one counts as one that runs a program.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;
/// The longest `.git` or `commondir` file.
const POINTER_BYTES_MAX: u64 = 8 * 1024;
/// The longest chain of pointers from one repository to the next.
const POINTERS_MAX: usize = 4;
/// New files that are listed after one run.
const NAMED_MAX: usize = 32;
/// Names tried for a rename.
const SUFFIXES_MAX: usize = 1_000;
/// The suffix of a renamed repository.
const QUARANTINED: &str = ".quarantined";

/// Files that a run left behind and the user should know of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    pub quarantined: Vec<QuarantinedRepository>,
    /// New files that an editor, a shell or a build server may run.
    pub created: Vec<PathBuf>,
    /// True if folders were skipped, because there were too many or they were not readable.
    pub is_incomplete: bool,
}

/// A git repository that would have run a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantinedRepository {
    pub path: PathBuf,
    /// Its new path; none if it could not be renamed.
    pub renamed: Option<PathBuf>,
    /// The setting or hook that would have run, such as `core.fsmonitor`.
    pub reason: String,
}

/// Inspects every root that a run could write to, and renames dangerous repositories.
pub(super) fn inspect_and_quarantine(policy: &SandboxPolicy) -> LeftBehind {
    let mut left = LeftBehind::default();
    for root in &policy.write {
        let mut inspector = LeftoverInspector {
            known: policy.protected.iter().map(PathBuf::as_path).collect(),
            suspects: Vec::new(),
            created: Vec::new(),
        };
        left.is_incomplete |= walk(root, &mut inspector).is_incomplete;
        let LeftoverInspector {
            suspects, created, ..
        } = inspector;
        left.created.extend(created);
        // One repository may point to another, so all are checked before any is renamed. Inner ones
        // are renamed first, while their paths are still valid.
        let found = suspects
            .into_iter()
            .filter_map(|path| SuspectRepository::check(root, path));
        let found: Vec<SuspectRepository> = found.collect();
        let mut renamed: Vec<QuarantinedRepository> = found
            .into_iter()
            .rev()
            .map(SuspectRepository::quarantine)
            .collect();
        follow_outer_renames(&mut renamed);
        left.quarantined.extend(renamed);
    }
    // Each writable root may list this many, so the sum is cut again.
    left.created.truncate(NAMED_MAX);
    left
}

/// Updates the new path of a repository that was renamed and then moved with an outer one.
fn follow_outer_renames(renamed: &mut [QuarantinedRepository]) {
    for at in 0..renamed.len() {
        // Inner repositories were renamed first, so an outer one always comes later in the list.
        let (inner, outer) = renamed.split_at_mut(at + 1);
        let inner = &mut inner[at];
        for outer in outer {
            let Some((path, new)) = inner.renamed.as_ref().zip(outer.renamed.as_ref()) else {
                continue;
            };
            if let Ok(below) = path.strip_prefix(&outer.path) {
                inner.renamed = Some(new.join(below));
            }
        }
    }
}

/// Collects git repositories and autostart files that the run may have created.
struct LeftoverInspector<'p> {
    known: BTreeSet<&'p Path>,
    suspects: Vec<PathBuf>,
    created: Vec<PathBuf>,
}

impl ScanVisitor for LeftoverInspector<'_> {
    fn visit_entry(&mut self, folder: &ScannedFolder, name: &OsStr, kind: FileType) -> bool {
        if !may_be_protected(name.as_bytes()) {
            return kind.is_dir();
        }
        let path = folder.path.join(name);
        // A protected path was read-only during the run, so nothing in it is new.
        if self.known.contains(path.as_path()) {
            return false;
        }
        if name.eq_ignore_ascii_case(".git") {
            self.suspects.push(path);
            return kind.is_dir();
        }
        // Inside a `.git` folder these names have no special meaning.
        let is_git = folder.path.components().any(|step| is_git_step(step));
        let is_asked = matches!(protection_of(&path, None), Some(PathProtection::Asked(_)));
        if is_asked && !is_git && !folder.in_dependencies && self.created.len() < NAMED_MAX {
            self.created.push(path);
            return false;
        }
        kind.is_dir()
    }

    fn visit_bare_repository(&mut self, folder: &ScannedFolder) -> bool {
        let name = folder.path.file_name();
        let is_listed = name.is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        if !is_listed && !self.known.contains(folder.path.as_path()) {
            self.suspects.push(folder.path.clone());
        }
        // It can contain other repositories, such as those of submodules.
        true
    }
}

fn is_git_step(step: Component<'_>) -> bool {
    step.as_os_str().eq_ignore_ascii_case(".git")
}

/// A repository that would run a program.
struct SuspectRepository {
    /// The folder that contains it.
    parent: OwnedFd,
    path: PathBuf,
    name: OsString,
    reason: String,
}

impl SuspectRepository {
    fn check(root: &Path, path: PathBuf) -> Option<SuspectRepository> {
        let top = open_folder(root).ok()?;
        if path == root {
            // The workspace itself cannot be renamed; without `HEAD` git does not accept it as a
            // repository.
            let reason = inspect_repository(&top, Path::new(""), POINTERS_MAX)?;
            return Some(SuspectRepository {
                parent: top,
                path: path.join("HEAD"),
                name: "HEAD".into(),
                reason,
            });
        }
        let parent = path.parent()?.strip_prefix(root).ok()?.to_owned();
        let name = path.file_name()?.to_owned();
        let handle = open_below(&top, &parent).ok()?;
        let reason = find_program_to_run(&top, &parent, &handle, &name)?;
        Some(SuspectRepository {
            parent: handle,
            path,
            name,
            reason,
        })
    }

    fn quarantine(self) -> QuarantinedRepository {
        let renamed = rename_aside(&self.parent, &self.name);
        if let Some(new) = &renamed {
            rename_head(&self.parent, new);
        }
        QuarantinedRepository {
            renamed: renamed.map(|new| self.path.with_file_name(new)),
            path: self.path,
            reason: self.reason,
        }
    }
}

/// Returns what a repository would run; none for a harmless one.
fn find_program_to_run(
    top: &OwnedFd,
    parent: &Path,
    handle: &OwnedFd,
    name: &OsStr,
) -> Option<String> {
    let found = rustix::fs::statat(handle, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => {
            let below = parent.join(name);
            inspect_repository(top, &below, POINTERS_MAX)
        }
        FileType::RegularFile => {
            let Some(text) = read_file(handle, name, POINTER_BYTES_MAX) else {
                return Some("a .git file that is too long".to_owned());
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            let target = text.strip_prefix("gitdir:").map(str::trim)?;
            follow_pointer(top, parent, target, POINTERS_MAX)
        }
        // Git would follow the link, and nobody checks what it points to later.
        FileType::Symlink => Some("a link in the place of a repository".to_owned()),
        _ => None,
    }
}

/// Returns what the repository behind a pointer would run. A pointer out of the workspace is always
/// suspicious, because no run needs one.
fn follow_pointer(top: &OwnedFd, parent: &Path, target: &str, left: usize) -> Option<String> {
    let outside = || Some("a pointer to a repository elsewhere".to_owned());
    // A longer chain may be a loop, and no honest repository needs one.
    let Some(left) = left.checked_sub(1) else {
        return outside();
    };
    let Some(below) = below_root(top, parent, Path::new(target)) else {
        return outside();
    };
    match open_below(top, &below) {
        Ok(_) => inspect_repository(top, &below, left),
        // Git cannot open it now.
        Err(Errno::NOENT) => None,
        Err(_) => outside(),
    }
}

/// Resolves a pointer's target lexically to a path below the root.
fn below_root(top: &OwnedFd, parent: &Path, target: &Path) -> Option<PathBuf> {
    let mut below = PathBuf::new();
    let relative = if target.is_absolute() {
        let root = std::fs::read_link(proc_path(top)).ok()?;
        target.strip_prefix(root).ok()?
    } else {
        below.push(parent);
        target
    };
    for step in relative.components() {
        match step {
            Component::Normal(name) => below.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !below.pop() {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some(below)
}

fn inspect_repository(top: &OwnedFd, below: &Path, left: usize) -> Option<String> {
    let unreadable = || Some("a repository that cannot be read".to_owned());
    let Ok(folder) = open_below(top, below) else {
        return unreadable();
    };
    // `config.worktree` counts as well: git reads it in addition to `config`.
    for name in ["config", "config.worktree"] {
        match rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            Err(_) => return unreadable(),
            Ok(_) => {}
        }
        let Some(config) = read_file(&folder, OsStr::new(name), CONFIG_BYTES_MAX) else {
            return Some(format!("a '{name}' that is no plain file or too long"));
        };
        if let Some(setting) = find_program_setting(&config) {
            return Some(setting);
        }
    }
    if let Some(hook) = find_hook(&folder) {
        return Some(hook);
    }
    match read_file(&folder, OsStr::new("commondir"), POINTER_BYTES_MAX) {
        Some(common) => {
            let common = String::from_utf8_lossy(&common).into_owned();
            follow_pointer(top, below, common.trim(), left)
        }
        None => None,
    }
}

/// Returns a hook that git would run: an executable file or a link, but no sample.
fn find_hook(folder: &OwnedFd) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let hooks = match rustix::fs::openat(folder, "hooks", flags, Mode::empty()) {
        Ok(hooks) => hooks,
        Err(Errno::NOENT) => return None,
        Err(_) => return Some("a folder of hooks that cannot be read".to_owned()),
    };
    let unreadable = || Some("a folder of hooks that cannot be read".to_owned());
    let Ok(entries) = Dir::read_from(&hooks) else {
        return unreadable();
    };
    for entry in entries {
        let Ok(entry) = entry else {
            return unreadable();
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." || name.ends_with(b".sample") {
            continue;
        }
        let found = rustix::fs::statat(
            &hooks,
            entry.file_name(),
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        );
        let runs = found.is_ok_and(|found| {
            let kind = FileType::from_raw_mode(found.st_mode);
            // The target of a link may become executable later, so every link counts.
            kind.is_symlink() || kind.is_file() && found.st_mode & 0o111 != 0
        });
        if runs {
            let name = String::from_utf8_lossy(name).into_owned();
            return Some(format!("the hook {name}"));
        }
    }
    None
}

/// Reads a regular file; none if it is something else or longer than `bytes_max`.
fn read_file(folder: &OwnedFd, name: &OsStr, bytes_max: u64) -> Option<Vec<u8>> {
    // Non-blocking, because the run may have put a FIFO here, whose opening would wait for ever.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = rustix::fs::openat2(folder, name, flags, Mode::empty(), within).ok()?;
    let file = File::from(opened);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    // One byte more than the bound tells a file of exactly that length from a longer one.
    let read = file.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= bytes_max).then_some(bytes)
}

fn rename_aside(parent: &OwnedFd, name: &OsStr) -> Option<OsString> {
    for number in 1..=SUFFIXES_MAX {
        let mut new = name.as_bytes().to_vec();
        new.extend(QUARANTINED.as_bytes());
        if number > 1 {
            new.extend(format!("-{number}").as_bytes());
        }
        let new = OsString::from_vec(new);
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(parent, name, parent, &new, flags) {
            Ok(()) => return Some(new),
            // A repository of an earlier run has this name; the next number is tried.
            Err(Errno::EXIST) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Renames `HEAD` in a renamed repository. Without it git does not accept the folder as a
/// repository under any name, and the next inspection does not find it again. A `.git` file or link
/// has none.
fn rename_head(parent: &OwnedFd, repository: &OsStr) {
    let Ok(folder) = open_below(parent, Path::new(repository)) else {
        return;
    };
    let Ok(entries) = std::fs::read_dir(proc_path(&folder)) else {
        return;
    };
    // A file system that ignores case lets git find `head` as well.
    for entry in entries.flatten() {
        if entry.file_name().eq_ignore_ascii_case("HEAD") {
            rename_aside(&folder, &entry.file_name());
        }
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::empty())
}

fn proc_path(handle: &OwnedFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()))
}

#[cfg(test)]
#[path = "after_run_tests.rs"]
mod tests;
