//! Converts wall-clock times to instants, across daylight saving changes.
//!
//! Invariant: a time in a gap maps to the first instant after the gap; a repeated time maps to the
//! first of the two instants.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// Returns the instant of a wall-clock time, in milliseconds since 1970; `None` before that.
pub(super) fn instant(zone: &TimeZone, at: DateTime) -> Option<u64> {
    match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } => millis(offset.to_timestamp(at).ok()?),
        // The offset before the clock goes back yields the first of the two instants.
        AmbiguousOffset::Fold { before, .. } => millis(before.to_timestamp(at).ok()?),
        AmbiguousOffset::Gap { after, .. } => end_of_gap(zone, at, after),
    }
}

/// Returns the first instant after the gap that contains `at`. With the offset that holds after the
/// gap, `at` is an instant before it.
fn end_of_gap(zone: &TimeZone, at: DateTime, after: Offset) -> Option<u64> {
    let before = after.to_timestamp(at).ok()?;
    millis(zone.following(before).next()?.timestamp())
}

/// Returns the wall-clock time of an instant.
pub(super) fn wall(zone: &TimeZone, at_ms: u64) -> Option<DateTime> {
    Some(zone.to_datetime(timestamp(at_ms)?))
}

pub(super) fn timestamp(at_ms: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(at_ms).ok()?).ok()
}

fn millis(at: Timestamp) -> Option<u64> {
    u64::try_from(at.as_millisecond()).ok()
}
