//! The names of the files below a folder, for completion. Bounded, and without what people rarely
//! name: hidden files and folders of builds.

use std::collections::VecDeque;
use std::path::Path;

/// The most names.
const FILES_MAX: usize = 20_000;
/// The most folders that are read.
const FOLDERS_MAX: usize = 5_000;
/// Folders whose files nobody names.
const SKIPPED: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];

/// The files below a folder, by their path in it; those near the top first. Links to folders are not
/// followed.
pub(super) fn list(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = VecDeque::from([folder.to_owned()]);
    let mut folders_read = 0;
    while let Some(current) = folders.pop_front() {
        folders_read += 1;
        let Ok(entries) = std::fs::read_dir(&current) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                continue;
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && !SKIPPED.contains(&name) && folders_read < FOLDERS_MAX {
                folders.push_back(entry.path());
            } else if !kind.is_dir()
                && let Ok(path) = entry.path().strip_prefix(folder)
                && let Some(path) = path.to_str()
            {
                files.push(path.to_owned());
            }
            if files.len() >= FILES_MAX {
                return files;
            }
        }
    }
    files.sort_by_key(|path| path.matches('/').count());
    files
}

#[cfg(test)]
#[path = "workspace_files_tests.rs"]
mod tests;
