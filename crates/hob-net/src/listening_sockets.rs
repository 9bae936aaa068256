//! The listening TCP sockets of this machine on one port, with their owners.
//!
//! The kernel answers a `sock_diag` request over netlink in microseconds. A kernel without that
//! module has `/proc/net/tcp` and `tcp6`; there the kernel walks its whole table of connections,
//! which takes milliseconds.

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/// The state of a listening socket in the tables.
const LISTENING: &str = "0A";

/// `SOCK_DIAG_BY_FAMILY`, the type of a request and of each socket in its answer.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP_REQUEST: u16 = 0x301;
/// The bit of `TCP_LISTEN` in the set of wanted states.
const LISTEN_STATE: u32 = 1 << 10;
const TCP: u8 = 6;
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// The kernel answers before `send` returns. The timeout only prevents a hang.
const ANSWER_WAIT: Duration = Duration::from_secs(1);

/// A listening TCP socket of any process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListeningSocket {
    /// IPv4-mapped IPv6 addresses are given as IPv4.
    pub(crate) address: IpAddr,
    pub(crate) user: u32,
    pub(crate) inode: u64,
}

/// Returns the sockets that listen on the port, on any address. Blocks briefly.
pub(crate) fn listening_sockets(port: u16) -> io::Result<Vec<ListeningSocket>> {
    match from_kernel(port) {
        Ok(sockets) => Ok(sockets),
        Err(_) => from_tables(port),
    }
}

fn from_kernel(port: u16) -> io::Result<Vec<ListeningSocket>> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_WAIT))?;
    let mut sockets = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let request = diag_request(family, port);
        rustix::net::send(&socket, &request, SendFlags::empty())?;
        read_answer(&socket, port, &mut sockets)?;
    }
    Ok(sockets)
}

/// An `nlmsghdr` followed by an `inet_diag_req_v2` that asks for the listeners of one port.
fn diag_request(family: AddressFamily, port: u16) -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    let mut put = |at: usize, bytes: &[u8]| {
        for (to, from) in request.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    };
    let length = u32::try_from(REQUEST_BYTES).unwrap_or_default();
    put(0, &length.to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &DUMP_REQUEST.to_ne_bytes());
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    put(HEADER_BYTES, &[family, TCP]);
    put(HEADER_BYTES + 4, &LISTEN_STATE.to_ne_bytes());
    put(HEADER_BYTES + 8, &port.to_be_bytes());
    request
}

/// Reads the messages of one answer, until the kernel says that it is complete.
fn read_answer(socket: &OwnedFd, port: u16, sockets: &mut Vec<ListeningSocket>) -> io::Result<()> {
    let mut buffer = vec![0; ANSWER_BYTES_MAX];
    loop {
        let (length, _) =
            rustix::net::recv(socket.as_fd(), buffer.as_mut_slice(), RecvFlags::empty())?;
        let mut rest = buffer.get(..length).unwrap_or_default();
        if rest.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while let Some((kind, body, after)) = next_message(rest) {
            match kind {
                DONE => return Ok(()),
                ERROR => return Err(io::ErrorKind::Unsupported.into()),
                // Older kernels ignore the port of a request and send all listeners.
                _ => sockets.extend(diag_socket(body, port)),
            }
            rest = after;
        }
    }
}

/// Splits the first netlink message off: its type, its body, and the bytes after it.
fn next_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?);
    let length = usize::try_from(length).ok()?;
    let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    let body = bytes.get(HEADER_BYTES..length)?;
    // Messages begin at multiples of four bytes.
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, body, after))
}

/// Decodes an `inet_diag_msg`, if it is a listener of this port.
fn diag_socket(body: &[u8], port: u16) -> Option<ListeningSocket> {
    let word = |at: usize| body.get(at..)?.first_chunk().copied();
    if u16::from_be_bytes(*body.get(4..)?.first_chunk()?) != port {
        return None;
    }
    let address = match AddressFamily::from_raw(u16::from(*body.first()?)) {
        AddressFamily::INET => IpAddr::V4(Ipv4Addr::from(word(8)?)),
        AddressFamily::INET6 => {
            let bytes: [u8; 16] = *body.get(8..)?.first_chunk()?;
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(ListeningSocket {
        address: address.to_canonical(),
        user: u32::from_ne_bytes(word(64)?),
        inode: u64::from(u32::from_ne_bytes(word(68)?)),
    })
}

fn from_tables(port: u16) -> io::Result<Vec<ListeningSocket>> {
    let mut sockets = Vec::new();
    for table in TABLES {
        match std::fs::read_to_string(table) {
            Ok(rows) => sockets.extend(rows.lines().filter_map(|row| table_socket(row, port))),
            // A kernel without IPv6 has no such table.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sockets)
}

/// Parses a row, if it is a listener of this port:
/// `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`.
fn table_socket(row: &str, port: u16) -> Option<ListeningSocket> {
    let mut columns = row.split_ascii_whitespace().skip(1);
    let (address, its_port) = columns.next()?.split_once(':')?;
    let state = columns.nth(1)?;
    if state != LISTENING || u16::from_str_radix(its_port, 16) != Ok(port) {
        return None;
    }
    Some(ListeningSocket {
        address: table_address(address)?,
        user: columns.nth(3)?.parse().ok()?,
        inode: columns.nth(1)?.parse().ok()?,
    })
}

/// Addresses in the tables are hex, each 32-bit word in the machine's byte order.
fn table_address(hex: &str) -> Option<IpAddr> {
    let word = |hex: &str| u32::from_str_radix(hex, 16).ok().map(u32::to_ne_bytes);
    let address = match hex.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(hex)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(hex.get(at * 8..at * 8 + 8)?)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
#[path = "listening_sockets_tests.rs"]
mod tests;
