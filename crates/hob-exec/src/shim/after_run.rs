//! What a run left behind in its workspace: git repositories that would run a program are renamed,
//! so that the person's next `git` does not run it; new files that start something are named.
//!
//! Invariants: looked at when no process of the run lives; what was protected before the run is
//! left alone; a rename is by handle, follows no link and replaces nothing.

use crate::git_config::names_program;
use crate::plan::Policy;
use crate::protected_paths::{Protection, may_be_protected, protection_of};
use crate::workspace_scan::{Folder, Visitor, open_below, walk};
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

/// Bytes of a configuration that is read; a longer one counts as one that runs a program.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of a `.git` file or a `commondir` file.
const POINTER_BYTES_MAX: u64 = 8 * 1024;
/// Repositories that one leads to by pointers.
const POINTERS_MAX: usize = 4;
/// Places that are named of one run.
const NAMED_MAX: usize = 32;
/// Names tried for what is renamed.
const SUFFIXES_MAX: usize = 1_000;
/// What is appended to the name of a repository that would run a program.
const QUARANTINED: &str = ".quarantined";

/// What a run left behind that a person should know of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    pub quarantined: Vec<Quarantined>,
    /// New files that an editor, a shell or a build server may run.
    pub created: Vec<PathBuf>,
    /// Whether folders were left out, because there were too many or they were closed.
    pub is_incomplete: bool,
}

/// A git repository that would have run a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    pub path: PathBuf,
    /// Its new path; none if it could not be renamed.
    pub renamed: Option<PathBuf>,
    /// What would have run, such as `core.fsmonitor`.
    pub reason: String,
}

/// Looks through everything that a run could write to.
pub(super) fn inspect(policy: &Policy) -> LeftBehind {
    let mut left = LeftBehind::default();
    for root in &policy.write {
        let mut inspector = Inspector {
            known: policy.protected.iter().map(PathBuf::as_path).collect(),
            suspects: Vec::new(),
            created: Vec::new(),
        };
        left.is_incomplete |= walk(root, &mut inspector).is_incomplete;
        let Inspector {
            suspects, created, ..
        } = inspector;
        left.created.extend(created);
        // One may lead to another, so all are looked at before any is renamed; what is inside
        // another is renamed first.
        let found = suspects
            .into_iter()
            .filter_map(|path| Suspect::check(root, path));
        let found: Vec<Suspect> = found.collect();
        let mut renamed: Vec<Quarantined> = found.into_iter().rev().map(Suspect::rename).collect();
        follow_outer_renames(&mut renamed);
        left.quarantined.extend(renamed);
    }
    left.created.truncate(NAMED_MAX);
    left
}

/// What lies inside another was renamed first and moved with it: its new path says so.
fn follow_outer_renames(renamed: &mut [Quarantined]) {
    for at in 0..renamed.len() {
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

/// The walk: what the run can have made of git repositories and of files that start something.
struct Inspector<'p> {
    known: BTreeSet<&'p Path>,
    suspects: Vec<PathBuf>,
    created: Vec<PathBuf>,
}

impl Visitor for Inspector<'_> {
    fn entry(&mut self, folder: &Folder, name: &OsStr, kind: FileType) -> bool {
        if !may_be_protected(name.as_bytes()) {
            return kind.is_dir();
        }
        let path = folder.path.join(name);
        if self.known.contains(path.as_path()) {
            return false;
        }
        if name.eq_ignore_ascii_case(".git") {
            self.suspects.push(path);
            return kind.is_dir();
        }
        // In a repository's own folder names mean something else.
        let is_git = folder.path.components().any(|step| is_git(step));
        let is_asked = matches!(protection_of(&path, None), Some(Protection::Asked(_)));
        if is_asked && !is_git && !folder.in_dependencies && self.created.len() < NAMED_MAX {
            self.created.push(path);
            return false;
        }
        kind.is_dir()
    }

    fn bare_repository(&mut self, folder: &Folder) -> bool {
        let name = folder.path.file_name();
        let is_listed = name.is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        if !is_listed && !self.known.contains(folder.path.as_path()) {
            self.suspects.push(folder.path.clone());
        }
        // Below it there can be others, such as those of submodules.
        true
    }
}

fn is_git(step: Component<'_>) -> bool {
    step.as_os_str().eq_ignore_ascii_case(".git")
}

/// A repository that would run a program.
struct Suspect {
    /// The folder its name is in.
    parent: OwnedFd,
    path: PathBuf,
    name: OsString,
    reason: String,
}

