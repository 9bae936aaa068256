//! How much of the event log is kept. Pure. Invariants: only the oldest end is cut, and the newest
//! event always stays, so the numbers of events never begin again.

/// What the log may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub rows_max: u64,
    pub age_ms_max: u64,
}

/// An event as far as keeping it depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    pub seq: u64,
    /// Wall time at which it was logged.
    pub at_ms: u64,
}

/// Up to which `seq` events may go, given some of the oldest in ascending order and the newest
/// `seq` of the log; none when all of them stay.
pub fn cut(limits: Limits, oldest: &[Logged], newest_seq: u64, now_ms: u64) -> Option<u64> {
    let gone = |event: &&Logged| {
        let too_many = newest_seq.saturating_sub(event.seq) >= limits.rows_max;
        // A clock set back makes an event look as if it came from the future: it is not old.
        let too_old = now_ms.saturating_sub(event.at_ms) > limits.age_ms_max;
        event.seq < newest_seq && (too_many || too_old)
    };
    // Ends at the first one to stay, so that a clock that jumped never tears a hole.
    oldest.iter().take_while(gone).last().map(|event| event.seq)
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
