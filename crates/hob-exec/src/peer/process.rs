//! One process, by its folder in `/proc`. All reads go through one handle of that folder. They fail
//! when the process ends, even if its pid is reused.

use crate::descent::LocksLimit;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

/// The maximum size of a file of `/proc/PID` that is read here.
const BYTES_MAX: u64 = 64 * 1024;
/// The namespaces that a peer must share with the daemon, with their names for messages.
const NAMESPACES: [(&str, &str); 4] = [
    ("ns/user", "user"),
    ("ns/pid", "process"),
    ("ns/mnt", "mount"),
    ("ns/net", "network"),
];

#[derive(Debug)]
pub(super) struct ProcessHandle {
    pub(super) pid: i32,
    folder: OwnedFd,
}

/// The parent and start time of a process, from `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) parent: i32,
    /// The start time in clock ticks since boot.
    pub(super) started: u64,
}

/// The identifiers of the namespaces of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamespaceIds([OsString; NAMESPACES.len()]);

impl ProcessHandle {
    pub(super) fn open(pid: i32) -> Option<ProcessHandle> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(format!("/proc/{pid}"), flags, Mode::empty()).ok()?;
        Some(ProcessHandle { pid, folder })
    }

    /// Opens the folder of its open files, if the kernel allows it.
    pub(super) fn open_files(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, "fd", flags, Mode::empty())
    }

    pub(super) fn stat(&self) -> Option<ProcessStat> {
        parse_stat(&self.read("stat")?)
    }

    /// Its real, effective, saved and file-system user ids.
    pub(super) fn users(&self) -> Result<[u32; 4], &'static str> {
        let users = || {
            let status = String::from_utf8_lossy(&self.read("status")?).into_owned();
            let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            let users = line.split_ascii_whitespace().map(str::parse);
            let users: Vec<u32> = users.collect::<Result<_, _>>().ok()?;
            users.try_into().ok()
        };
        users().ok_or("the user")
    }

    pub(super) fn namespaces(&self) -> Result<NamespaceIds, &'static str> {
        let mut found = [const { OsString::new() }; NAMESPACES.len()];
        for (slot, (path, _)) in found.iter_mut().zip(NAMESPACES) {
            let name = rustix::fs::readlinkat(&self.folder, path, Vec::new());
            let name = name.map_err(|_| "a namespace")?;
            *slot = OsString::from_vec(name.into_bytes());
        }
        Ok(NamespaceIds(found))
    }

    pub(super) fn locks_limit(&self) -> Result<LocksLimit, &'static str> {
        let limits = self.read("limits").ok_or("a limit")?;
        LocksLimit::read(&String::from_utf8_lossy(&limits)).ok_or("a limit")
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, name, flags, Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        let read = File::from(file).take(BYTES_MAX).read_to_end(&mut bytes);
        read.ok().map(|_| bytes)
    }
}

impl NamespaceIds {
    /// Returns the name of the first namespace that differs.
    pub(super) fn first_difference(&self, other: &NamespaceIds) -> Option<&'static str> {
        let pairs = self.0.iter().zip(&other.0).zip(NAMESPACES);
        let mut differing = pairs.filter(|((one, other), _)| one != other);
        differing.next().map(|(_, (_, name))| name)
    }
}

/// Parses `/proc/PID/stat`. The program name in parentheses may contain anything, so the fields are
/// read after the last parenthesis.
pub(super) fn parse_stat(stat: &[u8]) -> Option<ProcessStat> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    // The first word is field 3 of proc(5): the parent is field 4, the start time field 22.
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(ProcessStat {
        parent: words.get(1)?.parse().ok()?,
        started: words.get(19)?.parse().ok()?,
    })
}
