//! Parses a schedule line: five or six cron fields, a descriptor, `every …`, `at …` or `webhook`.
//! Invariant: an error is a sentence that shows the right form.

use super::civil;
use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, CronComponent};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// The shortest time between two slots.
pub(super) const PERIOD_MS_MIN: u64 = 1_000;
/// The longest; a hundred years is as good as never.
const PERIOD_MS_MAX: u64 = 36_525 * 86_400_000;
/// The last year of cron lines: each line keeps a table of all years.
const YEAR_MAX: u16 = 2_200;
const LINE_BYTES_MAX: usize = 256;
const DESCRIPTORS: [&str; 7] = [
    "@hourly",
    "@daily",
    "@midnight",
    "@weekly",
    "@monthly",
    "@yearly",
    "@annually",
];

/// The fields of a cron line in order, and their values; the first may be left out.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12 or JAN to DEC"),
    ("day of the week", "0 to 7 or SUN to SAT"),
];
const EXAMPLES: &str = "5, 1-5, */10 or *";

/// A parsed schedule line.
#[derive(Clone, Debug)]
pub(super) enum ParsedSchedule {
    Cron {
        cron: Arc<Cron>,
        /// Every hour of the day is named, so hours count as they elapse, not as the wall clock
        /// shows them.
        hourly: bool,
    },
    Every {
        period_ms: u64,
    },
    At {
        at_ms: u64,
    },
    Webhook,
}

/// Parses a line; `at` without an offset is a time in `zone`.
pub(super) fn parse_line(line: &str, zone: &TimeZone) -> Result<ParsedSchedule, String> {
    if line.len() > LINE_BYTES_MAX || line.chars().any(char::is_control) {
        return Err(format!(
            "A schedule is one line of at most {LINE_BYTES_MAX} bytes."
        ));
    }
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_ascii_lowercase().as_str() {
        "webhook" if rest.is_empty() => Ok(ParsedSchedule::Webhook),
        "every" | "@every" => parse_every(rest.trim()),
        "at" => parse_at(rest.trim(), zone),
        descriptor if descriptor.starts_with('@') => {
            if !rest.is_empty() || !DESCRIPTORS.contains(&descriptor) {
                return Err(format!(
                    "'{line}' is not a descriptor; use one of {}.",
                    DESCRIPTORS.join(", ")
                ));
            }
            parse_cron(descriptor)
        }
        _ if line.is_empty() => Err(accepted_forms("A schedule is missing")),
        _ => match line.split_whitespace().count() {
            5 | 6 => parse_cron(line),
            _ => Err(accepted_forms(&format!("'{line}' is not a schedule"))),
        },
    }
}

fn accepted_forms(what: &str) -> String {
    format!(
        "{what}; write cron fields such as '0 9 * * MON-FRI', '@daily', 'every 10m', 'at 2026-12-24T18:00' or 'webhook'."
    )
}

fn parse_cron(line: &str) -> Result<ParsedSchedule, String> {
    let parser = CronParser::builder()
        .seconds(Seconds::Optional)
        .year(Year::Disallowed)
        .build();
    let mut cron = parser
        .parse(line)
        .map_err(|_| describe_wrong_field(parser, line))?;
    let mut years = CronComponent::new(1, YEAR_MAX, 0, 0);
    years
        .parse("*")
        .map_err(|_| describe_wrong_field(parser, line))?;
    // A shorter table of years saves memory for every job.
    cron.pattern.years = years;
    let hourly = (0..24).all(|hour| cron.pattern.hour_match(hour).unwrap_or(false));
    Ok(ParsedSchedule::Cron {
        cron: Arc::new(cron),
        hourly,
    })
}

/// Describes the first field that is invalid even if all others are `*`.
fn describe_wrong_field(parser: CronParser, line: &str) -> String {
    let fields: Vec<&str> = line.split_whitespace().collect();
    // A line of five fields has no seconds, so the first name is left out.
    let names = &FIELDS[FIELDS.len() - fields.len().clamp(1, FIELDS.len())..];
    let alone = |at: usize| {
        let mut others = vec!["*"; fields.len()];
        others[at] = fields[at];
        others.join(" ")
    };
    let wrong = (0..fields.len()).find(|at| parser.parse(&alone(*at)).is_err());
    match wrong.and_then(|at| Some((fields[at], names.get(at)?))) {
        Some((field, (name, takes))) => {
            format!(
                "'{field}' is not a valid {name} in '{line}'; it takes {takes}, such as {EXAMPLES}."
            )
        }
        None => accepted_forms(&format!("'{line}' cannot be read")),
    }
}

fn parse_every(text: &str) -> Result<ParsedSchedule, String> {
    let period_ms = parse_period(text).ok_or_else(|| {
        format!("'every {text}' has no duration; write one such as every 45s, every 10m, every 1h30m or every 7d.")
    })?;
    if period_ms < PERIOD_MS_MIN {
        return Err("A job runs at most once a second: `every 1s`.".to_owned());
    }
    if period_ms > PERIOD_MS_MAX {
        return Err("`every` takes at most a hundred years.".to_owned());
    }
    Ok(ParsedSchedule::Every { period_ms })
}

/// Parses numbers with units, one after the other: `1h30m`, `45s`, `500ms`.
fn parse_period(text: &str) -> Option<u64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut rest = text.as_str();
    let mut sum_ms = 0u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit_ms: u64 = match unit {
            "ms" => 1,
            "s" | "sec" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 7 * 86_400_000,
            _ => return None,
        };
        let part: u64 = number.parse().ok()?;
        sum_ms = sum_ms.checked_add(part.checked_mul(unit_ms)?)?;
        rest = after;
    }
    Some(sum_ms)
}

fn parse_at(text: &str, zone: &TimeZone) -> Result<ParsedSchedule, String> {
    let wrong = || {
        format!(
            "'at {text}' is not a valid time; write it as at 2026-12-24T18:00, or with an offset as in 2026-12-24T18:00+01:00."
        )
    };
    // A time with an offset is an instant; without one it is a wall-clock time.
    if let Ok(instant) = text.parse::<Timestamp>() {
        let at_ms = u64::try_from(instant.as_millisecond()).map_err(|_| wrong())?;
        return Ok(ParsedSchedule::At { at_ms });
    }
    let wall = text.parse::<DateTime>().map_err(|_| wrong())?;
    let at_ms = civil::instant(zone, wall).ok_or_else(wrong)?;
    Ok(ParsedSchedule::At { at_ms })
}
