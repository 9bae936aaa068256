//! Retention of the event log. Pure. Invariants: only the oldest end is pruned, and the newest
//! event always stays, so event numbers never restart.

/// The limits of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    pub rows_max: u64,
    pub age_ms_max: u64,
}

/// The number and time of a logged event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventStamp {
    pub seq: u64,
    /// The wall time of its logging.
    pub at_ms: u64,
}

/// Returns the last `seq` that may be pruned, given some of the oldest events in ascending order
/// and the newest `seq` of the log; `None` if all of them stay.
pub fn prunable_through(
    limits: RetentionLimits,
    oldest: &[EventStamp],
    newest_seq: u64,
    now_ms: u64,
) -> Option<u64> {
    let gone = |event: &&EventStamp| {
        let too_many = newest_seq.saturating_sub(event.seq) >= limits.rows_max;
        // A clock set back makes an event look newer than now: it is not old.
        let too_old = now_ms.saturating_sub(event.at_ms) > limits.age_ms_max;
        event.seq < newest_seq && (too_many || too_old)
    };
    // Stops at the first event to keep, so a clock that jumped never leaves a gap in the log.
    oldest.iter().take_while(gone).last().map(|event| event.seq)
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
