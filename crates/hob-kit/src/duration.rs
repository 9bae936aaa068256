//! Durations as people write them: `500ms`, `30s`, `10m`, `2h`, `7d`.

/// The text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration; write a number with ms, s, m, h or d, such as 30s or 7d")]
pub struct NotADuration(pub String);

/// Parses a duration into milliseconds.
pub fn parse_ms(text: &str) -> Result<u64, NotADuration> {
    let wrong = || NotADuration(text.to_owned());
    let trimmed = text.trim();
    let digits_end = trimmed
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(wrong)?;
    let (digits, unit) = trimmed.split_at(digits_end);
    let unit_ms: u64 = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    count.checked_mul(unit_ms).ok_or_else(wrong)
}

/// Formats milliseconds with the largest unit that is exact.
pub fn format_ms(ms: u64) -> String {
    let units = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
    ];
    for (unit, unit_ms) in units {
        if ms >= unit_ms && ms.is_multiple_of(unit_ms) {
            return format!("{}{unit}", ms / unit_ms);
        }
    }
    format!("{ms}ms")
}
