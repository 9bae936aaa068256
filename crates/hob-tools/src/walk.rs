//! Walks the workspace by directory handle, in order of names. Entries that `.gitignore` and
//! `.ignore` exclude are left out, and links are not followed.
//!
//! Invariants: nothing outside the workspace or inside hob's own folders is opened, even during
//! concurrent renames; the walk ends at its bounds and when its stop flag is set.

use crate::ToolEnv;
use crate::atomic_write::open_folder;
use crate::folder_tree::folder_entries;
use crate::workspace_dir::{self, WorkspaceOpenError};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, statat};
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Entries visited in one walk.
const ENTRIES_MAX: usize = 500_000;
/// Levels of nested folders.
const DEPTH_MAX: usize = 128;
/// Bytes of one ignore file.
const IGNORE_BYTES_MAX: u64 = 256 * 1024;
/// Ignore files, git's first.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The folder that is always skipped: git's own files are many and useless to a model.
const SKIPPED: &str = ".git";

/// Tells a walk to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets the flag when dropped.
pub(crate) struct StopOnDrop(pub(crate) StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// An entry that the walk visits.
#[derive(Debug)]
pub(crate) struct WalkEntry<'w> {
    /// Relative to the workspace.
    pub(crate) path: &'w str,
    pub(crate) kind: FileType,
    folder: &'w OwnedFd,
    name: &'w str,
}

impl WalkEntry<'_> {
    /// Opens the entry for reading, if it is still a file.
    pub(crate) fn open(&self) -> Option<File> {
        open_file(self.folder, self.name)
    }
}

/// The start and the limits of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkOptions<'w> {
    pub(crate) workspace: Option<&'w str>,
    /// The first folder; the workspace when missing.
    pub(crate) from: Option<&'w str>,
    pub(crate) env: &'w ToolEnv,
    pub(crate) stop: &'w StopFlag,
}

/// The reason why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    Complete,
    /// The visitor broke off.
    Enough,
    /// The walk reached `ENTRIES_MAX`.
    TooMuch,
    Stopped,
}

/// Calls `visit` for every entry below `options.from`.
pub(crate) fn walk(
    options: WalkOptions<'_>,
    visit: &mut dyn FnMut(&WalkEntry<'_>) -> ControlFlow<()>,
) -> Result<WalkEnd, WorkspaceOpenError> {
    let (root, workspace) = workspace_dir::open_workspace(options.workspace)?;
    let from = options.from.unwrap_or(".");
    workspace_dir::check_path(from)?;
    let outside = || WorkspaceOpenError::Outside(workspace_dir::shorten(from));
    let below = workspace_dir::relative_path(workspace, from).ok_or_else(outside)?;
    let to_refusal = |error| workspace_dir::open_error(from, error);
    let start = workspace_dir::open_folder(&root, &below).map_err(to_refusal)?;
    let real = |handle: &OwnedFd| {
        let failed =
            |error: std::io::Error| WorkspaceOpenError::Failed(from.to_owned(), error.to_string());
        workspace_dir::real_path(handle).map_err(failed)
    };
    let (root_real, start_real) = (real(&root)?, real(&start)?);
    if options
        .env
        .hidden()
        .iter()
        .any(|hidden| start_real.starts_with(hidden))
    {
        return Err(WorkspaceOpenError::Hidden(workspace_dir::shorten(from)));
    }
    let inside = start_real.strip_prefix(&root_real).map_err(|_| outside())?;
    let mut walker = WorkspaceWalker {
        options,
        root_real: root_real.clone(),
        ignores: Vec::new(),
        seen: 0,
        visit,
    };
    // The ignore files of the folders above apply here, too.
    let mut above = PathBuf::new();
    for step in inside {
        if let Ok(folder) = workspace_dir::open_folder(&root, &shown_or_dot(&above)) {
            walker.push_ignores(&folder, &above);
        }
        above.push(step);
    }
    let Some(inside) = inside.to_str() else {
        return Err(WorkspaceOpenError::NotAPath(workspace_dir::shorten(from)));
    };
    match walker.walk_folder(&start, inside, 0) {
        ControlFlow::Continue(()) => Ok(WalkEnd::Complete),
        ControlFlow::Break(end) => Ok(end),
    }
}

/// An entry of a folder.
#[derive(Clone, Copy)]
struct FolderEntry<'w> {
    folder: &'w OwnedFd,
    name: &'w str,
    kind: FileType,
}

