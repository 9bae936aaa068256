//! The one sandbox policy of everything hob runs for a model: the system is read-only, the
//! workspace may be changed, what runs by itself later stays as it is in it, hob's own is unseen,
//! and there is no network unless the call was approved with it.
//!
//! Invariant: what `protected` names, and is there, is protected wherever it lies in the workspace;
//! a workspace in which that cannot be found out is refused.

use crate::protected;
use crate::spot::Refused;
use hob_exec::Policy;
use std::path::{Path, PathBuf};

/// Folders looked through for what is protected.
const FOLDERS_MAX: usize = 200_000;
/// Protected places in one workspace: each is a mount of its own.
const PROTECTED_MAX: usize = 512;
/// Where hob lives when nobody says otherwise, below a person's home: hidden also from a daemon
/// that lives elsewhere.
const USUAL_HOMES: [&str; 3] = [".config/hob", ".local/share/hob", ".local/state/hob"];

/// The policy for a workspace, without what is protected deeper in it. No path may leave it.
pub(super) fn policy(
    root: &Path,
    person_home: Option<&Path>,
    hidden: &[PathBuf],
) -> Result<Policy, Refused> {
    if let Some(why) = protected::why(root) {
        return Err(Refused(format!(
            "The workspace '{}' is protected: {why}. No command may change it; work in another folder.",
            root.display()
        )));
    }
    let roots = [root.to_owned()];
    let hidden = unseen(person_home, hidden);
    Ok(Policy::workspace(&roots, person_home, hidden))
}

/// The policy where there is no workspace: nothing may be changed.
pub(super) fn looking_only(person_home: Option<&Path>, hidden: &[PathBuf]) -> Policy {
    Policy::workspace(&[], person_home, unseen(person_home, hidden))
}

/// What is hob's own, whichever home this daemon has.
fn unseen(person_home: Option<&Path>, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut hidden = hidden.to_vec();
    if let Some(home) = person_home {
        hidden.extend(USUAL_HOMES.iter().map(|name| home.join(name)));
    }
    hidden.sort();
    hidden.dedup();
    hidden
}

/// Every place below a workspace that is there and protected. Blocks.
pub(super) fn protected_below(root: &Path) -> Result<Vec<PathBuf>, Refused> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    let mut seen = 0_usize;
    while let Some(folder) = open.pop() {
        seen += 1;
        if seen > FOLDERS_MAX || found.len() > PROTECTED_MAX {
            return Err(Refused(format!(
                "The workspace '{}' is too large to be kept safe: more than {FOLDERS_MAX} folders or {PROTECTED_MAX} protected places. Work in a folder inside it.",
                root.display()
            )));
        }
        // What cannot be read cannot be walked by a command, either.
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            if protected::may_be(&entry.file_name()) && protected::why(&entry.path()).is_some() {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "walls_tests.rs"]
mod tests;
