//! The process group in a terminal's foreground, and ending it.
//!
//! Invariant: the shell's own process group is never signalled.

use rustix::process::Pid;
pub use rustix::process::Signal;
use std::io;

/// The owner of a terminal's keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreground {
    /// The shell itself: it is at its prompt, or runs a builtin.
    Shell,
    /// Another process group.
    Group(i32),
}

/// Returns the foreground of a shell's terminal. Fails if the shell is gone or has no terminal.
pub fn foreground_of(shell_pid: i32) -> io::Result<Foreground> {
    let stat = std::fs::read_to_string(format!("/proc/{shell_pid}/stat"))?;
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "its state cannot be read");
    let (own, foreground) = groups(&stat).ok_or_else(unreadable)?;
    if foreground <= 0 {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "it has no terminal",
        ));
    }
    Ok(if foreground == own {
        Foreground::Shell
    } else {
        Foreground::Group(foreground)
    })
}

/// Signals the foreground process group; false if that is the shell itself.
pub fn signal_foreground(shell_pid: i32, signal: Signal) -> io::Result<bool> {
    let Foreground::Group(group) = foreground_of(shell_pid)? else {
        return Ok(false);
    };
    let Some(group) = Pid::from_raw(group) else {
        return Ok(false);
    };
    match rustix::process::kill_process_group(group, signal) {
        // It ended in the meantime.
        Err(rustix::io::Errno::SRCH) => Ok(false),
        done => done.map(|()| true).map_err(io::Error::from),
    }
}

/// Kills the rest of a process group that had the keyboard; false if nothing is left. A program
/// that obeys an interrupt may leave children that ignore it.
pub fn kill_group(shell_pid: i32, group: i32) -> io::Result<bool> {
    let session = |stat: &str| fields(stat)?.get(3).copied();
    let shell = std::fs::read_to_string(format!("/proc/{shell_pid}/stat"))?;
    let Some(session_of_shell) = session(&shell) else {
        return Ok(false);
    };
    // The group id may have been reused, so only a group of this terminal's session is killed.
    let of_this = |stat: &str| {
        session(stat) == Some(session_of_shell) && groups(stat).is_some_and(|(own, _)| own == group)
    };
    let processes = std::fs::read_dir("/proc")?.flatten();
    let mut stats = processes.filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
    let (true, Some(group)) = (stats.any(|stat| of_this(&stat)), Pid::from_raw(group)) else {
        return Ok(false);
    };
    match rustix::process::kill_process_group(group, Signal::KILL) {
        Err(rustix::io::Errno::SRCH) => Ok(false),
        done => done.map(|()| true).map_err(io::Error::from),
    }
}

/// Returns the process group and the foreground group of `/proc/PID/stat`.
fn groups(stat: &str) -> Option<(i32, i32)> {
    let fields = fields(stat)?;
    Some((*fields.get(2)?, *fields.get(5)?))
}

/// Returns the numbers after the program name, which may contain anything: state (as 0), parent,
/// group, session, terminal, foreground group.
fn fields(stat: &str) -> Option<Vec<i32>> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields = fields.split_ascii_whitespace().take(6);
    Some(fields.map(|field| field.parse().unwrap_or(0)).collect())
}

#[cfg(test)]
#[path = "foreground_tests.rs"]
mod tests;
