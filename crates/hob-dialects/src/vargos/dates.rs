//! Points in time, which Vargos writes as ISO texts and hob as milliseconds since 1970. Pure.

use jiff::Timestamp;
use serde_json::Value;

/// The ISO text of a point in time, in UTC.
pub(crate) fn iso(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok();
    let at = at.and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| at_ms.to_string(), |at| format!("{at:.3}"))
}

/// Reads an ISO text, or a number of milliseconds. `None` if it is neither.
pub(crate) fn parse_ms(date: &Value) -> Option<u64> {
    match date {
        Value::Number(ms) => ms.as_u64(),
        Value::String(text) => {
            let at: Timestamp = text.parse().ok()?;
            u64::try_from(at.as_millisecond()).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "dates_tests.rs"]
mod tests;
