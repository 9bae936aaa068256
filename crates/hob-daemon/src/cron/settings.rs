//! The config keys of jobs, and the heartbeat job that they define.

use hob_core::schedule::ActiveHours;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_wire::rooms::cron::{
    HEARTBEAT, HeartbeatWork, JobDefinition, JobWork, NotifyTargetView, OverlapPolicy,
};
use jiff::tz::TimeZone;

/// The name of the machine's own zone.
const LOCAL: &str = "local";

const ZONE: SettingKind = SettingKind::Checked {
    expects: "an IANA time zone such as \"Europe/Berlin\", or \"local\"",
    check: |text| parse_zone(text).map(|_| ()),
};

const HOURS: SettingKind = SettingKind::Checked {
    expects: "hours such as \"08:00-22:00\", or nothing for the whole day",
    check: |text| match text {
        "" => Ok(()),
        _ => ActiveHours::parse(text).map(|_| ()),
    },
};

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "cron.zone",
        ZONE,
        LOCAL,
        "The time zone of jobs that name none; local is the machine's zone.",
    ),
    SettingKey::new(
        "cron.at_once",
        SettingKind::Integer { min: 1, max: 4_096 },
        "256",
        "Jobs that may run at once. The others wait.",
    )
    .live(),
    SettingKey::new(
        "heartbeat.enabled",
        SettingKind::Bool,
        "false",
        "Runs the agent regularly on the file HEARTBEAT.md in hob's home. While that file is empty or missing, no model is asked.",
    )
    .live(),
    SettingKey::new(
        "heartbeat.every",
        SettingKind::Duration {
            min_ms: 10_000,
            max_ms: 30 * 24 * 3_600_000,
        },
        "30m",
        "The time between two heartbeats.",
    )
    .live(),
    SettingKey::new(
        "heartbeat.active_hours",
        HOURS,
        "",
        "The hours in which the heartbeat runs, such as 08:00-22:00; the whole day when empty.",
    )
    .live(),
    SettingKey::new(
        "heartbeat.model",
        SettingKind::Text,
        "",
        "The model of the heartbeat; the default model when empty.",
    )
    .live(),
    SettingKey::new(
        "heartbeat.notify",
        SettingKind::Text,
        "",
        "The session that gets the heartbeat's answer, such as chat:main. An answer that all is well is not sent.",
    )
    .live(),
];

/// Parses the name of a time zone.
pub(super) fn parse_zone(name: &str) -> Result<TimeZone, String> {
    if name == LOCAL || name.is_empty() {
        return Ok(TimeZone::system());
    }
    // A known zone tells a wrong name from a machine without a zone database.
    TimeZone::get(name).map_err(|_| match TimeZone::get("Europe/Berlin") {
        Ok(_) => format!("'{name}' is not a time zone; use one such as Europe/Berlin or UTC."),
        Err(_) if name == "UTC" => "UTC".to_owned(),
        Err(_) => "This machine has no time zone database; install the package `tzdata`, or leave the zone out.".to_owned(),
    })
}

/// Returns the definition of the heartbeat job; none when it is disabled.
pub(super) fn heartbeat_terms(settings: &Settings) -> Option<JobDefinition> {
    if !settings.bool("heartbeat.enabled") {
        return None;
    }
    let text = |path: &str| {
        let text = settings.text(path).trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let every_s = settings.duration_ms("heartbeat.every") / 1_000;
    Some(JobDefinition {
        name: HEARTBEAT.to_owned(),
        schedule: format!("every {every_s}s"),
        description: Some("Made by the settings [heartbeat].".to_owned()),
        work: JobWork::Heartbeat(HeartbeatWork {
            model: text("heartbeat.model"),
            budget: None,
        }),
        overlap: OverlapPolicy::Skip,
        active_hours: text("heartbeat.active_hours"),
        notify: text("heartbeat.notify").map(|session_key| NotifyTargetView {
            session_key,
            failures_only: false,
        }),
        // Never disabled for failures: the model may be back at the next beat.
        failures_max: 0,
        ..JobDefinition::default()
    })
}
