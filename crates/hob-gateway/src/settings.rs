//! The gateway's configuration keys, and typed access to them. The keys of a dialect are in its own
//! folder.

use crate::address;
use hob_kit::settings::{SettingKey, SettingKind, SettingSource, Settings};
use hob_wire::limits;
use std::time::Duration;

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "listen.address",
        SettingKind::Checked {
            expects: "a loopback address such as 127.0.0.1:7717",
            check: check_address,
        },
        "127.0.0.1:7717",
        "Where the WebSocket and HTTP surfaces listen. Left unset, hob takes port 7717 if it is free and any other if not; an address set here must be free. Only loopback addresses are taken.",
    ),
    SettingKey::new(
        "gateway.ping_interval",
        SettingKind::Duration {
            min_ms: 100,
            max_ms: 3_600_000,
        },
        "30s",
        "Time between two pings on a WebSocket. A peer that has not answered the last one by then is closed. A stream of server-sent events that is silent shows a sign of life as often, and every 15 seconds at least.",
    )
    .live(),
    SettingKey::new(
        "gateway.request_timeout",
        SettingKind::Duration {
            min_ms: 10,
            max_ms: 86_400_000,
        },
        "300s",
        "How long a service in another process may stay silent before its caller gets TIMEOUT. hob's own services end by their own budgets.",
    )
    .live(),
    SettingKey::new(
        "gateway.max_connections",
        SettingKind::Integer {
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

pub fn request_timeout_ms(settings: &Settings) -> u64 {
    settings.duration_ms("gateway.request_timeout")
}

pub(crate) fn connections_max(settings: &Settings) -> usize {
    settings.usize("gateway.max_connections")
}

/// The address of the main listener, and true if the user chose it.
pub(crate) fn listen_address(settings: &Settings) -> (&str, bool) {
    let chosen = settings
        .entry("listen.address")
        .is_some_and(|entry| entry.origin != SettingSource::Default);
    (settings.text("listen.address"), chosen)
}

/// The text of a key that is empty by default, such as the place of an opt-in listener.
pub fn non_empty(settings: &Settings, key: &str) -> Option<String> {
    let text = settings.text(key);
    (!text.is_empty()).then(|| text.to_owned())
}

fn check_address(text: &str) -> Result<(), String> {
    address::parse(text).map(drop)
}

/// Checks the address of an opt-in listener, which may be empty.
pub fn check_optional_address(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    check_address(text)
}
