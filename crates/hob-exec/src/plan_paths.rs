//! Resolves and checks the paths of a plan before anything is started.
//!
//! Invariant: every path that reaches the shim is absolute and free of symbolic links as far as it
//! exists. A rule therefore never applies to another place than the one it names.

use crate::error::ExecError;
use crate::file_aliases;
use crate::spawn_plan::{SandboxMode, SandboxPolicy, SpawnPlan};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The kernel's own limit of followed links.
const LINKS_MAX: usize = 40;

/// Resolves the plan's working folder and its policy.
pub(crate) fn resolve_plan(plan: &mut SpawnPlan) -> Result<(), ExecError> {
    let cwd = |reason: &str| ExecError::Cwd {
        path: plan.cwd.clone(),
        reason: reason.to_owned(),
    };
    let found = std::fs::canonicalize(&plan.cwd).map_err(|error| cwd(&error.to_string()))?;
    if !found.is_dir() {
        return Err(cwd("it is not a folder"));
    }
    if let SandboxMode::Policy(policy) = &mut plan.sandbox {
        resolve_policy(policy)?;
        let within = |trees: &[PathBuf]| trees.iter().any(|tree| found.starts_with(tree));
        if within(&policy.hidden) || !(within(&policy.read) || within(&policy.write)) {
            return Err(cwd("the sandbox does not show it"));
        }
    }
    plan.cwd = found;
    Ok(())
}

fn resolve_policy(policy: &mut SandboxPolicy) -> Result<(), ExecError> {
    for tree in policy.read.iter_mut().chain(&mut policy.write) {
        *tree = std::fs::canonicalize(&tree)
            .map_err(|error| ExecError::Policy(format!("'{}': {error}.", tree.display())))?;
    }
    for path in &mut policy.hidden {
        refuse_links(&policy.write, path, "hidden")?;
        *path = resolve_existing(path)?;
    }
    for path in &mut policy.protected {
        refuse_links(&policy.write, path, "protected")?;
        *path = resolve_protected(path)?;
    }
    // After the paths are canonical, because aliases are found by their place in the mount table.
    file_aliases::cover_aliases(policy)?;
    keep_outermost(&mut policy.hidden);
    for file in &mut policy.bound_files {
        file.path = resolve_existing(&file.path)?;
    }
    let refuse = |what: &str, path: &Path| {
        let path = path.display();
        Err(ExecError::Policy(format!("'{path}' {what}.")))
    };
    for root in &policy.write {
        if !root.is_dir() && !root.is_file() {
            return refuse("is to be writable and is neither a folder nor a file", root);
        }
        if policy.hidden.iter().any(|hidden| root.starts_with(hidden)) {
            return refuse("is to be writable and hidden at once", root);
        }
        if root == Path::new("/") {
            return refuse("cannot be writable as a whole", root);
        }
    }
    Ok(())
}

/// Removes paths inside other paths. A hidden folder hides everything in it, and a mount inside the
/// empty folder that covers it would fail.
fn keep_outermost(paths: &mut Vec<PathBuf>) {
    paths.sort();
    paths.dedup_by(|inner, outer| inner.starts_with(outer));
}

/// Refuses a hidden or protected path that leads through a symbolic link in a writable root.
/// Nothing can be mounted on a link, so a command could point it elsewhere, and the next command
/// would get rules for that other place.
fn refuse_links(roots: &[PathBuf], path: &Path, what: &str) -> Result<(), ExecError> {
    match find_link(roots, path) {
        Some(link) => Err(ExecError::Policy(format!(
            "'{}' is {what} and leads through the symbolic link '{}', which a command could \
             replace. Make the link a plain folder, or use another workspace.",
            path.display(),
            link.display()
        ))),
        None => Ok(()),
    }
}

/// The first symbolic link on the way to a path, its own last name included, that lies in a
/// writable root. Links that lead to links are followed one by one.
fn find_link(roots: &[PathBuf], path: &Path) -> Option<PathBuf> {
    let mut place = PathBuf::from("/");
    let mut steps: VecDeque<OsString> = path.iter().map(OsString::from).collect();
    let mut followed = 0;
    while let Some(step) = steps.pop_front() {
        if step == ".." {
            place.pop();
            continue;
        }
        // Joining a step `/` starts again at the root; a step `.` stays where it is.
        let next = if step == "." {
            place.clone()
        } else {
            place.join(&step)
        };
        let Ok(target) = std::fs::read_link(&next) else {
            place = next;
            continue;
        };
        followed += 1;
        // A chain that is too long is returned like a link in a root, which refuses the path.
        if followed > LINKS_MAX || roots.iter().any(|root| place.starts_with(root)) {
            return Some(next);
        }
        for part in target.iter().rev() {
            steps.push_front(part.to_owned());
        }
    }
    None
}

/// Resolves the folder of a protected path and keeps its last name, because that entry must not be
/// replaced. A symbolic link is refused: nothing can be mounted on it, so it could be replaced.
fn resolve_protected(path: &Path) -> Result<PathBuf, ExecError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ExecError::Policy(format!(
            "'{}' cannot be protected.",
            path.display()
        )));
    };
    let path = resolve_existing(parent)?.join(name);
    if std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
        return Err(ExecError::Policy(format!(
            "'{}' is protected and is a symbolic link, which a program could replace. Make the \
             folder above it not writable, or the link a plain file.",
            path.display()
        )));
    }
    Ok(path)
}

/// Resolves the existing part of a path.
fn resolve_existing(path: &Path) -> Result<PathBuf, ExecError> {
    for known in path.ancestors() {
        if let Ok(found) = std::fs::canonicalize(known) {
            let rest = path.strip_prefix(known).unwrap_or(Path::new(""));
            let plain = rest
                .components()
                .all(|part| matches!(part, std::path::Component::Normal(_)));
            if plain && found.is_absolute() {
                // Joining an empty rest would add a slash.
                return Ok(if rest.as_os_str().is_empty() {
                    found
                } else {
                    found.join(rest)
                });
            }
        }
    }
    Err(ExecError::Policy(format!(
        "'{}' is not an absolute path.",
        path.display()
    )))
}

#[cfg(test)]
#[path = "plan_paths_tests.rs"]
mod tests;
