//! Parser for /proc/net/tcp and /proc/net/tcp6: finds the socket at the other end of a loopback
//! connection. Pure; the caller reads the files.
//!
//! Each row shows a socket from its own side, so the peer's row has the peer's address as local and
//! ours as remote. Addresses are hex, each 32-bit word in the machine's byte order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A socket in the kernel's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedSocket {
    /// The user that created it.
    pub(crate) user: u32,
    /// The inode; identifies the socket among the open files of a process.
    pub(crate) inode: u64,
}

/// Finds the peer's socket of the connection `peer` → `ours`, if `table` lists it as established. A
/// closing socket has no owner and is not found.
pub(crate) fn find_socket(table: &str, peer: SocketAddr, ours: SocketAddr) -> Option<ListedSocket> {
    const ESTABLISHED: &str = "01";
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let local = parse_address(columns.next()?)?;
        let remote = parse_address(columns.next()?)?;
        let state = columns.next()?;
        // Then: tx_queue:rx_queue, tr:tm->when, retrnsmt, uid, timeout, inode.
        let user = columns.nth(3)?.parse().ok()?;
        let inode = columns.nth(1)?.parse().ok()?;
        (local == canonical(peer) && remote == canonical(ours) && state == ESTABLISHED)
            .then_some(ListedSocket { user, inode })
    })
}

/// Maps an IPv4-mapped address to IPv4: the IPv6 table lists an IPv4 peer of a dual-stack socket
/// so.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn parse_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(ip)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(ip.get(at * 8..at * 8 + 8)?)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}

fn word(hex: &str) -> Option<[u8; 4]> {
    // The kernel prints each word as a native integer, so its bytes are in network order here.
    u32::from_str_radix(hex, 16).ok().map(u32::to_ne_bytes)
}

#[cfg(test)]
#[path = "procnet_tests.rs"]
mod tests;
