//! The one sandbox policy of everything hob runs for a model: the system is read-only; the
//! workspace is writable, except for files that would run by themselves later; hob's own folders
//! are hidden; there is no network unless the call was approved with it.
//!
//! Invariant: existing paths that [`hob_exec::protected_paths`] names are protected everywhere in
//! the workspace; a workspace that cannot be scanned for them is refused.

use crate::workspace_path::ToolRefusal;
use hob_exec::SandboxPolicy;
use hob_exec::home_view::{WRITABLE_MAX, home_view};
use hob_exec::protected_paths::{PathProtection, PersonHome, protection};
use hob_exec::workspace_scan::{PROTECTED_MAX, ScanError, protected_below};
use std::path::{Path, PathBuf};

/// hob's default folders below a home: hidden even if this daemon uses other folders.
const USUAL_HOMES: [&str; 3] = [".config/hob", ".local/share/hob", ".local/state/hob"];

/// The policy for a workspace, without the protected paths deeper in it.
pub(super) fn workspace_policy(
    root: &Path,
    person_home: Option<&PersonHome>,
    hidden: &[PathBuf],
) -> Result<SandboxPolicy, ToolRefusal> {
    if let Some(PathProtection::Refused(why) | PathProtection::Asked(why)) =
        protection(root, person_home)
    {
        return Err(ToolRefusal(format!(
            "The workspace '{}' is protected: {why}. No command may change it; work in another folder.",
            root.display()
        )));
    }
    let view = person_home.and_then(|home| home_view(root, home));
    if view.is_some_and(|view| view.is_cut) {
        return Err(ToolRefusal(format!(
            "The workspace '{}' holds your home folder and has more than {WRITABLE_MAX} entries at its top. Work in a folder inside it.",
            root.display()
        )));
    }
    let roots = [root.to_owned()];
    let hidden = hidden_paths(person_home, hidden);
    let home = person_home.map(PersonHome::path);
    Ok(SandboxPolicy::workspace(&roots, home, hidden))
}

/// The policy without a workspace: nothing may be changed.
pub(super) fn read_only_policy(
    person_home: Option<&PersonHome>,
    hidden: &[PathBuf],
) -> SandboxPolicy {
    let home = person_home.map(PersonHome::path);
    SandboxPolicy::workspace(&[], home, hidden_paths(person_home, hidden))
}

/// hob's folders, both configured and default.
fn hidden_paths(person_home: Option<&PersonHome>, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut hidden = hidden.to_vec();
    if let Some(home) = person_home {
        hidden.extend(USUAL_HOMES.iter().map(|name| home.path().join(name)));
    }
    hidden.sort();
    hidden.dedup();
    hidden
}

/// Protects existing files below a workspace that would run by themselves. Blocks.
pub(super) fn protect_below(
    policy: &mut SandboxPolicy,
    root: &Path,
    person_home: Option<&PersonHome>,
) -> Result<(), ToolRefusal> {
    let refused = |error: ScanError| {
        ToolRefusal(format!(
            "The workspace '{}' cannot be kept safe: {error}. Work in a folder inside it.",
            root.display()
        ))
    };
    let folders = policy.write.iter().filter(|path| path.is_dir());
    for folder in folders.cloned().collect::<Vec<_>>() {
        match protected_below(&folder, person_home) {
            Ok(found) => policy.protected.extend(found),
            // A bare repository inside a home folder is protected whole instead of refusing the home.
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
#[path = "sandbox_policy_tests.rs"]
mod tests;
