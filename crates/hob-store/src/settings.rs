//! The settings of the store: the size of the event log. They can only lower the bounds of the
//! wire, so that what a peer reads there stays true.

use hob_core::retention::RetentionLimits;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_wire::limits::{EVENT_LOG_AGE_MS_MAX, EVENT_LOG_ROWS_MAX};

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "store.events_max",
        SettingKind::Integer {
            min: 1,
            max: EVENT_LOG_ROWS_MAX,
        },
        "1000000",
        "Logged events kept for clients that come back. One that was away for longer is told what it missed.",
    ),
    SettingKey::new(
        "store.events_age",
        SettingKind::Duration {
            min_ms: 60_000,
            max_ms: EVENT_LOG_AGE_MS_MAX,
        },
        "30d",
        "How long a logged event is kept.",
    ),
];

/// Reads the limits of the event log.
pub fn retention(settings: &Settings) -> RetentionLimits {
    RetentionLimits {
        rows_max: settings.u64("store.events_max"),
        age_ms_max: settings.duration_ms("store.events_age"),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
