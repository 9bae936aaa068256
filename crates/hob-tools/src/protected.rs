//! What no tool may change, wherever the workspace is: what runs by itself later, outside every
//! sandbox and question.
//!
//! Invariant: a path is judged by where it really lies, every link resolved; letters are compared
//! without their case, because some file systems do.

use hob_kit::failpoint;
use std::ffi::OsStr;
use std::path::Path;

/// Names that are protected with everything below them, wherever they stand.
const NAMES: &[&str] = &[".git", ".ssh", ".gnupg"];

/// Files that a shell or a session reads when it starts.
const FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    ".envrc",
    ".pam_environment",
    ".xinitrc",
    ".xserverrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
];

/// Folders that are protected with everything below them, by their last steps.
const FOLDERS: &[&[&str]] = &[
    &[".config", "autostart"],
    &[".config", "fish"],
    &[".config", "environment.d"],
    &[".config", "systemd"],
    &[".config", "plasma-workspace"],
    &[".config", "hob"],
    &[".local", "share", "hob"],
    &[".local", "state", "hob"],
    &[".local", "share", "systemd"],
    &["library", "launchagents"],
];

/// Why `real` may not be changed, if it may not.
pub(crate) fn why(real: &Path) -> Option<&'static str> {
    if failpoint::broken(67) {
        return None;
    }
    let steps: Vec<String> = real
        .components()
        .map(|step| step.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    if steps.iter().any(|step| NAMES.contains(&step.as_str())) {
        return Some("it belongs to git or to the keys of this machine");
    }
    if steps
        .last()
        .is_some_and(|last| FILES.contains(&last.as_str()))
    {
        return Some("a shell or a session runs it at its start");
    }
    let within = |folder: &&[&str]| {
        let same = |window: &[String]| window.iter().zip(*folder).all(|(one, other)| one == other);
        steps.windows(folder.len()).any(same)
    };
    FOLDERS
        .iter()
        .any(within)
        .then_some("what lies there runs by itself or belongs to hob")
}

/// Whether something of this name can be protected at all; cheap, for walks over many names.
pub(crate) fn may_be(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let ends = |folder: &&[&str]| {
        let last = folder.last().map(|last| last.as_bytes());
        last.is_some_and(|last| name.eq_ignore_ascii_case(last))
    };
    name.starts_with(b".") || FOLDERS.iter().any(ends)
}

#[cfg(test)]
#[path = "protected_tests.rs"]
mod tests;
