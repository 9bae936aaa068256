//! Tells addresses of the open internet from reserved ones (private, loopback, link-local). Pure.
//!
//! Invariant: an IPv6 address that embeds an IPv4 address is classified by the embedded one; an
//! address that no registry calls global counts as reserved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges that are not on the open internet: the special-purpose registry, and the metadata
/// service of one cloud, which is outside that registry.
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

/// Reserved IPv6 ranges. Everything else outside `2000::/3` is not global either.
const RESERVED_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "private"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
    // Tunnels embed an IPv4 address, which may be private, and another machine forwards to it.
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
/// The prefix that DNS64 servers use for IPv4 hosts in networks without IPv4.
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

/// Returns the kind of a reserved address; `None` for an address of the open internet.
pub fn reserved(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => reserved_v4(address),
        IpAddr::V6(address) => reserved_v6(address),
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    // Equal leading bits become zeros, so their number tells whether the prefix matches.
    let holds = |(start, length, _): &&(Ipv4Addr, u32, &str)| {
        (bits ^ u32::from(*start)).leading_zeros() >= *length
    };
    RESERVED_V4.iter().find(holds).map(|(_, _, what)| *what)
}

fn reserved_v6(address: Ipv6Addr) -> Option<&'static str> {
    // Classified by the embedded address; otherwise `::ffff:127.0.0.1` would pass as IPv6.
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
