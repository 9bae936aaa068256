//! Finds the process that connected to a unix socket, as the kernel recorded it.

#![expect(
    unsafe_code,
    reason = "rustix has no SO_PEERPIDFD; the one call states why it is sound"
)]

use super::process::ProcessHandle;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::mem::size_of;

/// The socket option that returns a pidfd of the peer; Linux 6.5 and later.
const SO_PEERPIDFD: libc::c_int = 77;

/// Returns the process that opened the other end; none if it has ended, or if its pid may have been
/// reused.
pub(super) fn connected_process(stream: BorrowedFd<'_>) -> Option<ProcessHandle> {
    let Some(handle) = peer_pidfd(stream) else {
        return process_by_pid(stream, centiseconds_up()?);
    };
    let process = ProcessHandle::open(pid_of_pidfd(&handle)?)?;
    // It is still alive after its `/proc` folder was opened, so the folder is not a reused pid's.
    pid_of_pidfd(&handle).filter(|pid| *pid == process.pid)?;
    Some(process)
}

/// Finds the peer by its pid, before Linux 6.5. The process with that pid must be older than the
/// connection.
fn process_by_pid(stream: BorrowedFd<'_>, accepted: u64) -> Option<ProcessHandle> {
    let credentials = rustix::net::sockopt::socket_peercred(stream).ok()?;
    let process = ProcessHandle::open(credentials.pid.as_raw_nonzero().get())?;
    // Clock ticks in `/proc` are hundredths of a second on every system hob supports.
    (process.stat()?.started <= accepted).then_some(process)
}

/// Hundredths of a second since boot.
fn centiseconds_up() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, part) = text.split_ascii_whitespace().next()?.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    seconds.checked_mul(100)?.checked_add(part.parse().ok()?)
}

fn peer_pidfd(stream: BorrowedFd<'_>) -> Option<OwnedFd> {
    let mut handle: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).ok()?;
    // SAFETY: the kernel writes one descriptor number of `length` bytes into `handle`, which is
    // that large; the descriptor is fresh and owned by nobody else.
    unsafe {
        let done = libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut handle).cast(),
            &raw mut length,
        );
        (done == 0 && handle >= 0).then(|| OwnedFd::from_raw_fd(handle))
    }
}

/// Returns the pid of a pidfd; none if the process has ended.
fn pid_of_pidfd(handle: &OwnedFd) -> Option<i32> {
    let path = format!("/proc/self/fdinfo/{}", handle.as_raw_fd());
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok().filter(|pid| *pid > 0)
}
