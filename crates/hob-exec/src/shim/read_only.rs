//! Read-only mounts. Landlock does not restrict metadata: with Landlock alone a program can change
//! the mode, the times and the extended attributes of every file of its user. A read-only mount
//! refuses these changes.
//!
//! Invariant: a mount made read-only here stays read-only, with every mount below it: Landlock, the
//! missing capabilities and the system call filter each forbid changing a mount.

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

/// Clones the mounts at and below a path without attaching them. The clone keeps their current
/// flags when the original tree changes.
pub(super) fn clone_mounts(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// Attaches a clone at a path.
pub(super) fn attach(copy: impl AsFd, path: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(copy, "", CWD, path, flags)?)
}

/// Makes the mount at a path and all mounts below it read-only. Other flags stay.
pub(super) fn make_read_only(path: &Path) -> io::Result<()> {
    sys::set_read_only(CWD, path)
}

/// Makes an unattached clone read-only.
pub(super) fn make_clone_read_only(copy: impl AsFd) -> io::Result<()> {
    sys::set_read_only(copy.as_fd(), Path::new(""))
}

/// Stops mount events between this mount namespace and others, in both directions.
pub(super) fn keep_mounts_private() -> io::Result<()> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    Ok(rustix::mount::mount_change("/", private)?)
}

/// Makes `/dev` read-only before bubblewrap starts. Bubblewrap shows the devices as it finds them,
/// and root, who owns them inside as well, could change their modes for the whole machine. Only
/// root needs this, and only root may do it. A device on a read-only mount can still be written to.
pub(super) fn make_devices_read_only() -> io::Result<()> {
    let user = rustix::process::getuid().as_raw();
    if rustix::fs::stat(NULL_DEVICE)?.st_uid != user {
        return Ok(());
    }
    match sys::unshare(UnshareFlags::NEWNS) {
        Ok(()) => {}
        // Root of a container that may not create a mount namespace.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error),
    }
    keep_mounts_private()?;
    // `/dev` may be no mount point yet, and only a mount can be read-only.
    rustix::mount::mount_bind_recursive(DEVICES, DEVICES)?;
    make_read_only(Path::new(DEVICES))
}

/// Reopens the child's `/dev/null` input so that its owner cannot change the device's metadata
/// through it. Only root owns the device, and root may make the required mount. If that fails, the
/// descriptor stays as it is.
pub(super) fn without_metadata_rights(input: OwnedFd) -> OwnedFd {
    let Ok(found) = rustix::fs::fstat(&input) else {
        return input;
    };
    let is_device = FileType::from_raw_mode(found.st_mode).is_char_device();
    if !is_device || found.st_uid != rustix::process::getuid().as_raw() {
        return input;
    }
    let reopen = || -> io::Result<OwnedFd> {
        let copy = clone_mounts(Path::new(NULL_DEVICE))?;
        make_clone_read_only(&copy)?;
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
