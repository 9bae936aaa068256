//! A workspace that is or contains the user's home folder. The home folder itself is read-only for
//! commands; its existing entries stay writable, except for dot files and those of
//! [`crate::protected_paths`]. A command therefore cannot create a file that starts by itself.
//!
//! Invariant: only entries that exist, are no links and lie in the workspace become writable.

use crate::protected_paths::{PersonHome, is_read_only_in_home};
use std::path::{Path, PathBuf};

/// The maximum of writable entries. Each one costs a mount.
pub const WRITABLE_MAX: usize = 1_024;

/// The note about such a workspace, for the user and the model.
pub const HOME_NOTE: &str =
    "New files at the top of your home folder are refused; work in a subfolder.";

/// The writable entries of a workspace that contains the home folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeView {
    pub writable: Vec<PathBuf>,
    /// True if there were more than [`WRITABLE_MAX`]; the others are read-only.
    pub is_cut: bool,
}

/// Returns the view of a workspace; none if it does not contain the home folder. Blocks on the
/// disk.
pub fn home_view(root: &Path, home: &PersonHome) -> Option<HomeView> {
    let home = home.inside(root)?;
    let mut view = HomeView {
        writable: Vec::new(),
        is_cut: false,
    };
    // A writable ancestor would make the home folder writable as well, so on the way down only the
    // siblings stay writable.
    let mut folder = root.to_owned();
    for step in home.strip_prefix(root).unwrap_or(Path::new("")) {
        view.add_entries(&folder, |name| name == step);
        folder.push(step);
    }
    view.add_entries(&home, is_read_only_in_home);
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
