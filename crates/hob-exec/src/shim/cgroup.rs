//! A cgroup for one run, where the shim may create one. It limits the number of processes and kills
//! them all with one write. Both cgroup versions are tried.
//!
//! Invariant: a cgroup is removed with its run. The next probe removes one that a killed shim left,
//! as soon as it is empty.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "hob-run-";
/// Attempts to remove a cgroup: it stays busy for a moment after its last process is gone.
const REMOVE_TRIES: usize = 50;
const REMOVE_PAUSE: Duration = Duration::from_millis(4);

/// The cgroups of a run: one that limits processes, and perhaps another one that can kill them.
#[derive(Debug)]
pub(super) struct RunCgroup {
    folders: Vec<PathBuf>,
    /// True if the number of processes is limited.
    pub(super) limits_processes: bool,
}

impl RunCgroup {
    /// Creates the possible cgroups; none if there are none. Without `processes` nothing is
    /// limited.
    pub(super) fn create(processes: Option<u64>) -> Option<RunCgroup> {
        let name = format!("{PREFIX}{}", std::process::id());
        let mut cgroup = RunCgroup {
            folders: Vec::new(),
            limits_processes: false,
        };
        for parent in own_cgroup_folders() {
            let folder = parent.join(&name);
            // Without delegation the parent is not writable, which is usual outside of a user
            // service.
            if std::fs::create_dir(&folder).is_err() {
                continue;
            }
            let bounded = !cgroup.limits_processes
                && processes.is_some_and(|processes| {
                    let file = folder.join("pids.max");
                    file.exists() && std::fs::write(file, processes.to_string()).is_ok()
                });
            cgroup.limits_processes |= bounded;
            cgroup.folders.push(folder.clone());
            // A group that can neither limit nor kill is useless.
            if !bounded && !folder.join("cgroup.kill").exists() {
                cgroup.folders.pop();
                let _ = std::fs::remove_dir(&folder);
            }
        }
        (!cgroup.folders.is_empty()).then_some(cgroup)
    }

    /// Opens the `cgroup.procs` files in advance. The forked child writes to them to enter.
    pub(super) fn open_procs_files(&self) -> io::Result<Vec<File>> {
        let open = |folder: &PathBuf| {
            OpenOptions::new()
                .write(true)
                .open(folder.join("cgroup.procs"))
        };
        self.folders.iter().map(open).collect()
    }

    /// Kills all processes inside, if the kernel supports it.
    pub(super) fn kill(&self) {
        for folder in &self.folders {
            // Version 1 and kernels before 5.14 lack this file; `tree::kill_all` follows in any
            // case.
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

/// Moves the calling process into the cgroup.
pub(super) fn enter(procs_files: &mut [File]) -> io::Result<()> {
    // The kernel takes 0 as the pid of the writing process.
    procs_files
        .iter_mut()
        .try_for_each(|file| file.write_all(b"0"))
}

/// Removes cgroups that killed shims left. A group with processes in it stays.
pub(super) fn remove_stale() {
    for parent in own_cgroup_folders() {
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

/// The folders of this process's cgroups: the unified one and the one with the pids controller.
fn own_cgroup_folders() -> Vec<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    cgroup_folders(&groups, &mounts)
}

fn cgroup_folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        // Only the first two colons separate fields: a cgroup's path may contain more of them.
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
#[path = "cgroup_tests.rs"]
mod tests;
