//! The system calls that need raw memory, each behind a safe function.

#![expect(
    unsafe_code,
    reason = "rustix has no signalfd, wait4, close_range or mount_setattr; each call below states why it is sound"
)]

use crate::shim_protocol::{ResourceUsage, WaitStatus};
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::thread::UnshareFlags;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A process that has been waited for.
pub(super) struct ReapedProcess {
    pub(super) pid: i32,
    pub(super) status: WaitStatus,
    pub(super) usage: ResourceUsage,
}

/// Marks every descriptor from 3 on as close-on-exec.
pub(crate) fn close_on_exec() -> io::Result<()> {
    // SAFETY: three integers; no memory is touched.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3_u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Opens a signalfd for the signals that the shim handles. They stay blocked in this process;
/// [`before_exec`] unblocks them in each program it starts.
pub(super) fn open_signalfd() -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is initialised by `sigemptyset` before anything reads it; the descriptor is
    // fresh and owned by nobody else.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        let set = set.assume_init();
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        let descriptor = libc::signalfd(-1, &raw const set, flags);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Reads all pending signals; true if one asks the shim to end.
pub(super) fn drain_signals(descriptor: &OwnedFd) -> bool {
    const SIZE: usize = size_of::<libc::signalfd_siginfo>();
    let mut is_end_requested = false;
    let mut buffer = [0_u8; SIZE];
    while let Ok(SIZE) = rustix::io::read(descriptor, &mut buffer) {
        let number = u32::from_ne_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
        is_end_requested |= i64::from(number) != i64::from(libc::SIGCHLD);
    }
    is_end_requested
}

/// Reaps one child that has ended; none if there is none.
pub(super) fn reap() -> Option<ReapedProcess> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // Any child (-1): as a subreaper the shim also gets the orphans of its descendants.
    // SAFETY: both pointers are valid for writing; all-zero bytes are a valid `rusage`.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    if pid <= 0 {
        return None;
    }
    let wait_status = if libc::WIFSIGNALED(status) {
        WaitStatus::Signal(libc::WTERMSIG(status))
    } else {
        WaitStatus::Code(libc::WEXITSTATUS(status))
    };
    let usage = ResourceUsage {
        cpu_user_ms: milliseconds(usage.ru_utime),
        cpu_system_ms: milliseconds(usage.ru_stime),
        // Linux counts this value in KiB.
        peak_bytes: u64::try_from(usage.ru_maxrss)
            .unwrap_or(0)
            .saturating_mul(1024),
    };
    Some(ReapedProcess {
        pid,
        status: wait_status,
        usage,
    })
}

fn milliseconds(time: libc::timeval) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(micros / 1000)
}

/// Moves this process into new namespaces.
pub(super) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: the callers name namespaces only, so the descriptor table stays shared as it is; the
    // calling process has one thread.
    unsafe {
        rustix::thread::unshare_unsafe(namespaces)?;
    }
    Ok(())
}

/// Makes the mount at `path` and all mounts below it read-only. With an empty path the mount is
/// `folder` itself.
pub(super) fn set_read_only(folder: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    /// `struct mount_attr` of the kernel, in its first version.
    #[repr(C)]
    struct MountAttributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const MOUNT_ATTR_RDONLY: u64 = 1;
    const AT_RECURSIVE: libc::c_int = 0x8000;
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut flags = AT_RECURSIVE;
    if path.is_empty() {
        flags |= libc::AT_EMPTY_PATH;
    }
    let attributes = MountAttributes {
        set: MOUNT_ATTR_RDONLY,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    // SAFETY: both pointers are valid for reading, the second for the size that is given; the
    // kernel keeps neither.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Moves this process into a new network namespace.
pub(super) fn unshare_network() -> io::Result<()> {
    use rustix::thread::UnshareFlags;
    // SAFETY: the descriptor table stays shared as it is; the calling process has one thread.
    unsafe {
        rustix::thread::unshare_unsafe(UnshareFlags::NEWNET)?;
    }
    Ok(())
}

/// Brings the loopback of this process's network namespace up.
pub(super) fn bring_loopback_up() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    use std::os::fd::AsRawFd;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    let mut request = MaybeUninit::<libc::ifreq>::zeroed();
    // SAFETY: all-zero bytes are a valid `ifreq`; both calls get a pointer to it that is valid for
    // reading and writing, and the kernel keeps none.
    let done = unsafe {
        let request = request.assume_init_mut();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = from.cast_signed();
        }
        let descriptor = socket.as_raw_fd();
        // Setting the flags replaces all of them, so the present ones are read first.
        if libc::ioctl(descriptor, libc::SIOCGIFFLAGS, &raw mut *request) != 0 {
            return Err(io::Error::last_os_error());
        }
        let up = libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
        request.ifr_ifru.ifru_flags |= up;
        libc::ioctl(descriptor, libc::SIOCSIFFLAGS, &raw const *request)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Takes ownership of a descriptor that this process inherited; none if it is not open.
pub(super) fn take_inherited(number: i32) -> Option<OwnedFd> {
    use rustix::fd::BorrowedFd;
    // The standard library owns the first three.
    if number < 3 {
        return None;
    }
    // SAFETY: borrowed only to ask whether it is open; then it is owned here and nowhere else,
    // because the caller is the first code of this process that knows its number.
    unsafe {
        rustix::io::fcntl_getfd(BorrowedFd::borrow_raw(number)).ok()?;
        Some(OwnedFd::from_raw_fd(number))
    }
}

/// Runs `work` in the forked child before exec, with no signal blocked.
pub(super) fn before_exec(
    command: &mut std::process::Command,
    mut work: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the shim has one thread, so no lock is held by another one at the fork, and the new
    // process may allocate and call as it could before.
    unsafe {
        command.pre_exec(move || {
            let mut none = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            work()
        });
    }
}

/// The version of Landlock's interface; 0 if the kernel has none.
pub(super) fn landlock_abi() -> i32 {
    const VERSION: u32 = 1;
    // SAFETY: asked for its version, the call reads no memory.
    let found = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    };
    i32::try_from(found).unwrap_or(0).max(0)
}
