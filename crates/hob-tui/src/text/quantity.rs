//! Numbers as people read them: money, counts, durations, ages. Pure.

/// Millionths of a dollar as dollars: `$0.0042`, `$1.20`.
pub fn dollars(micro: u64) -> String {
    let whole = micro / 1_000_000;
    let part = micro % 1_000_000;
    if whole == 0 && part < 10_000 && part > 0 {
        return format!("$0.{:04}", part.div_ceil(100));
    }
    format!("${whole}.{:02}", part / 10_000)
}

/// A count in few letters: `950`, `12.3k`, `1.2M`.
pub fn count(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=999_999 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// A duration: `3s`, `2m 05s`, `1h 10m`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// The time since then: `now`, `5m`, `3h`, `12d`.
pub fn ago(at: u64, now: u64) -> String {
    let minutes = now.saturating_sub(at) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..=59 => format!("{minutes}m"),
        60..=1_439 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1_440),
    }
}

/// The time of day for a zone this many seconds east of Greenwich: `14:05:09`.
pub fn clock(at: u64, zone_seconds: i64) -> String {
    let at = i64::try_from(at / 1_000).unwrap_or_default() + zone_seconds;
    let second = at.rem_euclid(86_400);
    format!(
        "{:02}:{:02}:{:02}",
        second / 3_600,
        second % 3_600 / 60,
        second % 60
    )
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
