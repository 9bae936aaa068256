//! SOCKS5 (RFC 1928) without authentication: `CONNECT` to names and addresses. Pure.
//!
//! Invariant: no message is longer than 262 bytes, so the buffer for a peer is bounded.

use super::destination::ProxyDestination;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The first byte of every message.
pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;

/// The reply codes.
pub(super) const GRANTED: u8 = 0;
pub(super) const REFUSED: u8 = 2;
pub(super) const UNREACHABLE: u8 = 4;
const COMMAND_UNKNOWN: u8 = 7;
const ADDRESS_UNKNOWN: u8 = 8;

/// The result of parsing a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SocksParse<T> {
    /// A complete message and its length.
    Whole(T, usize),
    Partial,
    /// An invalid message, with the final answer to it.
    Wrong(Vec<u8>),
}

/// Parses the authentication methods that a program offers. Ours must be among them.
pub(super) fn read_greeting(bytes: &[u8]) -> SocksParse<()> {
    let [VERSION, count, rest @ ..] = bytes else {
        // The caller has seen the version already, so the message is only too short.
        return SocksParse::Partial;
    };
    let count = usize::from(*count);
    match rest.get(..count) {
        None => SocksParse::Partial,
        Some(methods) if methods.contains(&NO_AUTHENTICATION) => SocksParse::Whole((), 2 + count),
        Some(_) => SocksParse::Wrong(vec![VERSION, 0xff]),
    }
}

/// The answer that selects our authentication method.
pub(super) const CHOSEN: [u8; 2] = [VERSION, NO_AUTHENTICATION];

/// Parses a request: `5 command 0 kind address port`.
pub(super) fn read_request(bytes: &[u8]) -> SocksParse<ProxyDestination> {
    let [version, command, _, kind, rest @ ..] = bytes else {
        return SocksParse::Partial;
    };
    if *version != VERSION {
        return SocksParse::Wrong(reply(REFUSED));
    }
    if *command != CONNECT {
        return SocksParse::Wrong(reply(COMMAND_UNKNOWN));
    }
    match kind {
        1 => address::<4>(rest, |octets| IpAddr::V4(Ipv4Addr::from(octets))),
        4 => address::<16>(rest, |octets| IpAddr::V6(Ipv6Addr::from(octets))),
        3 => name(rest),
        _ => SocksParse::Wrong(reply(ADDRESS_UNKNOWN)),
    }
}

/// Builds a reply. Its address is 0.0.0.0, because programs do not need ours.
pub(super) fn reply(code: u8) -> Vec<u8> {
    vec![VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

fn address<const N: usize>(
    rest: &[u8],
    read: fn([u8; N]) -> IpAddr,
) -> SocksParse<ProxyDestination> {
    let Some((octets, rest)) = rest.split_first_chunk::<N>() else {
        return SocksParse::Partial;
    };
    let Some(port) = rest.first_chunk::<2>() else {
        return SocksParse::Partial;
    };
    let place = SocketAddr::new(read(*octets), u16::from_be_bytes(*port));
    SocksParse::Whole(ProxyDestination::Address(place), 4 + N + 2)
}

fn name(rest: &[u8]) -> SocksParse<ProxyDestination> {
    let Some((length, rest)) = rest.split_first() else {
        return SocksParse::Partial;
    };
    let length = usize::from(*length);
    let Some((name, rest)) = rest.split_at_checked(length) else {
        return SocksParse::Partial;
    };
    let Some(port) = rest.first_chunk::<2>() else {
        return SocksParse::Partial;
    };
    let port = u16::from_be_bytes(*port);
    match std::str::from_utf8(name) {
        // The port has its own field; a port inside the name would change the host.
        Ok(name) if !name.contains(':') => {
            let authority = format!("{name}:{port}");
            SocksParse::Whole(ProxyDestination::Authority(authority), 5 + length + 2)
        }
        _ => SocksParse::Wrong(reply(REFUSED)),
    }
}

#[cfg(test)]
#[path = "socks_tests.rs"]
mod tests;
