//! Mounts of the child's own, made by the shim where bubblewrap is missing and the kernel lets us:
//! they keep protected paths read-only inside writable roots, cover what is hidden there, and give
//! the run a `/tmp` with a bound. Landlock, applied afterwards, forbids to change any mount.
//!
//! Invariant: run in the forked child only; the machine's own mounts are never touched.

use super::sys;
use crate::plan::{Limits, Policy};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use rustix::mount::{MountFlags, MountPropagationFlags};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Folders that every run has for itself.
pub(super) const SCRATCH: &[&str] = &["/tmp", "/dev/shm"];

/// A user namespace in which only our own ids exist, and mounts that nobody else sees.
pub(super) fn enter() -> io::Result<()> {
    let user = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    sys::unshare_mounts()?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", private)?;
    Ok(())
}

/// Makes the mounts a policy needs. The folders of [`SCRATCH`] are empty afterwards, except for
/// granted trees inside them.
pub(super) fn furnish(policy: &Policy, limits: &Limits) -> io::Result<()> {
    let granted = hold_covered(policy)?;
    for folder in scratch() {
        tmpfs(&folder, &format!("size={},mode=1777", limits.tmp_bytes))?;
    }
    for (held, path) in &granted {
        make_mount_point(held, path)?;
        let source = format!("/proc/self/fd/{}", held.as_raw_fd());
        rustix::mount::mount_bind_recursive(source, path)?;
        // The run may write to all of its own `/tmp`, so what it may only read must be so itself.
        if !policy.write.contains(path) {
            read_only(path)?;
        }
    }
    for folder in between(policy) {
        rustix::mount::mount_bind_recursive(folder, folder)?;
    }
    for path in policy.protected.iter().filter(|path| path.exists()) {
        rustix::mount::mount_bind_recursive(path, path)?;
        read_only(path)?;
    }
    for path in policy.hidden.iter().filter(|path| path.exists()) {
        if path.is_dir() {
            tmpfs(path, "size=4096,mode=0500")?;
            read_only(path)?;
        } else {
            rustix::mount::mount_bind("/dev/null", path)?;
            read_only(path)?;
        }
    }
    Ok(())
}

pub(super) fn scratch() -> Vec<PathBuf> {
    let all = SCRATCH.iter().map(PathBuf::from);
    all.filter(|path| path.is_dir()).collect()
}

/// Folders between writable roots and the protected paths in them, outer ones first. Each becomes
/// a mount point once, before what is inside it, because the folder of a mount point can be renamed
/// and another put in its place, a mount point cannot.
pub(super) fn between(policy: &Policy) -> BTreeSet<&Path> {
    let in_root = |folder: &&Path| {
        let mut roots = policy.write.iter();
        roots.any(|root| folder != root && folder.starts_with(root))
    };
    let protected = policy.protected.iter().filter(|path| path.exists());
    protected
        .flat_map(|path| path.ancestors().skip(1).filter(in_root))
        .collect()
}

/// Granted trees that the run's own folders would cover, held open.
fn hold_covered(policy: &Policy) -> io::Result<Vec<(OwnedFd, PathBuf)>> {
    let covered = |path: &&PathBuf| {
        SCRATCH
            .iter()
            .any(|folder| path.starts_with(folder) && path.as_path() != Path::new(folder))
    };
    let trees = policy.read.iter().chain(&policy.write).filter(covered);
    let hold = |path: &PathBuf| {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let held = rustix::fs::open(path, flags, Mode::empty())?;
        Ok((held, path.clone()))
    };
    trees.map(hold).collect()
}

/// Makes what a granted file or folder is mounted on.
fn make_mount_point(held: &OwnedFd, path: &Path) -> io::Result<()> {
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(held)?.st_mode);
    if kind.is_dir() {
        return std::fs::create_dir_all(path);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    // It may be there already, in a folder that was granted before.
    options.append(true).create(true).open(path).map(drop)
}

fn tmpfs(path: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", path, "tmpfs", flags, options.as_c_str())?;
    Ok(())
}

/// Makes a mount read-only. Flags it has already must be said again: in a user namespace they may
/// not be taken away.
pub(super) fn read_only(path: &Path) -> io::Result<()> {
    let has = rustix::fs::statvfs(path)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (found, kept) in [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(found) {
            flags |= kept;
        }
    }
    rustix::mount::mount_remount(path, flags, c"")?;
    Ok(())
}
