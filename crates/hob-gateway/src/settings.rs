//! The settings the gateway owns.

use crate::address;
use hob_kit::settings::{Key, Kind, Origin, Settings};
use hob_wire::limits;
use std::time::Duration;

pub const KEYS: &[Key] = &[
    Key::new(
        "listen.address",
        Kind::Checked {
            expects: "a loopback address such as 127.0.0.1:7717",
            check: check_address,
        },
        "127.0.0.1:7717",
        "Where the WebSocket and HTTP surfaces listen. Left unset, hob takes port 7717 if it is free and any other if not; an address set here must be free. Only loopback addresses are taken.",
    )
    .alias("PRYX_LISTEN_ADDR"),
    Key::new(
        "listen.vargos",
        Kind::Checked {
            expects: "a loopback address such as 127.0.0.1:9000, or nothing",
            check: check_optional_address,
        },
        "",
        "A second WebSocket listener for Vargos clients, which can send neither a token nor a path. Setting it is the grant: any program of your user may then call methods of scope control and register services.",
    ),
    Key::new(
        "gateway.ping_interval",
        Kind::Duration {
            min_ms: 100,
            max_ms: 3_600_000,
        },
        "30s",
        "Time between two pings on a WebSocket. A peer that has not answered the last one by then is closed.",
    )
    .live(),
    Key::new(
        "gateway.request_timeout",
        Kind::Duration {
            min_ms: 10,
            max_ms: 86_400_000,
        },
        "300s",
        "How long a service may stay silent before its caller gets TIMEOUT.",
    )
    .live(),
    Key::new(
        "gateway.max_connections",
        Kind::Integer {
            min: 1,
            max: limits::CONNECTIONS_MAX as u64,
        },
        "20000",
        "Connections at once, over all listeners.",
    ),
];

pub(crate) fn ping_interval(settings: &Settings) -> Duration {
    Duration::from_millis(settings.duration_ms("gateway.ping_interval"))
}

pub(crate) fn request_timeout_ms(settings: &Settings) -> u64 {
    settings.duration_ms("gateway.request_timeout")
}

pub(crate) fn connections_max(settings: &Settings) -> usize {
    settings.usize("gateway.max_connections")
}

/// The address of the first listener, and whether a person chose it.
pub(crate) fn listen_address(settings: &Settings) -> (&str, bool) {
    let chosen = settings
        .entry("listen.address")
        .is_some_and(|entry| entry.origin != Origin::Default);
    (settings.text("listen.address"), chosen)
}

/// The address of the listener for Vargos clients, if one was opened.
pub(crate) fn vargos_address(settings: &Settings) -> Option<&str> {
    Some(settings.text("listen.vargos")).filter(|text| !text.is_empty())
}

fn check_address(text: &str) -> Result<(), String> {
    address::parse(text).map(drop)
}

fn check_optional_address(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    check_address(text)
}
