//! Checks whether this process listens on a port. The kernel is asked, so that no listener can be
//! missed.

use crate::listening_sockets::listening_sockets;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Returns true if this process listens on the TCP port, on any address. Blocks briefly.
pub(crate) fn is_own_listener(port: u16) -> io::Result<bool> {
    let sockets = listening_sockets(port)?;
    let inodes: BTreeSet<u64> = sockets.iter().map(|socket| socket.inode).collect();
    if inodes.is_empty() {
        return Ok(false);
    }
    // These are the sockets of all processes. Only an inode among our descriptors is ours.
    for entry in std::fs::read_dir("/proc/self/fd")? {
        // A descriptor may have been closed in the meantime.
        let Ok(target) = std::fs::read_link(entry?.path()) else {
            continue;
        };
        if inode_of(&target).is_some_and(|inode| inodes.contains(&inode)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `socket:[INODE]`.
fn inode_of(target: &Path) -> Option<u64> {
    let inode = target.to_str()?.strip_prefix("socket:[")?;
    inode.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
#[path = "own_listener_tests.rs"]
mod tests;
