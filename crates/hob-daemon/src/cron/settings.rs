//! What a person may choose of jobs, and the heartbeat that the settings make.

use hob_core::schedule::Hours;
use hob_kit::settings::{Key, Kind, Settings};
use hob_wire::rooms::cron::{HEARTBEAT, HeartbeatWork, JobTerms, NotifyView, Overlap, Work};
use jiff::tz::TimeZone;

/// The zone of a machine that names none of its own.
const LOCAL: &str = "local";

const ZONE: Kind = Kind::Checked {
    expects: "an IANA time zone such as \"Europe/Berlin\", or \"local\"",
    check: |text| zone(text).map(|_| ()),
};

const HOURS: Kind = Kind::Checked {
    expects: "hours such as \"08:00-22:00\", or nothing for the whole day",
    check: |text| match text {
        "" => Ok(()),
        _ => Hours::parse(text).map(|_| ()),
    },
};

pub const KEYS: &[Key] = &[
    Key::new(
        "cron.zone",
        ZONE,
        LOCAL,
        "The time zone of jobs that name none; local is the machine's own.",
    ),
    Key::new(
        "cron.at_once",
        Kind::Integer { min: 1, max: 4_096 },
        "256",
        "Jobs at work at once. The others wait for their turn.",
    )
    .live(),
    Key::new(
        "heartbeat.enabled",
        Kind::Bool,
        "false",
        "Whether hob looks after what HEARTBEAT.md of its home says, again and again. While that file says nothing, no model is asked.",
    )
    .live(),
    Key::new(
        "heartbeat.every",
        Kind::Duration {
            min_ms: 10_000,
            max_ms: 30 * 24 * 3_600_000,
        },
        "30m",
        "How often the heartbeat looks.",
    )
    .live(),
    Key::new(
        "heartbeat.active_hours",
        HOURS,
        "",
        "Only at this time of the day, such as 08:00-22:00; the whole day when empty.",
    )
    .live(),
    Key::new(
        "heartbeat.model",
        Kind::Text,
        "",
        "The model of the heartbeat; the default model when empty.",
    )
    .live(),
    Key::new(
        "heartbeat.notify",
        Kind::Text,
        "",
        "The key of a session that is told what the heartbeat found, such as chat:main. An answer that all is well is not told.",
    )
    .live(),
];

/// A time zone by its name.
pub(super) fn zone(name: &str) -> Result<TimeZone, String> {
    if name == LOCAL || name.is_empty() {
        return Ok(TimeZone::system());
    }
    TimeZone::get(name).map_err(|_| match TimeZone::get("Europe/Berlin") {
        Ok(_) => format!("'{name}' is no time zone; write one such as Europe/Berlin or UTC."),
        Err(_) if name == "UTC" => "UTC".to_owned(),
        Err(_) => "This machine has no time zone database; install the package `tzdata`, or leave the zone out.".to_owned(),
    })
}

/// The heartbeat as the settings want it; none when they do not.
pub(super) fn heartbeat(settings: &Settings) -> Option<JobTerms> {
    if !settings.bool("heartbeat.enabled") {
        return None;
    }
    let text = |path: &str| {
        let text = settings.text(path).trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let every_s = settings.duration_ms("heartbeat.every") / 1_000;
    Some(JobTerms {
        name: HEARTBEAT.to_owned(),
        schedule: format!("every {every_s}s"),
        description: Some("Made by the settings [heartbeat].".to_owned()),
        work: Work::Heartbeat(HeartbeatWork {
            model: text("heartbeat.model"),
            budget: None,
        }),
        overlap: Overlap::Skip,
        active_hours: text("heartbeat.active_hours"),
        notify: text("heartbeat.notify").map(|session_key| NotifyView {
            session_key,
            failures_only: false,
        }),
        // It is not given up: the next look may find the model again.
        failures_max: 0,
        ..JobTerms::default()
    })
}
