//! Landlock: what a sandboxed program may open, where bubblewrap is missing.
//!
//! Landlock adds up what it allows, and a rule for a folder holds for all below it. What is hidden
//! is therefore left out by naming everything around it: the siblings of each folder on the way
//! there. Those folders themselves cannot be listed then, which is the price.
//!
//! Invariant: no rule covers a hidden path, except one inside a writable root, which is covered by
//! a mount (`namespace`); rules follow no symbolic link.

use crate::plan::{NetworkAccess, Policy};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::path::{Path, PathBuf};

/// What is asked of the kernel, all of it or nothing.
const ABI_ASKED: ABI = ABI::V6;
/// More rules than this mean that something hidden lies in a folder with too many entries.
const RULES_MAX: usize = 20_000;

/// Folders of the system that hold devices, sockets or other people's temporary files: never
/// granted as a whole.
const SPECIAL: &[&str] = &["/dev", "/proc", "/run", "/tmp", "/var/run", "/var/tmp"];
/// The parts of them every program needs.
const SPECIAL_READ: &[&str] = &[
    "/dev/random",
    "/dev/urandom",
    "/proc",
    "/run/current-system",
    "/run/opengl-driver",
];
const SPECIAL_WRITE: &[&str] = &["/dev/full", "/dev/null", "/dev/zero"];
/// Where the addresses of name servers are, beside `/etc`.
const RESOLVERS: &[&str] = &[
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/systemd/resolve",
];

/// A tree and what may be done in it.
#[derive(Debug, PartialEq, Eq)]
struct Grant {
    path: PathBuf,
    write: bool,
}

/// Restricts the calling process for good. `scratch` are the run's own temporary folders.
pub(super) fn restrict(policy: &Policy, scratch: &[PathBuf]) -> io::Result<()> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI_ASKED))
        .map_err(io::Error::other)?;
    if policy.network == NetworkAccess::Off {
        let all = AccessNet::from_all(ABI_ASKED);
        ruleset = ruleset.handle_access(all).map_err(io::Error::other)?;
    }
    let mut scope = BitFlags::from(Scope::Signal);
    if !policy.unix_sockets {
        scope |= Scope::AbstractUnixSocket;
    }
    let ruleset = ruleset.scope(scope).map_err(io::Error::other)?;
    let mut created = ruleset.create().map_err(io::Error::other)?;
    for grant in grants(policy, scratch)? {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // What vanished since it was listed needs no rule.
        let Ok(folder) = rustix::fs::open(&grant.path, flags, Mode::empty()) else {
            continue;
        };
        let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&folder)?.st_mode);
        if kind.is_symlink() {
            continue;
        }
        let mut access = if grant.write {
            AccessFs::from_all(ABI_ASKED)
        } else {
            AccessFs::from_read(ABI_ASKED)
        };
        if !kind.is_dir() {
            access &= AccessFs::from_file(ABI_ASKED);
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

fn grants(policy: &Policy, scratch: &[PathBuf]) -> io::Result<Vec<Grant>> {
    let mut read = Vec::new();
    let special: Vec<PathBuf> = SPECIAL.iter().map(PathBuf::from).collect();
    for tree in &policy.read {
        let mut left_out = policy.hidden.clone();
        left_out.extend(special.iter().filter(|path| *path != tree).cloned());
        carve(tree, &left_out, &mut read)?;
    }
    read.extend(SPECIAL_READ.iter().map(PathBuf::from));
    if policy.network == NetworkAccess::Host {
        read.extend(RESOLVERS.iter().map(PathBuf::from));
    }
    let mut write: Vec<PathBuf> = SPECIAL_WRITE.iter().map(PathBuf::from).collect();
    write.extend_from_slice(scratch);
    // What is protected or hidden in them is covered by a mount.
    write.extend_from_slice(&policy.write);
    let grant = |write: bool| move |path| Grant { path, write };
    Ok(read
        .into_iter()
        .map(grant(false))
        .chain(write.into_iter().map(grant(true)))
        .collect())
}

/// The largest trees in `tree` that hold nothing of what is left out.
fn carve(tree: &Path, left_out: &[PathBuf], found: &mut Vec<PathBuf>) -> io::Result<()> {
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
        // A folder we may not list is one the program may not either.
        return Ok(());
    };
    for entry in entries.flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            carve(&entry.path(), left_out, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "landlock_tests.rs"]
mod tests;
