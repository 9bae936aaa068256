//! Mounts of the child's own, made by the shim where bubblewrap is missing: the whole file system
//! is read-only but for writable roots, protected paths are read-only inside those, what is hidden
//! is covered, and the run has a `/tmp` with a bound. Landlock, applied afterwards, forbids to
//! change any mount.
//!
//! Invariant: run in the forked child only; the machine's own mounts are never touched.

use super::{read_only, sys};
use crate::plan::{Limits, Policy};
use rustix::fd::OwnedFd;
use rustix::fs::FileType;
use rustix::mount::MountFlags;
use rustix::thread::UnshareFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that every run has for itself.
pub(super) const SCRATCH: &[&str] = &["/tmp", "/dev/shm"];

/// A user namespace in which only our own ids exist, and mounts that nobody else sees.
pub(super) fn enter() -> io::Result<()> {
    let user = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    sys::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    read_only::keep_mounts_private()
}

/// Makes the mounts a policy needs: everything read-only, then what is granted to be changed. The
/// folders of [`SCRATCH`] are empty afterwards, except for granted trees inside them.
pub(super) fn furnish(policy: &Policy, limits: &Limits) -> io::Result<()> {
    let granted = hold_granted(policy)?;
    read_only::lock(Path::new("/"))?;
    for folder in scratch() {
        tmpfs(&folder, &format!("size={},mode=1777", limits.tmp_bytes))?;
    }
    for (path, copy) in &granted {
        make_room(copy, path)?;
        read_only::attach(copy, path)?;
    }
    for folder in between(policy) {
        rustix::mount::mount_bind_recursive(folder, folder)?;
    }
    for path in policy.protected.iter().filter(|path| path.exists()) {
        rustix::mount::mount_bind_recursive(path, path)?;
        read_only::lock(path)?;
    }
    for path in policy.hidden.iter().filter(|path| path.exists()) {
        if path.is_dir() {
            tmpfs(path, "size=4096,mode=0500")?;
        } else {
            rustix::mount::mount_bind("/dev/null", path)?;
        }
        read_only::lock(path)?;
    }
    Ok(())
}

pub(super) fn scratch() -> Vec<PathBuf> {
    let all = SCRATCH.iter().map(PathBuf::from);
    all.filter(|path| path.is_dir()).collect()
}

/// Folders between writable roots and the protected or hidden paths in them, outer ones first.
/// Each becomes a mount point once, before what is inside it, because the folder of a mount point
/// can be renamed and another put in its place, a mount point cannot. A renamed folder would also
/// take a hidden path out of sight of the next run, which looks for it where it was.
pub(super) fn between(policy: &Policy) -> BTreeSet<&Path> {
    let in_root = |folder: &&Path| {
        let mut roots = policy.write.iter();
        roots.any(|root| folder != root && folder.starts_with(root))
    };
    let kept = policy.protected.iter().chain(&policy.hidden);
    kept.filter(|path| path.exists())
        .flat_map(|path| path.ancestors().skip(1).filter(in_root))
        .collect()
}

/// Copies of the granted trees as they are now, by their paths, so that outer ones come first:
/// those to be changed, and those to be read that the run's own folders would cover.
fn hold_granted(policy: &Policy) -> io::Result<BTreeMap<&Path, OwnedFd>> {
    let mut held = BTreeMap::new();
    let covered = |path: &&PathBuf| {
        let own = SCRATCH.iter().map(Path::new);
        own.clone().any(|folder| path.starts_with(folder)) && !own.clone().any(|it| it == *path)
    };
    let writable = |path: &&PathBuf| policy.write.iter().any(|root| path.starts_with(root));
    for path in policy.read.iter().filter(covered) {
        if !writable(&path) {
            let copy = read_only::copy_of(path)?;
            read_only::lock_copy(&copy)?;
            held.insert(path.as_path(), copy);
        }
    }
    for path in &policy.write {
        held.insert(path.as_path(), read_only::copy_of(path)?);
    }
    Ok(held)
}

/// Makes what a tree is shown on; only in the run's own folders it can be missing.
fn make_room(copy: &OwnedFd, path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    if FileType::from_raw_mode(rustix::fs::fstat(copy)?.st_mode).is_dir() {
        return std::fs::create_dir_all(path);
    }
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    std::fs::File::create(path).map(drop)
}

fn tmpfs(path: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", path, "tmpfs", flags, options.as_c_str())?;
    Ok(())
}
