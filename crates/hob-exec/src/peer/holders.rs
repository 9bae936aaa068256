//! Every process that holds a socket, by its inode: a descriptor can be inherited and handed on, so
//! there may be several.

use super::process::Process;
use rustix::fs::Dir;

/// What was found in `/proc`.
#[derive(Debug, Default)]
pub(super) struct Holders {
    pub(super) processes: Vec<Process>,
    /// Processes whose open files the kernel does not show us.
    pub(super) unreadable: usize,
}

/// Looks through the open files of every process.
pub(super) fn of_socket(inode: u64) -> Holders {
    let mut found = Holders::default();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return found;
    };
    let link = format!("socket:[{inode}]");
    let mut buffer = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Some(process) = Process::open(pid) else {
            continue;
        };
        match holds(&process, link.as_bytes(), &mut buffer) {
            Some(true) => found.processes.push(process),
            Some(false) => {}
            None => found.unreadable += 1,
        }
    }
    found
}

/// Whether one of its open files is that link; none when they are not shown.
fn holds(process: &Process, link: &[u8], buffer: &mut Vec<u8>) -> Option<bool> {
    let folder = process.open_files().ok()?;
    let files = Dir::read_from(&folder).ok()?;
    for file in files {
        let Ok(file) = file else {
            break;
        };
        let Ok(target) = rustix::fs::readlinkat(&folder, file.file_name(), std::mem::take(buffer))
        else {
            continue;
        };
        let is_it = target.as_bytes() == link;
        *buffer = target.into_bytes();
        if is_it {
            return Some(true);
        }
    }
    Some(false)
}
