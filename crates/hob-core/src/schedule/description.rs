//! Describes a schedule for a person.

use super::civil;
use super::schedule_line::ParsedSchedule;
use croner::{Cron, JobType};
use jiff::tz::TimeZone;

/// Describes a schedule. Simple cron lines get a sentence; for all others the cron crate describes
/// its own fields.
pub(super) fn describe(plan: &ParsedSchedule, line: &str, zone: &TimeZone) -> String {
    match plan {
        ParsedSchedule::Webhook => "when another system calls it".to_owned(),
        ParsedSchedule::Every { period_ms } => format!("every {}", describe_period(*period_ms)),
        ParsedSchedule::At { at_ms } => match civil::wall(zone, *at_ms) {
            Some(wall) => {
                let text = wall.strftime("once, on %-d %B %Y at %H:%M:%S").to_string();
                text.strip_suffix(":00").unwrap_or(&text).to_owned()
            }
            None => "once".to_owned(),
        },
        ParsedSchedule::Cron { cron, .. } => describe_cron(cron, line),
    }
}

fn describe_cron(cron: &Cron, line: &str) -> String {
    let simple = match line.trim().to_ascii_lowercase().as_str() {
        "@hourly" => Some("every hour".to_owned()),
        "@daily" | "@midnight" => Some("every day at 00:00".to_owned()),
        "@weekly" => Some("on Sundays at 00:00".to_owned()),
        "@monthly" => Some("on the 1st of each month at 00:00".to_owned()),
        "@yearly" | "@annually" => Some("on 1 January at 00:00".to_owned()),
        text => describe_fixed_time(cron, text),
    };
    simple.unwrap_or_else(|| {
        let text = cron.describe();
        let text = text.trim_end_matches('.');
        let mut chars = text.chars();
        match chars.next() {
            Some(first) => first.to_lowercase().chain(chars).collect(),
            None => String::new(),
        }
    })
}

/// Describes lines like `0 9 * * 1-5`: one time of day, on all or some days of the week.
fn describe_fixed_time(cron: &Cron, line: &str) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields.as_slice() else {
        return None;
    };
    if cron.determine_job_type() != JobType::FixedTime || (*day, *month) != ("*", "*") {
        return None;
    }
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let days = match *weekday {
        "*" => "every day".to_owned(),
        "1-5" | "mon-fri" => "on working days".to_owned(),
        "6,0" | "0,6" | "6,7" | "sat,sun" | "sat-sun" => "at weekends".to_owned(),
        one => format!("on {}s", day_name(one)?),
    };
    Some(format!("{days} at {hour:02}:{minute:02}"))
}

fn day_name(word: &str) -> Option<&'static str> {
    Some(match word {
        "0" | "7" | "sun" => "Sunday",
        "1" | "mon" => "Monday",
        "2" | "tue" => "Tuesday",
        "3" | "wed" => "Wednesday",
        "4" | "thu" => "Thursday",
        "5" | "fri" => "Friday",
        "6" | "sat" => "Saturday",
        _ => return None,
    })
}

/// Describes a duration: `1 hour 30 minutes`.
pub(super) fn describe_period(ms: u64) -> String {
    let units = [
        (86_400_000, "day"),
        (3_600_000, "hour"),
        (60_000, "minute"),
        (1_000, "second"),
        (1, "millisecond"),
    ];
    let mut rest = ms;
    let mut parts = Vec::new();
    for (unit_ms, name) in units {
        let count = rest / unit_ms;
        rest %= unit_ms;
        match count {
            0 => {}
            // `every day` reads better than `every 1 day`.
            1 if rest == 0 && parts.is_empty() => parts.push(name.to_owned()),
            1 => parts.push(format!("1 {name}")),
            _ => parts.push(format!("{count} {name}s")),
        }
    }
    parts.join(" ")
}
