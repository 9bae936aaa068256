//! Paths of a plan as the file system really has them, checked before anything is started.
//!
//! Invariant: every path that reaches the shim is absolute and free of symbolic links as far as it
//! exists, so that no rule is written for one place and holds for another.

use crate::error::ExecError;
use crate::plan::{Plan, Policy, Walls};
use std::path::{Path, PathBuf};

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
        *path = resolve(path)?;
    }
    keep_outermost(&mut policy.hidden);
    for path in &mut policy.protected {
        *path = settle_protected(path)?;
    }
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
