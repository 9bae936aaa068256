//! Walking the workspace for tools that look: by directory handle, in order of names, without
//! what `.gitignore` and `.ignore` leave out, and without following a link.
//!
//! Invariants: nothing outside the workspace or inside hob's own folders is opened, whatever is
//! renamed meanwhile; the walk ends at its bounds and when it is told to stop.

use crate::Ground;
use crate::beneath::{self, NotOpened};
use crate::put::open_folder;
use crate::tree::entries;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, statat};
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Entries looked at in one walk.
const ENTRIES_MAX: usize = 500_000;
/// Folders within each other.
const DEPTH_MAX: usize = 128;
/// Bytes of one file of patterns.
const IGNORE_BYTES_MAX: u64 = 256 * 1024;
/// Files of patterns, those of git first.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// What is never looked into: git's own files say nothing to a model and are many.
const SKIPPED: &str = ".git";

/// Tells a walk to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells it when dropped.
pub(crate) struct StopAtEnd(pub(crate) Stop);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Something met on the way.
#[derive(Debug)]
pub(crate) struct Met<'w> {
    /// Below the workspace.
    pub(crate) path: &'w str,
    pub(crate) kind: FileType,
    folder: &'w OwnedFd,
    name: &'w str,
}

impl Met<'_> {
    /// Opens it for reading, if it is still a file.
    pub(crate) fn open(&self) -> Option<File> {
        open_file(self.folder, self.name)
    }
}

/// Where and how to walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'w> {
    pub(crate) workspace: Option<&'w str>,
    /// Where to begin; the workspace when missing.
    pub(crate) from: Option<&'w str>,
    pub(crate) ground: &'w Ground,
    pub(crate) stop: &'w Stop,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    /// Whoever was shown the entries had enough.
    Enough,
    /// There was too much to look at.
    TooMuch,
    Stopped,
}

/// Shows everything below `way.from` to `visit`.
pub(crate) fn walk(
    way: Way<'_>,
    visit: &mut dyn FnMut(&Met<'_>) -> ControlFlow<()>,
) -> Result<End, NotOpened> {
    let (root, workspace) = beneath::root(way.workspace)?;
    let from = way.from.unwrap_or(".");
    beneath::check_path(from)?;
    let outside = || NotOpened::Outside(beneath::shorten(from));
    let below = beneath::below(workspace, from).ok_or_else(outside)?;
    let told = |error| beneath::refused(from, error);
    let start = beneath::folder(&root, &below).map_err(told)?;
    let real = |handle: &OwnedFd| {
        let failed = |error: std::io::Error| NotOpened::Failed(from.to_owned(), error.to_string());
        beneath::real_path(handle).map_err(failed)
    };
    let (root_real, start_real) = (real(&root)?, real(&start)?);
    if way
        .ground
        .hidden()
        .iter()
        .any(|hidden| start_real.starts_with(hidden))
    {
        return Err(NotOpened::Hidden(beneath::shorten(from)));
    }
    let inside = start_real.strip_prefix(&root_real).map_err(|_| outside())?;
    let mut walker = Walker {
        way,
        root_real: root_real.clone(),
        ignores: Vec::new(),
        seen: 0,
        visit,
    };
    // What the folders above leave out counts here, too.
    let mut above = PathBuf::new();
    for step in inside {
        if let Ok(folder) = beneath::folder(&root, &shown_or_dot(&above)) {
            walker.push_ignores(&folder, &above);
        }
        above.push(step);
    }
    let Some(inside) = inside.to_str() else {
        return Err(NotOpened::NotAPath(beneath::shorten(from)));
    };
    match walker.enter(&start, inside, 0) {
        ControlFlow::Continue(()) => Ok(End::Whole),
        ControlFlow::Break(end) => Ok(end),
    }
}

/// An entry of a folder.
#[derive(Clone, Copy)]
struct Entry<'w> {
    folder: &'w OwnedFd,
    name: &'w str,
    kind: FileType,
}

struct Walker<'w> {
    way: Way<'w>,
    root_real: PathBuf,
    ignores: Vec<Gitignore>,
    seen: usize,
    visit: &'w mut dyn FnMut(&Met<'_>) -> ControlFlow<()>,
}

impl Walker<'_> {
    fn enter(&mut self, folder: &OwnedFd, path: &str, depth: usize) -> ControlFlow<End> {
        if depth > DEPTH_MAX {
            return ControlFlow::Continue(());
        }
        // A folder that cannot be read has nothing to show.
        let Ok(entries) = entries(folder) else {
            return ControlFlow::Continue(());
        };
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
                self.meet(Entry { folder, name, kind }, path, depth)?;
            }
        }
        self.ignores.truncate(known);
        ControlFlow::Continue(())
    }

    fn meet(&mut self, entry: Entry<'_>, path: &str, depth: usize) -> ControlFlow<End> {
        let Entry { folder, name, kind } = entry;
        self.seen += 1;
        if self.seen > ENTRIES_MAX {
            return ControlFlow::Break(End::TooMuch);
        }
        if self.way.stop.is_told() {
            return ControlFlow::Break(End::Stopped);
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
        let met = Met {
            path: &path,
            kind,
            folder,
            name,
        };
        if (self.visit)(&met).is_break() {
            return ControlFlow::Break(End::Enough);
        }
        if is_folder && let Ok(within) = open_folder(folder, name) {
            return self.enter(&within, &path, depth + 1);
        }
        ControlFlow::Continue(())
    }

    fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
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
        let mut hidden = self.way.ground.hidden().iter();
        is_folder && hidden.any(|hidden| self.root_real.join(path).starts_with(hidden))
    }

    fn push_ignores(&mut self, folder: &OwnedFd, path: &Path) {
        for name in IGNORE_FILES {
            let Some(file) = open_file(folder, name) else {
                continue;
            };
            let mut text = String::new();
            // Patterns that are not text leave nothing out.
            let read = file.take(IGNORE_BYTES_MAX).read_to_string(&mut text);
            if read.is_err() {
                continue;
            }
            let mut patterns = GitignoreBuilder::new(path);
            for line in text.lines() {
                // A line that is no pattern leaves nothing out.
                let _ = patterns.add_line(None, line);
            }
            self.ignores.extend(patterns.build());
        }
    }
}

/// What an entry is: as the folder says, or looked up where it does not. It only decides what is
/// shown; whatever is opened is looked at again.
fn known_kind(folder: &OwnedFd, name: &str, said: FileType) -> FileType {
    if said != FileType::Unknown {
        return said;
    }
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(FileType::Unknown, |found| {
        FileType::from_raw_mode(found.st_mode)
    })
}

/// Opens a file that is no link and no device; waits for nobody.
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
