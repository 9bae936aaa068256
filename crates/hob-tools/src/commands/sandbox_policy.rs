//! The one sandbox policy of everything hob runs for a model: the system is read-only, the
//! workspace may be changed, what runs by itself later stays as it is in it, hob's own is unseen,
//! and there is no network unless the call was approved with it.
//!
//! Invariant: what [`hob_exec::protected_paths`] names, and is there, is protected wherever it lies
//! in the workspace; a workspace in which that cannot be found out is refused.

use crate::spot::Refused;
use hob_exec::Policy;
use hob_exec::home_view::{WRITABLE_MAX, home_view};
use hob_exec::protected_paths::{PersonHome, Protection, protection};
use hob_exec::workspace_scan::{PROTECTED_MAX, ScanError, protected_below};
use std::path::{Path, PathBuf};

/// Where hob lives when nobody says otherwise, below a person's home: hidden also from a daemon
/// that lives elsewhere.
const USUAL_HOMES: [&str; 3] = [".config/hob", ".local/share/hob", ".local/state/hob"];

/// The policy for a workspace, without what is protected deeper in it. No path may leave it.
pub(super) fn policy(
    root: &Path,
    person_home: Option<&PersonHome>,
    hidden: &[PathBuf],
) -> Result<Policy, Refused> {
    if let Some(Protection::Refused(why) | Protection::Asked(why)) = protection(root, person_home) {
        return Err(Refused(format!(
            "The workspace '{}' is protected: {why}. No command may change it; work in another folder.",
            root.display()
        )));
    }
    let view = person_home.and_then(|home| home_view(root, home));
    if view.is_some_and(|view| view.is_cut) {
        return Err(Refused(format!(
            "The workspace '{}' holds your home folder and has more than {WRITABLE_MAX} entries at its top. Work in a folder inside it.",
            root.display()
        )));
    }
    let roots = [root.to_owned()];
    let hidden = unseen(person_home, hidden);
    let home = person_home.map(PersonHome::path);
    Ok(Policy::workspace(&roots, home, hidden))
}

/// The policy where there is no workspace: nothing may be changed.
pub(super) fn looking_only(person_home: Option<&PersonHome>, hidden: &[PathBuf]) -> Policy {
    let home = person_home.map(PersonHome::path);
    Policy::workspace(&[], home, unseen(person_home, hidden))
}

/// What is hob's own, whichever home this daemon has.
fn unseen(person_home: Option<&PersonHome>, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut hidden = hidden.to_vec();
    if let Some(home) = person_home {
        hidden.extend(USUAL_HOMES.iter().map(|name| home.path().join(name)));
    }
    hidden.sort();
    hidden.dedup();
    hidden
}

/// Protects what exists below a workspace and starts by itself. Blocks.
pub(super) fn protect_below(
    policy: &mut Policy,
    root: &Path,
    person_home: Option<&PersonHome>,
) -> Result<(), Refused> {
    let refused = |error: ScanError| {
        Refused(format!(
            "The workspace '{}' cannot be kept safe: {error}. Work in a folder inside it.",
            root.display()
        ))
    };
    let folders = policy.write.iter().filter(|path| path.is_dir());
    for folder in folders.cloned().collect::<Vec<_>>() {
        match protected_below(&folder, person_home) {
            Ok(found) => policy.protected.extend(found),
            // One entry of a home folder that is a repository stays as it is.
            Err(ScanError::BareRepository) if folder != root => policy.protected.push(folder),
            Err(error) => return Err(refused(error)),
        }
        if policy.protected.len() > PROTECTED_MAX {
            return Err(refused(ScanError::Protected));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "walls_tests.rs"]
mod tests;
