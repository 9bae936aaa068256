//! Finds every process that holds a socket, by its inode. A descriptor can be inherited and passed
//! on, so there may be several.

use super::process::ProcessHandle;
use rustix::fs::Dir;

/// The holders found in `/proc`.
#[derive(Debug, Default)]
pub(super) struct SocketHolders {
    pub(super) processes: Vec<ProcessHandle>,
    /// The number of processes whose open files cannot be read.
    pub(super) unreadable: usize,
}

/// Searches the open files of every process.
pub(super) fn find_holders(inode: u64) -> SocketHolders {
    let mut found = SocketHolders::default();
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
        let Some(process) = ProcessHandle::open(pid) else {
            continue;
        };
        match holds_socket(&process, link.as_bytes(), &mut buffer) {
            Some(true) => found.processes.push(process),
            Some(false) => {}
            None => found.unreadable += 1,
        }
    }
    found
}

/// Returns true if one of its open files is that link; none if they cannot be read.
fn holds_socket(process: &ProcessHandle, link: &[u8], buffer: &mut Vec<u8>) -> Option<bool> {
    let folder = process.open_files().ok()?;
    let files = Dir::read_from(&folder).ok()?;
    for file in files {
        let Ok(file) = file else {
            // The process has ended meanwhile, and so has its hold on the socket.
            break;
        };
        // The buffer is reused, because a machine may have many thousand open files.
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