impl Suspect {
    fn check(root: &Path, path: PathBuf) -> Option<Suspect> {
        let top = open_folder(root).ok()?;
        if path == root {
            // The workspace itself keeps its name; without `HEAD` git takes it for no repository.
            let reason = repository(&top, Path::new(""), POINTERS_MAX)?;
            return Some(Suspect {
                parent: top,
                path: path.join("HEAD"),
                name: "HEAD".into(),
                reason,
            });
        }
        let parent = path.parent()?.strip_prefix(root).ok()?.to_owned();
        let name = path.file_name()?.to_owned();
        let handle = open_below(&top, &parent).ok()?;
        let reason = would_run(&top, &parent, &handle, &name)?;
        Some(Suspect {
            parent: handle,
            path,
            name,
            reason,
        })
    }

    fn rename(self) -> Quarantined {
        let renamed = rename(&self.parent, &self.name);
        if let Some(new) = &renamed {
            take_head(&self.parent, new);
        }
        Quarantined {
            renamed: renamed.map(|new| self.path.with_file_name(new)),
            path: self.path,
            reason: self.reason,
        }
    }
}

/// What a repository would run; none for an ordinary one.
fn would_run(top: &OwnedFd, parent: &Path, handle: &OwnedFd, name: &OsStr) -> Option<String> {
    let found = rustix::fs::statat(handle, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => {
            let below = parent.join(name);
            repository(top, &below, POINTERS_MAX)
        }
        FileType::RegularFile => {
            let Some(text) = read_file(handle, name, POINTER_BYTES_MAX) else {
                return Some("a .git file that is too long".to_owned());
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            let target = text.strip_prefix("gitdir:").map(str::trim)?;
            follow(top, parent, target, POINTERS_MAX)
        }
        FileType::Symlink => Some("a link in the place of a repository".to_owned()),
        _ => None,
    }
}

/// What the repository that a pointer names would run. One outside the workspace is none that
/// the run can have needed.
fn follow(top: &OwnedFd, parent: &Path, target: &str, left: usize) -> Option<String> {
    let outside = || Some("a pointer to a repository elsewhere".to_owned());
    let Some(left) = left.checked_sub(1) else {
        return outside();
    };
    let Some(below) = below_root(top, parent, Path::new(target)) else {
        return outside();
    };
    match open_below(top, &below) {
        Ok(_) => repository(top, &below, left),
        // Nothing is there that git could open now.
        Err(Errno::NOENT) => None,
        Err(_) => outside(),
    }
}

/// The path of a pointer's target below the root, by its words.
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

fn repository(top: &OwnedFd, below: &Path, left: usize) -> Option<String> {
    let unreadable = || Some("a repository that cannot be read".to_owned());
    let Ok(folder) = open_below(top, below) else {
        return unreadable();
    };
    for name in ["config", "config.worktree"] {
        match rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            Err(_) => return unreadable(),
            Ok(_) => {}
        }
        let Some(config) = read_file(&folder, OsStr::new(name), CONFIG_BYTES_MAX) else {
            return Some(format!("a '{name}' that is no plain file or too long"));
        };
        if let Some(setting) = names_program(&config) {
            return Some(setting);
        }
    }
    if let Some(hook) = hook(&folder) {
        return Some(hook);
    }
    match read_file(&folder, OsStr::new("commondir"), POINTER_BYTES_MAX) {
        Some(common) => {
            let common = String::from_utf8_lossy(&common).into_owned();
            follow(top, below, common.trim(), left)
        }
        None => None,
    }
}

/// A hook that git would run: one that may be executed and is no sample.
fn hook(folder: &OwnedFd) -> Option<String> {
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
            kind.is_symlink() || kind.is_file() && found.st_mode & 0o111 != 0
        });
        if runs {
            let name = String::from_utf8_lossy(name).into_owned();
            return Some(format!("the hook {name}"));
        }
    }
    None
}

/// A plain file's bytes; none if it is something else or longer than `bytes_max`.
fn read_file(folder: &OwnedFd, name: &OsStr, bytes_max: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = rustix::fs::openat2(folder, name, flags, Mode::empty(), within).ok()?;
    let file = File::from(opened);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let read = file.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= bytes_max).then_some(bytes)
}

fn rename(parent: &OwnedFd, name: &OsStr) -> Option<OsString> {
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
            Err(Errno::EXIST) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Renames `HEAD` in a renamed repository. Without it git takes the folder for no repository, under
/// whatever name, and the next look finds none either. A `.git` that is a file or a link has none.
fn take_head(parent: &OwnedFd, repository: &OsStr) {
    let Ok(folder) = open_below(parent, Path::new(repository)) else {
        return;
    };
    let Ok(entries) = std::fs::read_dir(proc_path(&folder)) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().eq_ignore_ascii_case("HEAD") {
            rename(&folder, &entry.file_name());
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
