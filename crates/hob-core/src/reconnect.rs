//! When a client that lost its daemon tries again. Pure: time comes in, the next step goes out.
//!
//! Invariants: the first retry comes within 100 ms; waits double up to a cap; a daemon is started
//! only after five seconds without one, and at most once per such period, so that a restart by
//! hand or by a service manager is never raced.

/// The wait before the first retry.
pub const FIRST_WAIT_MS: u64 = 100;
/// The longest wait between two retries.
pub const WAIT_MS_MAX: u64 = 2_000;
/// How long a client looks for its daemon before it starts one.
pub const PATIENCE_MS: u64 = 5_000;

/// What to do next about a daemon that cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Let this much time pass, then try to connect.
    Wait { ms: u64 },
    /// Start a daemon, then try to connect.
    Start,
}

/// The state of one client's search for its daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconnect {
    /// When the daemon was first missed.
    missed_at_ms: Option<u64>,
    failures: u32,
}

impl Reconnect {
    /// The daemon answers: the next loss begins a new search.
    pub fn connected(&mut self) {
        *self = Reconnect::default();
    }

    /// The daemon cannot be reached at `now_ms`. `may_start` says whether this client is allowed
    /// to start one.
    pub fn failed(&mut self, now_ms: u64, may_start: bool) -> Step {
        let missed_at_ms = *self.missed_at_ms.get_or_insert(now_ms);
        let without_ms = now_ms.saturating_sub(missed_at_ms);
        if may_start && without_ms >= PATIENCE_MS {
            // A start that does not help is followed by another full search, not by a second
            // start at once.
            self.missed_at_ms = Some(now_ms);
            self.failures = 0;
            return Step::Start;
        }
        let doubled =
            FIRST_WAIT_MS.saturating_mul(1_u64.checked_shl(self.failures).unwrap_or(u64::MAX));
        self.failures = self.failures.saturating_add(1);
        let mut ms = doubled.min(WAIT_MS_MAX);
        if may_start {
            // The last wait ends when patience does.
            ms = ms.min(PATIENCE_MS - without_ms);
        }
        Step::Wait { ms }
    }
}

#[cfg(test)]
#[path = "reconnect_tests.rs"]
mod tests;