struct WorkspaceWalker<'w> {
    options: WalkOptions<'w>,
    root_real: PathBuf,
    ignores: Vec<Gitignore>,
    seen: usize,
    visit: &'w mut dyn FnMut(&WalkEntry<'_>) -> ControlFlow<()>,
}

impl WorkspaceWalker<'_> {
    fn walk_folder(&mut self, folder: &OwnedFd, path: &str, depth: usize) -> ControlFlow<WalkEnd> {
        if depth > DEPTH_MAX {
            return ControlFlow::Continue(());
        }
        // A folder that cannot be read is skipped: the rest of the walk is still useful.
        let Ok(entries) = folder_entries(folder) else {
            return ControlFlow::Continue(());
        };
        // The patterns of this folder are removed again when the walk leaves it.
        let known = self.ignores.len();
        let has_patterns = |(name, _): &(Option<String>, FileType)| {
            let name = name.as_deref();
            name.is_some_and(|name| IGNORE_FILES.contains(&name))
        };
        if entries.iter().any(has_patterns) {
            self.push_ignores(folder, Path::new(path));
        }
        for (name, kind) in entries {
            if let Some(name) = name {
                let kind = known_kind(folder, &name, kind);
                let name = name.as_str();
                self.visit_entry(FolderEntry { folder, name, kind }, path, depth)?;
            }
        }
        self.ignores.truncate(known);
        ControlFlow::Continue(())
    }

    fn visit_entry(
        &mut self,
        entry: FolderEntry<'_>,
        path: &str,
        depth: usize,
    ) -> ControlFlow<WalkEnd> {
        let FolderEntry { folder, name, kind } = entry;
        self.seen += 1;
        if self.seen > ENTRIES_MAX {
            return ControlFlow::Break(WalkEnd::TooMuch);
        }
        if self.options.stop.is_set() {
            return ControlFlow::Break(WalkEnd::Stopped);
        }
        let path = match path {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        };
        let is_folder = kind == FileType::Directory;
        if name == SKIPPED || self.is_ignored(&path, is_folder) || self.is_hidden(&path, is_folder)
        {
            return ControlFlow::Continue(());
        }
        let walk_entry = WalkEntry {
            path: &path,
            kind,
            folder,
            name,
        };
        if (self.visit)(&walk_entry).is_break() {
            return ControlFlow::Break(WalkEnd::Enough);
        }
        if is_folder && let Ok(within) = open_folder(folder, name) {
            return self.walk_folder(&within, &path, depth + 1);
        }
        ControlFlow::Continue(())
    }

    fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        // The innermost ignore file decides first, as in git.
        for patterns in self.ignores.iter().rev() {
            match patterns.matched(path, is_folder) {
                ignore::Match::Ignore(_) => return true,
                ignore::Match::Whitelist(_) => return false,
                ignore::Match::None => {}
            }
        }
        false
    }

    fn is_hidden(&self, path: &str, is_folder: bool) -> bool {
        let mut hidden = self.options.env.hidden().iter();
        is_folder && hidden.any(|hidden| self.root_real.join(path).starts_with(hidden))
    }

    fn push_ignores(&mut self, folder: &OwnedFd, path: &Path) {
        for name in IGNORE_FILES {
            let Some(file) = open_file(folder, name) else {
                continue;
            };
            let mut text = String::new();
            // An ignore file that is not UTF-8 excludes nothing.
            let read = file.take(IGNORE_BYTES_MAX).read_to_string(&mut text);
            if read.is_err() {
                continue;
            }
            let mut patterns = GitignoreBuilder::new(path);
            for line in text.lines() {
                // An invalid pattern excludes nothing.
                let _ = patterns.add_line(None, line);
            }
            self.ignores.extend(patterns.build());
        }
    }
}

/// The type of an entry: as the folder reports it, or by `statat` if the file system does not
/// report it. It decides only what is shown; opening checks the type again.
fn known_kind(folder: &OwnedFd, name: &str, reported: FileType) -> FileType {
    if reported != FileType::Unknown {
        return reported;
    }
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(FileType::Unknown, |found| {
        FileType::from_raw_mode(found.st_mode)
    })
}

/// Opens a regular file. NONBLOCK, so that a pipe without a writer does not block.
fn open_file(folder: &OwnedFd, name: &str) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(&opened).ok()?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    is_file.then(|| File::from(opened))
}

fn shown_or_dot(path: &Path) -> String {
    match path.to_str() {
        None | Some("") => ".".to_owned(),
        Some(path) => path.to_owned(),
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
