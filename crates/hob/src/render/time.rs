//! Formats times and durations, local and with a useful precision.

use super::ScreenStyle;
use jiff::Timestamp;

/// `2026-11-15 21:37:05` in the local time zone.
pub fn local(at_ms: u64, screen: &ScreenStyle) -> String {
    let at = i64::try_from(at_ms).map(Timestamp::from_millisecond);
    match at {
        Ok(Ok(at)) => {
            let local = at.to_zoned(screen.zone.clone());
            local.strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        // Out of the calendar's range: the number is all there is.
        _ => at_ms.to_string(),
    }
}

/// `21:37` today, `2026-11-15 21:37` otherwise.
pub fn short(at_ms: u64, screen: &ScreenStyle) -> String {
    let whole = local(at_ms, screen);
    let today = local(screen.now_ms, screen);
    match (whole.get(..10), today.get(..10), whole.get(11..16)) {
        (Some(day), Some(today), Some(minute)) if day == today => minute.to_owned(),
        (Some(_), Some(_), Some(_)) => whole[..16].to_owned(),
        _ => whole,
    }
}

/// `21:37:05`.
pub fn clock(at_ms: u64, screen: &ScreenStyle) -> String {
    let whole = local(at_ms, screen);
    whole.get(11..).unwrap_or(&whole).to_owned()
}

/// A duration in its two largest units: `3 h 12 min`.
pub fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let first = parts.iter().position(|(number, _)| *number > 0);
    let Some(first) = first else {
        return format!("{ms} ms");
    };
    let shown = parts.iter().skip(first).take(2);
    let texts = shown
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number} {unit}"));
    texts.collect::<Vec<_>>().join(" ")
}

/// The time until a moment: `in 12 min`, `in 3 h 5 min`; its date and time when that is a day or more.
pub fn until(at_ms: u64, screen: &ScreenStyle) -> String {
    let left = at_ms.saturating_sub(screen.now_ms);
    match left {
        0 => "now".to_owned(),
        1..DAY_MS => format!("in {}", about(left)),
        _ => short(at_ms, screen),
    }
}

/// The time since a moment: `3 min ago`; its date and time when that is a day or more.
pub fn ago(at_ms: u64, screen: &ScreenStyle) -> String {
    let passed = screen.now_ms.saturating_sub(at_ms);
    match passed {
        0..1_000 => "just now".to_owned(),
        1_000..HOUR_MS => format!("{} ago", about(passed)),
        HOUR_MS..DAY_MS => format!("{} h ago", passed / HOUR_MS),
        _ => short(at_ms, screen),
    }
}

const HOUR_MS: u64 = 60 * 60 * 1_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A duration with seconds only below a minute.
fn about(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        _ => span(seconds / 60 * 60_000),
    }
}

/// Microseconds in a suitable unit.
pub fn micros(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} µs"),
        1_000..1_000_000 => format!("{}.{} ms", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} s", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
