//! Parses the `Retry-After` header. Pure.

/// The longest wait that is returned; a longer one means "never".
const WAIT_MS_MAX: u64 = 7 * 24 * 3_600 * 1_000;

/// Parses `Retry-After`: seconds or a date. A date in the past means no wait.
pub fn wait_ms(header: &str, now_ms: u64) -> Option<u64> {
    let text = header.trim();
    let wait = seconds_ms(text).or_else(|| Some(date_ms(text)?.saturating_sub(now_ms)))?;
    Some(wait.min(WAIT_MS_MAX))
}

/// Parses an HTTP date, such as `Sun, 06 Nov 1994 08:49:37 GMT`, into milliseconds since 1970.
pub fn date_ms(text: &str) -> Option<u64> {
    let zoned = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    u64::try_from(zoned.timestamp().as_millisecond()).ok()
}

/// Parses seconds with an optional fraction into milliseconds, rounded up.
pub fn seconds_ms(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    // More digits than fit mean a very long wait.
    let seconds: u64 = whole.parse().unwrap_or(u64::MAX);
    let mut thousandths = 0;
    for (place, digit) in fraction.bytes().take(3).enumerate() {
        thousandths += u64::from(digit - b'0') * [100, 10, 1][place];
    }
    // Rounded up: a retry that comes a moment too early is refused again.
    let finer = fraction.bytes().skip(3).any(|digit| digit != b'0');
    let fraction_ms = thousandths + u64::from(finer);
    Some(seconds.saturating_mul(1_000).saturating_add(fraction_ms))
}

#[cfg(test)]
#[path = "retry_after_tests.rs"]
mod tests;
