//! One process, by its folder in `/proc`. All reads go through one handle of that folder: when the
//! process ends they fail, even if another process gets its number.

use crate::descent::LocksLimit;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

/// Of any file of `/proc/PID` that is read here.
const BYTES_MAX: u64 = 64 * 1024;
/// The namespaces a peer shares with the daemon, as people call them.
const NAMESPACES: [(&str, &str); 4] = [
    ("ns/user", "user"),
    ("ns/pid", "process"),
    ("ns/mnt", "mount"),
    ("ns/net", "network"),
];

#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    folder: OwnedFd,
}

/// The part of `/proc/PID/stat` that says where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: i32,
    /// In clock ticks since the machine started.
    pub(super) started: u64,
}

/// What names the namespaces of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Namespaces([OsString; NAMESPACES.len()]);

impl Process {
    pub(super) fn open(pid: i32) -> Option<Process> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(format!("/proc/{pid}"), flags, Mode::empty()).ok()?;
        Some(Process { pid, folder })
    }

    /// The folder of its open files, if the kernel shows it.
    pub(super) fn open_files(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, "fd", flags, Mode::empty())
    }

    pub(super) fn stat(&self) -> Option<Stat> {
        read_stat(&self.read("stat")?)
    }

    /// Its real, effective, saved and file-system user.
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

    pub(super) fn namespaces(&self) -> Result<Namespaces, &'static str> {
        let mut found = [const { OsString::new() }; NAMESPACES.len()];
        for (slot, (path, _)) in found.iter_mut().zip(NAMESPACES) {
            let name = rustix::fs::readlinkat(&self.folder, path, Vec::new());
            let name = name.map_err(|_| "a namespace")?;
            *slot = OsString::from_vec(name.into_bytes());
        }
        Ok(Namespaces(found))
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

impl Namespaces {
    /// The first namespace that is not the same one.
    pub(super) fn differ(&self, other: &Namespaces) -> Option<&'static str> {
        let pairs = self.0.iter().zip(&other.0).zip(NAMESPACES);
        let mut differing = pairs.filter(|((one, other), _)| one != other);
        differing.next().map(|(_, (_, name))| name)
    }
}

/// The name in parentheses may hold anything, so what counts follows the last of them.
pub(super) fn read_stat(stat: &[u8]) -> Option<Stat> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    // From the third field on: the parent is the fourth, the start the twenty-second.
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        parent: words.get(1)?.parse().ok()?,
        started: words.get(19)?.parse().ok()?,
    })
}
