//! Which addresses are the open internet's, and which lead back into a machine or its house. Pure.
//!
//! Invariant: an IPv6 address that carries an IPv4 one is judged by what it carries; what no
//! registry calls global is not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges that are not the open internet's: the special-purpose registry, and the one
/// metadata service that a cloud put outside of it.
const RESERVED_V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "cloud metadata"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for examples"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for examples"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for examples"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// IPv6 ranges with a name of their own; whatever else lies outside `2000::/3` is not global.
const RESERVED_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "private"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
    // Tunnels: they carry an IPv4 address that another machine unwraps.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a tunnel"),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "for examples",
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "for examples",
    ),
];

const MAPPED: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0);
/// A name server of a network without IPv4 answers with these for every host of the old internet.
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

/// What an address is, if it is not one of the open internet.
pub fn reserved(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => reserved_v4(address),
        IpAddr::V6(address) => reserved_v6(address),
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let holds = |(start, length, _): &&(Ipv4Addr, u32, &str)| {
        (bits ^ u32::from(*start)).leading_zeros() >= *length
    };
    RESERVED_V4.iter().find(holds).map(|(_, _, what)| *what)
}

fn reserved_v6(address: Ipv6Addr) -> Option<&'static str> {
    if is_in(address, MAPPED, 96) || is_in(address, NAT64, 96) {
        let [.., a, b, c, d] = address.octets();
        return reserved_v4(Ipv4Addr::new(a, b, c, d));
    }
    let holds = |(start, length, _): &&(Ipv6Addr, u32, &str)| is_in(address, *start, *length);
    let named = RESERVED_V6.iter().find(holds).map(|(_, _, what)| *what);
    named.or_else(|| (!is_in(address, GLOBAL, 3)).then_some("not global"))
}

fn is_in(address: Ipv6Addr, start: Ipv6Addr, length: u32) -> bool {
    (u128::from(address) ^ u128::from(start)).leading_zeros() >= length
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
