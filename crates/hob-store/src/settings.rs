//! The settings the store owns: how much of the event log is kept. They can only lower the bounds
//! of the wire, so what a peer reads there stays true.

use hob_core::retention::Limits;
use hob_kit::settings::{Key, Kind, Settings};
use hob_wire::limits::{EVENT_LOG_AGE_MS_MAX, EVENT_LOG_ROWS_MAX};

pub const KEYS: &[Key] = &[
    Key::new(
        "store.events_max",
        Kind::Integer {
            min: 1,
            max: EVENT_LOG_ROWS_MAX,
        },
        "1000000",
        "Logged events kept for clients that come back. One that was away for longer is told what it missed.",
    ),
    Key::new(
        "store.events_age",
        Kind::Duration {
            min_ms: 60_000,
            max_ms: EVENT_LOG_AGE_MS_MAX,
        },
        "30d",
        "How long a logged event is kept.",
    ),
];

/// How much of the event log is kept.
pub fn retention(settings: &Settings) -> Limits {
    Limits {
        rows_max: settings.u64("store.events_max"),
        age_ms_max: settings.duration_ms("store.events_age"),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
