//! From the time on a wall to the instant it names, where clocks are put forward and back.
//!
//! Invariant: a time that does not exist is the first instant after the gap; one that exists twice
//! is the first of the two.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// The instant of a time on the wall, in milliseconds since 1970; none before that.
pub(super) fn instant(zone: &TimeZone, at: DateTime) -> Option<u64> {
    match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } => millis(offset.to_timestamp(at).ok()?),
        // The offset in force before the clock is put back names the first of the two.
        AmbiguousOffset::Fold { before, .. } => millis(before.to_timestamp(at).ok()?),
        AmbiguousOffset::Gap { after, .. } => end_of_gap(zone, at, after),
    }
}

/// The first instant after the gap that `at` lies in. Read with the offset that holds after it,
/// `at` is an instant before it.
fn end_of_gap(zone: &TimeZone, at: DateTime, after: Offset) -> Option<u64> {
    let before = after.to_timestamp(at).ok()?;
    millis(zone.following(before).next()?.timestamp())
}

/// The time on the wall at an instant.
pub(super) fn wall(zone: &TimeZone, at_ms: u64) -> Option<DateTime> {
    Some(zone.to_datetime(timestamp(at_ms)?))
}

pub(super) fn timestamp(at_ms: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(at_ms).ok()?).ok()
}

fn millis(at: Timestamp) -> Option<u64> {
    u64::try_from(at.as_millisecond()).ok()
}
