//! Due times by table, over the days on which clocks are put forward and back, and by chance.

use super::{Calendar, RECENT_MAX};
use crate::schedule::ActiveHours;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).expect("the machine has a time zone database")
}

fn at(text: &str) -> u64 {
    let instant: Timestamp = text.parse().unwrap();
    u64::try_from(instant.as_millisecond()).unwrap()
}

fn shown(at_ms: u64, zone: &TimeZone) -> String {
    let instant = Timestamp::from_millisecond(i64::try_from(at_ms).unwrap()).unwrap();
    instant
        .to_zoned(zone.clone())
        .strftime("%m-%d %H:%M:%S %:z")
        .to_string()
}

fn few(line: &str, name: &str, from: &str, count: usize) -> Vec<String> {
    let zone = zone(name);
    let calendar = Calendar::parse(line, zone.clone(), at(from)).unwrap();
    let times = calendar.next_few(at(from), None, count);
    times.into_iter().map(|time| shown(time, &zone)).collect()
}

#[test]
fn the_field_that_is_wrong_is_named() {
    for (line, says) in [
        (
            "61 * * * *",
            "'61' is not a valid minute in '61 * * * *'; it takes 0 to 59",
        ),
        ("0 0 24 * * *", "'24' is not a valid hour"),
        ("* * * FOO *", "'FOO' is not a valid month"),
        ("* * 32 * MON", "'32' is not a valid day of the month"),
        (
            "* * * * MONDAYS",
            "'MONDAYS' is not a valid day of the week",
        ),
    ] {
        let refused = Calendar::parse(line, TimeZone::UTC, 0).expect_err("is wrong");
        assert!(refused.starts_with(says), "{line}: {refused}");
    }
}

#[test]
fn fields_descriptors_and_intervals() {
    let from = "2026-11-16T10:00:30Z";
    assert_eq!(
        few("0 9 * * MON-FRI", "UTC", from, 3),
        [
            "11-17 09:00:00 +00:00",
            "11-18 09:00:00 +00:00",
            "11-19 09:00:00 +00:00"
        ]
    );
    assert_eq!(
        few("*/20 * * * * *", "UTC", from, 2),
        ["11-16 10:00:40 +00:00", "11-16 10:01:00 +00:00"]
    );
    assert_eq!(few("@hourly", "UTC", from, 1), ["11-16 11:00:00 +00:00"]);
    assert_eq!(
        few("every 1h30m", "UTC", from, 2),
        ["11-16 11:30:30 +00:00", "11-16 13:00:30 +00:00"]
    );
    assert_eq!(
        few("at 2026-12-24T18:00", "Europe/Berlin", from, 2),
        ["12-24 18:00:00 +01:00"]
    );
    assert_eq!(
        few("at 2026-12-24T18:00:00Z", "Europe/Berlin", from, 2),
        ["12-24 19:00:00 +01:00"]
    );
    assert!(few("at 2026-11-16T09:00Z", "UTC", from, 2).is_empty());
    assert!(few("webhook", "UTC", from, 2).is_empty());
}

#[test]
fn what_is_no_schedule_is_refused_with_the_right_form() {
    let refused = |line: &str| Calendar::parse(line, TimeZone::UTC, 0).unwrap_err();
    assert!(refused("tomorrow").contains("every 10m"));
    assert!(refused("").contains("missing"));
    assert!(refused("every 0s").contains("once a second"));
    assert!(refused("every soon").contains("every 45s"));
    assert!(refused("at noon").contains("2026-12-24T18:00"));
    assert!(refused("@fortnightly").contains("@weekly"));
    assert!(refused("61 * * * *").contains("61 * * * *"));
    assert!(refused("0 0 30 2 *").contains("never comes"));
    assert!(refused("0 0 0 1 1 * 2031").contains("not a schedule"));
    assert!(refused("every 1s\nevery 2s").contains("one line"));
}

