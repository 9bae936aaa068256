//! Read-only mounts. Landlock does not govern metadata: with Landlock alone a program changes the
//! mode, the times and the extended attributes of every file that belongs to its user. A read-only
//! mount refuses all of them.
//!
//! Invariant: a mount made read-only here is so with every mount below it, and stays so: Landlock,
//! the missing capabilities and the filter of system calls each forbid to change a mount.

use super::sys;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::thread::UnshareFlags;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

const DEVICES: &str = "/dev";
const NULL_DEVICE: &str = "/dev/null";

/// A copy of the mounts at and below a path, attached nowhere. It keeps the flags they have now,
/// whatever becomes of the tree it was taken from.
pub(super) fn copy_of(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// Shows a copy at a path.
pub(super) fn attach(copy: impl AsFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(copy, "", CWD, path, flags)?)
}

/// Makes the mount at a path, and all below it, read-only. Other flags stay as they are.
pub(super) fn lock(path: &Path) -> io::Result<()> {
    sys::set_read_only(CWD, path)
}

/// The same for a copy that is attached nowhere.
pub(super) fn lock_copy(copy: impl AsFd) -> io::Result<()> {
    sys::set_read_only(copy.as_fd(), Path::new(""))
}

/// Keeps what this process mounts from being seen outside its namespace, and the other way round.
pub(super) fn keep_mounts_private() -> io::Result<()> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    Ok(rustix::mount::mount_change("/", private)?)
}

/// Before bubblewrap: it shows the devices as it finds them, so that root, who owns them inside as
/// well, could change their modes for the whole machine. Only root needs this, and only root may
/// do it. A device on a read-only mount can still be written to.
pub(super) fn lock_devices() -> io::Result<()> {
    let user = rustix::process::getuid().as_raw();
    if rustix::fs::stat(NULL_DEVICE)?.st_uid != user {
        return Ok(());
    }
    match sys::unshare(UnshareFlags::NEWNS) {
        Ok(()) => {}
        // Root of a container without the right to mounts of its own.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error),
    }
    keep_mounts_private()?;
    // Where `/dev` is no mount of its own, it becomes one.
    rustix::mount::mount_bind_recursive(DEVICES, DEVICES)?;
    lock(Path::new(DEVICES))
}

/// The child's empty input, opened so that its owner cannot change the device's metadata through
/// it. Only root owns `/dev/null`, and root may make the mount that this needs; where it may not,
/// the descriptor stays as it is.
pub(super) fn without_metadata_rights(input: OwnedFd) -> OwnedFd {
    let Ok(found) = rustix::fs::fstat(&input) else {
        return input;
    };
    let is_device = FileType::from_raw_mode(found.st_mode).is_char_device();
    if !is_device || found.st_uid != rustix::process::getuid().as_raw() {
        return input;
    }
    let reopen = || -> io::Result<OwnedFd> {
        let copy = copy_of(Path::new(NULL_DEVICE))?;
        lock_copy(&copy)?;
        let same = format!("/proc/self/fd/{}", copy.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        let opened = rustix::fs::open(same, flags, Mode::empty())?;
        if rustix::fs::fstat(&opened)?.st_rdev == found.st_rdev {
            Ok(opened)
        } else {
            Err(io::Error::other("the input is another device"))
        }
    };
    reopen().unwrap_or(input)
}
