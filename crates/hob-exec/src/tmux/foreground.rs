//! What has a terminal's keyboard, and ending it.
//!
//! Invariant: the shell's own process group is never signalled.

use rustix::process::Pid;
pub use rustix::process::Signal;
use std::io;

/// Who has the keyboard of a shell's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreground {
    /// The shell itself: it is at its prompt, or runs something of its own.
    Shell,
    /// This process group.
    Group(i32),
}

/// Who has the keyboard; an error when the shell is gone or has no terminal.
pub fn of(shell_pid: i32) -> io::Result<Foreground> {
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

/// Signals what runs in the foreground; false when that is the shell itself.
pub fn kill(shell_pid: i32, signal: Signal) -> io::Result<bool> {
    let Foreground::Group(group) = of(shell_pid)? else {
        return Ok(false);
    };
    let Some(group) = Pid::from_raw(group) else {
        return Ok(false);
    };
    match rustix::process::kill_process_group(group, signal) {
        // It ended by itself in between.
        Err(rustix::io::Errno::SRCH) => Ok(false),
        done => done.map(|()| true).map_err(io::Error::from),
    }
}

/// Kills what is left of a process group that had the keyboard; false when nothing is. A program
/// that heeds an interrupt may leave children behind that do not.
pub fn end(shell_pid: i32, group: i32) -> io::Result<bool> {
    let session = |stat: &str| fields(stat)?.get(3).copied();
    let shell = std::fs::read_to_string(format!("/proc/{shell_pid}/stat"))?;
    let Some(session_of_shell) = session(&shell) else {
        return Ok(false);
    };
    // The number may belong to somebody else by now: only what is of this terminal is ended.
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

/// The process group and the foreground group of a line of `/proc/PID/stat`. The program's name
/// comes before them and may hold anything.
fn groups(stat: &str) -> Option<(i32, i32)> {
    let fields = fields(stat)?;
    Some((*fields.get(2)?, *fields.get(5)?))
}

/// The numbers behind the program's name: parent, group, session, terminal, foreground group; the
/// first is its state and stands as 0.
fn fields(stat: &str) -> Option<Vec<i32>> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields = fields.split_ascii_whitespace().take(6);
    Some(fields.map(|field| field.parse().unwrap_or(0)).collect())
}

#[cfg(test)]
#[path = "foreground_tests.rs"]
mod tests;