#[test]
fn a_time_that_does_not_exist_is_due_when_the_gap_ends_and_once() {
    // 29 March 2026, 02:00 → 03:00.
    assert_eq!(
        few("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
        [
            "03-28 02:30:00 +01:00",
            "03-29 03:00:00 +02:00",
            "03-30 02:30:00 +02:00"
        ]
    );
    // Two lost times are made up for by one, and the next day is as ever.
    assert_eq!(
        few("0,30 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2),
        ["03-29 03:00:00 +02:00", "03-30 02:00:00 +02:00"]
    );
    // Half an hour, on Lord Howe Island: 4 October 2026, 02:00 → 02:30.
    assert_eq!(
        few(
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T12:00:00Z",
            1
        ),
        ["10-04 02:30:00 +11:00"]
    );
    assert_eq!(
        few(
            "at 2026-03-29T02:30",
            "Europe/Berlin",
            "2026-03-01T00:00:00Z",
            1
        ),
        ["03-29 03:00:00 +02:00"]
    );
}

#[test]
fn a_time_that_exists_twice_is_due_the_first_time() {
    // 25 October 2026, 03:00 → 02:00.
    assert_eq!(
        few("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["10-25 02:30:00 +02:00", "10-26 02:30:00 +01:00"]
    );
    assert_eq!(
        few("*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3),
        [
            "10-25 02:00:00 +02:00",
            "10-25 02:30:00 +02:00",
            "10-26 02:00:00 +01:00"
        ]
    );
    assert_eq!(
        few(
            "at 2026-10-25T02:30",
            "Europe/Berlin",
            "2026-03-01T00:00:00Z",
            1
        ),
        ["10-25 02:30:00 +02:00"]
    );
}

#[test]
fn what_names_every_hour_counts_hours_as_they_pass() {
    assert_eq!(
        few("0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2),
        ["03-29 03:00:00 +02:00", "03-29 04:00:00 +02:00"]
    );
    assert_eq!(
        few("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 4),
        [
            "10-25 02:00:00 +02:00",
            "10-25 02:00:00 +01:00",
            "10-25 03:00:00 +01:00",
            "10-25 04:00:00 +01:00"
        ]
    );
    assert_eq!(
        few("every 1h", "Europe/Berlin", "2026-10-25T00:00:00Z", 2),
        ["10-25 02:00:00 +01:00", "10-25 03:00:00 +01:00"]
    );
}

#[test]
fn active_hours_reach_over_midnight_and_hide_what_is_outside() {
    let berlin = zone("Europe/Berlin");
    let day = ActiveHours::parse("08:00-22:00").unwrap();
    let night = ActiveHours::parse("22:00-6:00").unwrap();
    for (time, in_day) in [
        ("07:59", false),
        ("08:00", true),
        ("21:59", true),
        ("22:00", false),
    ] {
        let instant = at(&format!("2026-11-16T{time}:00+01:00"));
        assert_eq!(day.contains(instant, &berlin), in_day, "{time}");
    }
    assert!(night.contains(at("2026-11-16T05:59:00+01:00"), &berlin));
    assert!(!night.contains(at("2026-11-16T06:00:00+01:00"), &berlin));
    for wrong in ["8-22-9", "25:00-26:00", "08:00", "08:00-08:00", "a-b"] {
        assert!(ActiveHours::parse(wrong).is_err(), "{wrong}");
    }
    let hourly = Calendar::parse("@hourly", berlin.clone(), 0).unwrap();
    let evening = at("2026-11-16T21:30:00+01:00");
    let next = hourly.next_few(evening, Some(&day), 2);
    assert_eq!(
        next,
        [
            at("2026-11-17T08:00:00+01:00"),
            at("2026-11-17T09:00:00+01:00")
        ]
    );
    let never = Calendar::parse("0 3 * * *", berlin, 0).unwrap();
    assert_eq!(never.next_within(evening, Some(&day)), None);
}

#[test]
fn words() {
    let about = |line: &str| {
        let calendar = Calendar::parse(line, TimeZone::UTC, 0).unwrap();
        calendar.describe(line)
    };
    assert_eq!(about("every 90m"), "every 1 hour 30 minutes");
    assert_eq!(about("every 1d"), "every day");
    assert_eq!(about("0 9 * * MON-FRI"), "on working days at 09:00");
    assert_eq!(about("30 7 * * *"), "every day at 07:30");
    assert_eq!(about("@weekly"), "on Sundays at 00:00");
    assert_eq!(
        about("at 2026-12-24T18:00"),
        "once, on 24 December 2026 at 18:00"
    );
    assert_eq!(about("webhook"), "when another system calls it");
    assert!(!about("*/7 3-5 1,15 * *").is_empty());
}

#[test]
fn a_year_of_seconds_is_passed_in_bounded_steps() {
    let year = 365 * 86_400_000;
    for line in ["every 1s", "* * * * * *"] {
        let calendar = Calendar::parse(line, TimeZone::UTC, 0).unwrap();
        let passed = calendar.passed(1_000_000, 1_000_000 + year, None);
        assert_eq!(passed.latest_ms, Some(1_000_000 + year), "{line}");
        assert_eq!(passed.inside.recent.len(), RECENT_MAX);
        let seconds: Vec<u64> = passed.inside.recent.iter().map(|at| at / 1_000).collect();
        assert!(
            seconds.windows(2).all(|pair| pair[0] + 1 == pair[1]),
            "{line}"
        );
    }
    let every = Calendar::parse("every 1s", TimeZone::UTC, 0).unwrap();
    assert_eq!(every.passed(0, year, None).inside.count, year / 1_000);
}

const LINES: &[&str] = &[
    "* * * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "0,15,30,45 1-3 * * *",
    "*/10 2 * * *",
    "0 0 31 * *",
    "0 12 * * SUN#1",
    "every 7m",
    "every 1s",
    "at 2026-10-25T02:30",
];
const ZONES: &[&str] = &[
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
    "Africa/Casablanca",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn due_times_rise_and_none_is_left_out(
        line in prop::sample::select(LINES),
        name in prop::sample::select(ZONES),
        // Around the days on which Berlin's clocks change, and any time from 2000 to 2100.
        from_s in prop_oneof![
            1_774_700_000u64..1_774_800_000,
            1_792_800_000u64..1_792_900_000,
            946_684_800u64..4_102_444_800,
        ],
        millis in 0u64..1_000,
    ) {
        let from = from_s * 1_000 + millis;
        let calendar = Calendar::parse(line, zone(name), 0);
        let Ok(calendar) = calendar else { return Ok(()); };
        let times = calendar.next_few(from, None, 20);
        let mut before = from;
        for time in &times {
            prop_assert!(*time > before, "{line} {name} {from}: {times:?}");
            // From anywhere in between the same one is next.
            let middle = before + (time - before) / 2;
            prop_assert_eq!(calendar.next_after(middle), Some(*time), "{} {} {}", line, name, middle);
            prop_assert_eq!(calendar.next_after(time - 1), Some(*time), "{} {} {}", line, name, time);
            before = *time;
        }
        if let Some(last) = times.last() {
            let passed = calendar.passed(from, *last, None);
            prop_assert_eq!(passed.inside.count, times.len() as u64);
            prop_assert_eq!(passed.latest_ms, Some(*last));
        }
    }
}
