//! Paths of a plan as the file system really has them, checked before anything is started.
//!
//! Invariant: every path that reaches the shim is absolute and free of symbolic links as far as it
//! exists, so that no rule is written for one place and holds for another.

use crate::error::ExecError;
use crate::identity;
use crate::plan::{Plan, Policy, Walls};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// Resolves the plan's folder and its policy.
pub(crate) fn settle(plan: &mut Plan) -> Result<(), ExecError> {
    let cwd = |reason: &str| ExecError::Cwd {
        path: plan.cwd.clone(),
        reason: reason.to_owned(),
    };
    let found = std::fs::canonicalize(&plan.cwd).map_err(|error| cwd(&error.to_string()))?;
    if !found.is_dir() {
        return Err(cwd("it is not a folder"));
    }
    if let Walls::Policy(policy) = &mut plan.walls {
        settle_policy(policy)?;
        let within = |trees: &[PathBuf]| trees.iter().any(|tree| found.starts_with(tree));
        if within(&policy.hidden) || !(within(&policy.read) || within(&policy.write)) {
            return Err(cwd("the sandbox does not show it"));
        }
    }
    plan.cwd = found;
    Ok(())
}

fn settle_policy(policy: &mut Policy) -> Result<(), ExecError> {
    for tree in policy.read.iter_mut().chain(&mut policy.write) {
        *tree = std::fs::canonicalize(&tree)
            .map_err(|error| ExecError::Policy(format!("'{}': {error}.", tree.display())))?;
    }
    for path in &mut policy.hidden {
        refuse_links(&policy.write, path, "hidden")?;
        *path = resolve(path)?;
    }
    for path in &mut policy.protected {
        refuse_links(&policy.write, path, "protected")?;
        *path = settle_protected(path)?;
    }
    identity::settle(policy)?;
    keep_outermost(&mut policy.hidden);
    for file in &mut policy.bound_files {
        file.path = resolve(&file.path)?;
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

/// What lies in a hidden folder is hidden with it; a cover inside a cover could not even be made.
fn keep_outermost(paths: &mut Vec<PathBuf>) {
    paths.sort();
    paths.dedup_by(|inner, outer| inner.starts_with(outer));
}

/// No symbolic link in a writable root may lie on the way to a hidden or protected path: nothing
/// can be mounted on a link, so a command could point it elsewhere, and the next command would be
/// given rules for that other place.
fn refuse_links(roots: &[PathBuf], path: &Path, what: &str) -> Result<(), ExecError> {
    match link_in(roots, path) {
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
fn link_in(roots: &[PathBuf], path: &Path) -> Option<PathBuf> {
    let mut place = PathBuf::from("/");
    let mut steps: VecDeque<OsString> = path.iter().map(OsString::from).collect();
    let mut followed = 0;
    while let Some(step) = steps.pop_front() {
        if step == ".." {
            place.pop();
            continue;
        }
        // A step `/` starts again at the top; `.` stays.
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
        if followed > LINKS_MAX || roots.iter().any(|root| place.starts_with(root)) {
            return Some(next);
        }
        for part in target.iter().rev() {
            steps.push_front(part.to_owned());
        }
    }
    None
}

/// A protected path keeps its own name: what must not be replaced is that entry. As a symbolic
/// link it could be, because nothing can be mounted on one.
fn settle_protected(path: &Path) -> Result<PathBuf, ExecError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ExecError::Policy(format!(
            "'{}' cannot be protected.",
            path.display()
        )));
    };
    let path = resolve(parent)?.join(name);
    if std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
        return Err(ExecError::Policy(format!(
            "'{}' is protected and is a symbolic link, which a program could replace. Make the \
             folder above it not writable, or the link a plain file.",
            path.display()
        )));
    }
    Ok(path)
}

/// Resolves as much of a path as exists.
fn resolve(path: &Path) -> Result<PathBuf, ExecError> {
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
#[path = "paths_tests.rs"]
mod tests;
