//! SOCKS5 (RFC 1928) without authentication: `CONNECT` to names and addresses. Pure.
//!
//! Invariant: no message is longer than 262 bytes, so nothing is kept of a peer that sends more.

use super::destination::Destination;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The first byte of every message.
pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;

/// Codes of answers.
pub(super) const GRANTED: u8 = 0;
pub(super) const REFUSED: u8 = 2;
pub(super) const UNREACHABLE: u8 = 4;
const COMMAND_UNKNOWN: u8 = 7;
const ADDRESS_UNKNOWN: u8 = 8;

/// How far reading a message came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message<T> {
    /// A whole one, and the bytes it takes of what was read.
    Whole(T, usize),
    Partial,
    /// It is answered with these bytes, and that is the end.
    Wrong(Vec<u8>),
}

/// Reads the methods that a program offers; ours must be among them.
pub(super) fn read_greeting(bytes: &[u8]) -> Message<()> {
    let [VERSION, count, rest @ ..] = bytes else {
        return Message::Partial;
    };
    let count = usize::from(*count);
    match rest.get(..count) {
        None => Message::Partial,
        Some(methods) if methods.contains(&NO_AUTHENTICATION) => Message::Whole((), 2 + count),
        Some(_) => Message::Wrong(vec![VERSION, 0xff]),
    }
}

/// Our choice of a method.
pub(super) const CHOSEN: [u8; 2] = [VERSION, NO_AUTHENTICATION];

/// Reads what a program wants: `5 command 0 kind address port`.
pub(super) fn read_request(bytes: &[u8]) -> Message<Destination> {
    let [version, command, _, kind, rest @ ..] = bytes else {
        return Message::Partial;
    };
    if *version != VERSION {
        return Message::Wrong(reply(REFUSED));
    }
    if *command != CONNECT {
        return Message::Wrong(reply(COMMAND_UNKNOWN));
    }
    match kind {
        1 => address::<4>(rest, |octets| IpAddr::V4(Ipv4Addr::from(octets))),
        4 => address::<16>(rest, |octets| IpAddr::V6(Ipv6Addr::from(octets))),
        3 => name(rest),
        _ => Message::Wrong(reply(ADDRESS_UNKNOWN)),
    }
}

/// An answer. The address that it names is nobody's: programs do not need ours.
pub(super) fn reply(code: u8) -> Vec<u8> {
    vec![VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

fn address<const N: usize>(rest: &[u8], read: fn([u8; N]) -> IpAddr) -> Message<Destination> {
    let Some((octets, rest)) = rest.split_first_chunk::<N>() else {
        return Message::Partial;
    };
    let Some(port) = rest.first_chunk::<2>() else {
        return Message::Partial;
    };
    let place = SocketAddr::new(read(*octets), u16::from_be_bytes(*port));
    Message::Whole(Destination::Address(place), 4 + N + 2)
}

fn name(rest: &[u8]) -> Message<Destination> {
    let Some((length, rest)) = rest.split_first() else {
        return Message::Partial;
    };
    let length = usize::from(*length);
    let Some((name, rest)) = rest.split_at_checked(length) else {
        return Message::Partial;
    };
    let Some(port) = rest.first_chunk::<2>() else {
        return Message::Partial;
    };
    let port = u16::from_be_bytes(*port);
    match std::str::from_utf8(name) {
        // The port is its own field; one in the name would make another host of it.
        Ok(name) if !name.contains(':') => {
            let authority = format!("{name}:{port}");
            Message::Whole(Destination::Authority(authority), 5 + length + 2)
        }
        _ => Message::Wrong(reply(REFUSED)),
    }
}

#[cfg(test)]
#[path = "socks_tests.rs"]
mod tests;
