//! The child's mount namespace where bubblewrap is missing: the file system is read-only except for
//! writable roots, protected paths inside those are read-only, hidden paths are covered, and the
//! run has a bounded `/tmp`. Landlock, applied afterwards, forbids any change of mounts.
//!
//! Invariant: this code runs only in the forked child; the machine's own mounts are never changed.

use super::{read_only, sys};
use crate::spawn_plan::{ResourceLimits, SandboxPolicy};
use rustix::fd::OwnedFd;
use rustix::fs::FileType;
use rustix::mount::MountFlags;
use rustix::thread::UnshareFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that are private to each run.
pub(super) const SCRATCH: &[&str] = &["/tmp", "/dev/shm"];

/// Enters a user namespace with only this user's ids, and a private mount namespace.
pub(super) fn enter() -> io::Result<()> {
    // Read before the new namespace, in which they are unmapped at first.
    let user = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    sys::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    // The kernel accepts an unprivileged `gid_map` only after `setgroups` is denied.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    read_only::keep_mounts_private()
}

/// Makes the mounts of a policy: everything read-only, then the writable trees. The folders of
/// [`SCRATCH`] are empty afterwards, except for granted trees inside them.
pub(super) fn mount_policy(policy: &SandboxPolicy, limits: &ResourceLimits) -> io::Result<()> {
    // Copied first: a copy keeps the flags of its tree, and `/` becomes read-only as a whole next.
    let granted = copy_granted_trees(policy)?;
    read_only::make_read_only(Path::new("/"))?;
    for folder in scratch_folders() {
        mount_tmpfs(&folder, &format!("size={},mode=1777", limits.tmp_bytes))?;
    }
    for (path, copy) in &granted {
        make_mount_point(copy, path)?;
        read_only::attach(copy, path)?;
    }
    for folder in folders_between(policy) {
        rustix::mount::mount_bind_recursive(folder, folder)?;
    }
    for path in policy.protected.iter().filter(|path| path.exists()) {
        rustix::mount::mount_bind_recursive(path, path)?;
        read_only::make_read_only(path)?;
    }
    // Hidden paths last, so that no other mount uncovers them again.
    for path in policy.hidden.iter().filter(|path| path.exists()) {
        if path.is_dir() {
            // A size of 0 would mean no limit at all; one page is the smallest bound.
            mount_tmpfs(path, "size=4096,mode=0500")?;
        } else {
            rustix::mount::mount_bind("/dev/null", path)?;
        }
        read_only::make_read_only(path)?;
    }
    Ok(())
}

pub(super) fn scratch_folders() -> Vec<PathBuf> {
    let all = SCRATCH.iter().map(PathBuf::from);
    all.filter(|path| path.is_dir()).collect()
}

/// The folders between writable roots and the protected or hidden paths in them, outer ones first.
/// Each becomes a mount point, because a mount point cannot be renamed, while the folder that
/// contains one can be renamed and replaced. A renamed folder would also move a hidden path away
/// from where the next run looks for it.
pub(super) fn folders_between(policy: &SandboxPolicy) -> BTreeSet<&Path> {
    let in_root = |folder: &&Path| {
        let mut roots = policy.write.iter();
        roots.any(|root| folder != root && folder.starts_with(root))
    };
    let kept = policy.protected.iter().chain(&policy.hidden);
    kept.filter(|path| path.exists())
        .flat_map(|path| path.ancestors().skip(1).filter(in_root))
        .collect()
}

/// Copies the mounts of granted trees, sorted by path so that outer ones come first: writable
/// trees, and readable trees that the run's own folders would cover.
fn copy_granted_trees(policy: &SandboxPolicy) -> io::Result<BTreeMap<&Path, OwnedFd>> {
    let mut held = BTreeMap::new();
    let covered = |path: &&PathBuf| {
        let own = SCRATCH.iter().map(Path::new);
        own.clone().any(|folder| path.starts_with(folder)) && !own.clone().any(|it| it == *path)
    };
    let writable = |path: &&PathBuf| policy.write.iter().any(|root| path.starts_with(root));
    for path in policy.read.iter().filter(covered) {
        // A writable root shows it already, and a read-only copy on top would take that right away.
        if !writable(&path) {
            let copy = read_only::clone_mounts(path)?;
            read_only::make_clone_read_only(&copy)?;
            held.insert(path.as_path(), copy);
        }
    }
    for path in &policy.write {
        held.insert(path.as_path(), read_only::clone_mounts(path)?);
    }
    Ok(held)
}

/// Creates the mount point of a granted file or folder. It is missing only in the run's own
/// folders.
fn make_mount_point(held: &OwnedFd, path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let kind = FileType::from_raw_mode(rustix::fs::fstat(held)?.st_mode);
    if kind.is_dir() {
        return std::fs::create_dir_all(path);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create_new(path).map(drop)
}

fn mount_tmpfs(path: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    // No file made here may give its user another identity or stand for a device.
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", path, "tmpfs", flags, options.as_c_str())?;
    Ok(())
}
