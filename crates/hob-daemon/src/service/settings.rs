//! What a person may choose of any service.

use hob_kit::settings::{Key, Kind, Settings, Value};
use hob_services::{Descriptor, Port};
use std::time::Duration;

pub const KEYS: &[Key] = &[
    Key::new(
        "services.*.autostart",
        Kind::Bool,
        "false",
        "Whether the service is started with the daemon. Beats what its descriptor says.",
    )
    .live(),
    Key::new(
        "services.*.port",
        Kind::Integer {
            min: 0,
            max: 65_535,
        },
        "0",
        "The port the service is given at its next start; 0 is a free one. Beats its descriptor.",
    )
    .live(),
    hob_services::trust::KEY,
];

fn value<'s>(settings: &'s Settings, name: &str, key: &str) -> Option<&'s Value> {
    let path = format!("services.{name}.{key}");
    settings.entry(&path).map(|entry| &entry.value)
}

/// Whether it starts with the daemon.
pub(super) fn autostart(settings: &Settings, descriptor: &Descriptor) -> bool {
    match value(settings, &descriptor.name, "autostart") {
        Some(Value::Bool(wanted)) => *wanted,
        _ => descriptor.autostart,
    }
}

/// The port it is given.
pub(super) fn port(settings: &Settings, descriptor: &Descriptor) -> Port {
    match value(settings, &descriptor.name, "port") {
        Some(Value::Integer(0)) => Port::Free,
        Some(Value::Integer(port)) => u16::try_from(*port).map_or(Port::Free, Port::Fixed),
        _ => descriptor.port,
    }
}

/// How long it stays without use. One that ships may have a setting `NAME.idle` of its own.
pub(super) fn idle(settings: &Settings, descriptor: &Descriptor) -> Option<Duration> {
    let own = settings.entry(&format!("{}.idle", descriptor.name));
    match own.map(|entry| &entry.value) {
        Some(Value::DurationMs(0)) => None,
        Some(Value::DurationMs(idle_ms)) => Some(Duration::from_millis(*idle_ms)),
        _ => descriptor.idle,
    }
}
