//! Checks whether this process listens on a port. Read from `/proc`, so that no listener can be
//! missed.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// The state of a listening socket in the kernel's tables.
const LISTENING: &str = "0A";

/// Returns true if this process listens on the TCP port, on any address. Blocks briefly.
pub(crate) fn is_own_listener(port: u16) -> io::Result<bool> {
    let mut inodes = BTreeSet::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        match std::fs::read_to_string(table) {
            Ok(text) => inodes.extend(listeners(&text, port)),
            // A kernel without IPv6 has no such table.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if inodes.is_empty() {
        return Ok(false);
    }
    // The tables list the sockets of all processes. Only an inode among our descriptors is ours.
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

/// The inodes of sockets that listen on the port:
/// `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`.
fn listeners(table: &str, port: u16) -> impl Iterator<Item = u64> {
    table.lines().skip(1).filter_map(move |line| {
        let mut fields = line.split_whitespace();
        let (_, local) = fields.nth(1)?.rsplit_once(':')?;
        let is_listening = fields.nth(1)? == LISTENING;
        let is_port = u16::from_str_radix(local, 16) == Ok(port);
        let inode = fields.nth(5)?.parse().ok()?;
        (is_listening && is_port).then_some(inode)
    })
}

/// `socket:[INODE]`.
fn inode_of(target: &Path) -> Option<u64> {
    let inode = target.to_str()?.strip_prefix("socket:[")?;
    inode.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
#[path = "own_listener_tests.rs"]
mod tests;
