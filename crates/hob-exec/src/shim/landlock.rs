//! Landlock rules: the files that a sandboxed program may open, where bubblewrap is missing.
//!
//! Landlock only adds permissions, and a rule for a folder applies to everything below it. A hidden
//! path is therefore excluded by granting everything around it: the siblings of each folder on its
//! path. As a cost, the folders on its path cannot be listed.
//!
//! Invariants: no rule covers a hidden path, except inside a writable root, where a mount hides it
//! (`namespace`); rules follow no symbolic link.

use crate::spawn_plan::{NetworkAccess, SandboxPolicy};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::path::{Path, PathBuf};

/// The Landlock version whose restrictions are all required.
const REQUIRED_ABI: ABI = ABI::V6;
/// The maximum of rules. More mean that a hidden path lies in a folder with too many entries.
const RULES_MAX: usize = 20_000;

/// System folders with devices, sockets or other users' temporary files: never granted as a whole.
const SPECIAL: &[&str] = &["/dev", "/proc", "/run", "/tmp", "/var/run", "/var/tmp"];
/// Parts of [`SPECIAL`] that every program needs.
const SPECIAL_READ: &[&str] = &[
    "/dev/random",
    "/dev/urandom",
    "/proc",
    "/run/current-system",
    "/run/opengl-driver",
];
const SPECIAL_WRITE: &[&str] = &["/dev/full", "/dev/null", "/dev/zero"];
/// Files outside `/etc` with the addresses of name servers.
const RESOLVERS: &[&str] = &[
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/systemd/resolve",
];

/// A tree that may be read or written.
#[derive(Debug, PartialEq, Eq)]
struct LandlockGrant {
    path: PathBuf,
    write: bool,
}

/// Restricts the calling process irrevocably. `scratch` are the run's own temporary folders.
pub(super) fn restrict(policy: &SandboxPolicy, scratch: &[PathBuf]) -> io::Result<()> {
    let mut ruleset = Ruleset::default()
        // Never best effort: a restriction that the kernel does not know must be an error.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED_ABI))
        .map_err(io::Error::other)?;
    // With the proxy, connections must reach its port, and the network namespace confines them.
    if policy.network == NetworkAccess::Off {
        let all = AccessNet::from_all(REQUIRED_ABI);
        ruleset = ruleset.handle_access(all).map_err(io::Error::other)?;
    }
    // The user's other processes have the same user id, so only this keeps signals from them.
    let mut scope = BitFlags::from(Scope::Signal);
    if !policy.unix_sockets {
        scope |= Scope::AbstractUnixSocket;
    }
    let ruleset = ruleset.scope(scope).map_err(io::Error::other)?;
    let mut created = ruleset.create().map_err(io::Error::other)?;
    for grant in grants(policy, scratch)? {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A path that vanished since it was listed needs no rule.
        let Ok(folder) = rustix::fs::open(&grant.path, flags, Mode::empty()) else {
            continue;
        };
        let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&folder)?.st_mode);
        if kind.is_symlink() {
            continue;
        }
        let mut access = if grant.write {
            AccessFs::from_all(REQUIRED_ABI)
        } else {
            AccessFs::from_read(REQUIRED_ABI)
        };
        // The kernel refuses a rule that gives a file the rights of folders, such as listing.
        if !kind.is_dir() {
            access &= AccessFs::from_file(REQUIRED_ABI);
        }
        created = created
            .add_rule(PathBeneath::new(folder, access))
            .map_err(io::Error::other)?;
    }
    let status = created.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
        Ok(())
    } else {
        Err(io::Error::other("Landlock is not fully enforced"))
    }
}

fn grants(policy: &SandboxPolicy, scratch: &[PathBuf]) -> io::Result<Vec<LandlockGrant>> {
    let mut read = Vec::new();
    let special: Vec<PathBuf> = SPECIAL.iter().map(PathBuf::from).collect();
    for tree in &policy.read {
        let mut left_out = policy.hidden.clone();
        // A policy that grants a special folder by its own name gets it.
        left_out.extend(special.iter().filter(|path| *path != tree).cloned());
        collect_trees_without(tree, &left_out, &mut read)?;
    }
    read.extend(SPECIAL_READ.iter().map(PathBuf::from));
    if policy.network == NetworkAccess::Host {
        read.extend(RESOLVERS.iter().map(PathBuf::from));
    }
    let mut write: Vec<PathBuf> = SPECIAL_WRITE.iter().map(PathBuf::from).collect();
    write.extend_from_slice(scratch);
    // Mounts cover the protected and hidden paths in them.
    write.extend_from_slice(&policy.write);
    let grant = |write: bool| move |path| LandlockGrant { path, write };
    Ok(read
        .into_iter()
        .map(grant(false))
        .chain(write.into_iter().map(grant(true)))
        .collect())
}

/// Collects the largest trees in `tree` that contain none of the paths in `left_out`.
fn collect_trees_without(
    tree: &Path,
    left_out: &[PathBuf],
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    if left_out.iter().any(|path| tree.starts_with(path)) {
        return Ok(());
    }
    if !left_out.iter().any(|path| path.starts_with(tree)) {
        if found.len() == RULES_MAX {
            return Err(io::Error::other(format!(
                "a hidden path has more than {RULES_MAX} neighbours"
            )));
        }
        found.push(tree.to_owned());
        return Ok(());
    }
    let Ok(entries) = std::fs::read_dir(tree) else {
        // If this process may not list a folder, the program may not either.
        return Ok(());
    };
    for entry in entries.flatten() {
        // The kernel checks access at the target of a link, so the link needs no rule.
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            collect_trees_without(&entry.path(), left_out, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "landlock_tests.rs"]
mod tests;
