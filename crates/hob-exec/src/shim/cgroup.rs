//! A control group of the run's own, where we may make one: it bounds the number of processes and
//! ends them all with one write. Both generations of cgroups are tried.
//!
//! Invariant: a cage is removed with its run; one left by a killed shim is removed by the next
//! probe, as soon as it is empty.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "hob-run-";
/// A group can be removed a moment after its last process is gone.
const REMOVE_TRIES: usize = 50;
const REMOVE_PAUSE: Duration = Duration::from_millis(4);

/// The run's groups: one that counts processes, and perhaps one that can kill.
#[derive(Debug)]
pub(super) struct Cage {
    folders: Vec<PathBuf>,
    /// Whether the number of processes is bounded.
    pub(super) counts: bool,
}

impl Cage {
    /// Makes what can be made; none when nothing can. Without a number nothing is counted.
    pub(super) fn make(processes: Option<u64>) -> Option<Cage> {
        let name = format!("{PREFIX}{}", std::process::id());
        let mut cage = Cage {
            folders: Vec::new(),
            counts: false,
        };
        for parent in parents() {
            let folder = parent.join(&name);
            if std::fs::create_dir(&folder).is_err() {
                continue;
            }
            let bounded = !cage.counts
                && processes.is_some_and(|processes| {
                    let file = folder.join("pids.max");
                    file.exists() && std::fs::write(file, processes.to_string()).is_ok()
                });
            cage.counts |= bounded;
            cage.folders.push(folder.clone());
            if !bounded && !folder.join("cgroup.kill").exists() {
                cage.folders.pop();
                let _ = std::fs::remove_dir(&folder);
            }
        }
        (!cage.folders.is_empty()).then_some(cage)
    }

    /// The files through which a process enters, opened while we still may.
    pub(super) fn doors(&self) -> io::Result<Vec<File>> {
        let open = |folder: &PathBuf| {
            OpenOptions::new()
                .write(true)
                .open(folder.join("cgroup.procs"))
        };
        self.folders.iter().map(open).collect()
    }

    /// Kills all that is inside, where the kernel can.
    pub(super) fn kill(&self) {
        for folder in &self.folders {
            let _ = std::fs::write(folder.join("cgroup.kill"), "1");
        }
    }

    pub(super) fn remove(&self) {
        for folder in &self.folders {
            for _ in 0..REMOVE_TRIES {
                match std::fs::remove_dir(folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(REMOVE_PAUSE);
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Moves the calling process into the cage.
pub(super) fn enter(doors: &mut [File]) -> io::Result<()> {
    doors.iter_mut().try_for_each(|door| door.write_all(b"0"))
}

/// Removes what killed shims left; a group with processes in it stays.
pub(super) fn sweep() {
    for parent in parents() {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        let left = entries.filter(|entry| {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
        });
        for entry in left {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// Folders of our own groups: the one of the unified tree and the one that counts processes.
fn parents() -> Vec<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    places(&groups, &mounts)
}

fn places(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let unified = controllers.is_empty();
        if !unified && !controllers.split(',').any(|name| name == "pids") {
            continue;
        }
        if let Some(root) = mount_point(mounts, unified) {
            found.push(Path::new(root).join(path.trim_start_matches('/')));
        }
    }
    found
}

/// `… MOUNTPOINT … - TYPE SOURCE OPTIONS` of `/proc/self/mountinfo`.
fn mount_point(mounts: &str, unified: bool) -> Option<&str> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let fits = match kind.next()? {
            "cgroup2" => unified,
            "cgroup" => !unified && kind.nth(1)?.split(',').any(|option| option == "pids"),
            _ => false,
        };
        place.split(' ').nth(4).filter(|_| fits)
    })
}

#[cfg(test)]
#[path = "cage_tests.rs"]
mod tests;
