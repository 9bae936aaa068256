//! Times as Pryx writes them: RFC 3339 in UTC.

use jiff::Timestamp;

/// Formats milliseconds since 1970.
pub(crate) fn from_ms(ms: u64) -> String {
    // A clock beyond the year 9999 shows 1970 rather than nothing.
    let at = i64::try_from(ms).ok();
    let at = at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}
