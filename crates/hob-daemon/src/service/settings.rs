//! The config keys of every service, and reading them.

use hob_kit::settings::{SettingKey, SettingKind, SettingValue, Settings};
use hob_services::{PortChoice, ServiceDescriptor};
use std::time::Duration;

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "services.*.autostart",
        SettingKind::Bool,
        "false",
        "Starts the service with the daemon. Overrides its descriptor.",
    )
    .live(),
    SettingKey::new(
        "services.*.port",
        SettingKind::Integer {
            min: 0,
            max: 65_535,
        },
        "0",
        "The port of the service from its next start on; 0 is any free port. Overrides its descriptor.",
    )
    .live(),
    hob_services::trust::KEY,
];

fn value<'s>(settings: &'s Settings, name: &str, key: &str) -> Option<&'s SettingValue> {
    let path = format!("services.{name}.{key}");
    settings.entry(&path).map(|entry| &entry.value)
}

/// Returns true if the service starts with the daemon.
pub(super) fn autostart(settings: &Settings, descriptor: &ServiceDescriptor) -> bool {
    match value(settings, &descriptor.name, "autostart") {
        Some(SettingValue::Bool(wanted)) => *wanted,
        _ => descriptor.autostart,
    }
}

/// Returns the port that the service is given.
pub(super) fn port(settings: &Settings, descriptor: &ServiceDescriptor) -> PortChoice {
    match value(settings, &descriptor.name, "port") {
        Some(SettingValue::Integer(0)) => PortChoice::Free,
        Some(SettingValue::Integer(port)) => {
            u16::try_from(*port).map_or(PortChoice::Free, PortChoice::Fixed)
        }
        _ => descriptor.port,
    }
}

/// Returns the idle time after which the service stops. A service that ships with hob may have its
/// own setting `NAME.idle`.
pub(super) fn idle(settings: &Settings, descriptor: &ServiceDescriptor) -> Option<Duration> {
    let own = settings.entry(&format!("{}.idle", descriptor.name));
    match own.map(|entry| &entry.value) {
        Some(SettingValue::DurationMs(0)) => None,
        Some(SettingValue::DurationMs(idle_ms)) => Some(Duration::from_millis(*idle_ms)),
        _ => descriptor.idle,
    }
}
