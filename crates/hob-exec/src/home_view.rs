//! A workspace that is the person's home folder, or holds it: the home folder itself is read-only
//! for commands, and what is in it already stays writable, except for dot files and what
//! [`crate::protected_paths`] names. So nothing that starts by itself can be created.
//!
//! Invariant: only entries that exist, are no links and lie in the workspace become writable.

use crate::protected_paths::{PersonHome, is_fixed_in_home};
use std::path::{Path, PathBuf};

/// Entries that are made writable one by one: each is a mount of its own.
pub const WRITABLE_MAX: usize = 1_024;

/// What a person and a model are told about such a workspace.
pub const HOME_NOTE: &str =
    "New files at the top of your home folder are refused; work in a subfolder.";

/// What stays writable in a workspace that holds the home folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeView {
    pub writable: Vec<PathBuf>,
    /// Whether there were more than [`WRITABLE_MAX`]; the others are read-only.
    pub is_cut: bool,
}

/// The view of a workspace; none for one that does not hold the home folder. Blocks for the disk.
pub fn home_view(root: &Path, home: &PersonHome) -> Option<HomeView> {
    let home = home.inside(root)?;
    let mut view = HomeView {
        writable: Vec::new(),
        is_cut: false,
    };
    // On the way down to the home folder only what lies beside the way stays writable.
    let mut folder = root.to_owned();
    for step in home.strip_prefix(root).unwrap_or(Path::new("")) {
        view.add_entries(&folder, |name| name == step);
        folder.push(step);
    }
    view.add_entries(&home, is_fixed_in_home);
    view.writable.sort();
    Some(view)
}

impl HomeView {
    fn add_entries(&mut self, folder: &Path, is_left_out: impl Fn(&std::ffi::OsStr) -> bool) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_plain = entry
                .file_type()
                .is_ok_and(|kind| kind.is_dir() || kind.is_file());
            if !is_plain || is_left_out(&entry.file_name()) {
                continue;
            }
            if self.writable.len() == WRITABLE_MAX {
                self.is_cut = true;
                return;
            }
            self.writable.push(entry.path());
        }
    }
}

#[cfg(test)]
#[path = "home_view_tests.rs"]
mod tests;
