//! Which process connected to a unix socket, by the kernel's word.

#![expect(
    unsafe_code,
    reason = "rustix has no SO_PEERPIDFD; the one call states why it is sound"
)]

use super::process::Process;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::mem::size_of;

/// Asks for a handle of the peer's process; Linux 6.5 and later.
const SO_PEERPIDFD: libc::c_int = 77;

/// The process that opened the other end; none when it has ended, or may have been replaced by
/// another one with its number.
pub(super) fn connected(stream: BorrowedFd<'_>) -> Option<Process> {
    let Some(handle) = peer_handle(stream) else {
        return by_number(stream, centiseconds_up()?);
    };
    let process = Process::open(pid_of(&handle)?)?;
    // Still alive after its folder was opened: the folder is its own.
    pid_of(&handle).filter(|pid| *pid == process.pid)?;
    Some(process)
}

/// Before Linux 6.5: by its number, if what has that number now is older than the connection.
fn by_number(stream: BorrowedFd<'_>, accepted: u64) -> Option<Process> {
    let credentials = rustix::net::sockopt::socket_peercred(stream).ok()?;
    let process = Process::open(credentials.pid.as_raw_nonzero().get())?;
    // Clock ticks of `/proc` are hundredths of a second wherever hob runs.
    (process.stat()?.started <= accepted).then_some(process)
}

/// Hundredths of a second since the machine started.
fn centiseconds_up() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, part) = text.split_ascii_whitespace().next()?.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    seconds.checked_mul(100)?.checked_add(part.parse().ok()?)
}

fn peer_handle(stream: BorrowedFd<'_>) -> Option<OwnedFd> {
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

/// The number of the process behind a handle; none when it has ended.
fn pid_of(handle: &OwnedFd) -> Option<i32> {
    let path = format!("/proc/self/fdinfo/{}", handle.as_raw_fd());
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok().filter(|pid| *pid > 0)
}
