//! Backoff of a client that lost its daemon. Pure: time comes in, the next step goes out.
//!
//! Invariants: the first retry comes within 100 ms; waits double up to a cap; a client starts a
//! daemon only after five seconds without one, and at most once per such period, so it never races
//! a restart by hand or by a service manager.

/// The wait before the first retry.
pub const FIRST_WAIT_MS: u64 = 100;
/// The longest wait between two retries.
pub const WAIT_MS_MAX: u64 = 2_000;
/// The time a client looks for its daemon before it starts one.
pub const START_AFTER_MS: u64 = 5_000;

/// The next step towards a daemon that cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconnectStep {
    /// Wait this long, then connect.
    Wait { ms: u64 },
    /// Start a daemon, then connect.
    StartDaemon,
}

/// The state of one client's search for its daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReconnectBackoff {
    /// The time of the first failure.
    missed_at_ms: Option<u64>,
    failures: u32,
}

impl ReconnectBackoff {
    /// Resets after a connection; the next loss starts a new search.
    pub fn reset(&mut self) {
        *self = ReconnectBackoff::default();
    }

    /// Returns the step after a failed connection at `now_ms`. `may_start` tells whether this
    /// client is allowed to start a daemon.
    pub fn on_failure(&mut self, now_ms: u64, may_start: bool) -> ReconnectStep {
        let missed_at_ms = *self.missed_at_ms.get_or_insert(now_ms);
        let without_ms = now_ms.saturating_sub(missed_at_ms);
        if may_start && without_ms >= START_AFTER_MS {
            // If the start does not help, a full search follows before the next start.
            self.missed_at_ms = Some(now_ms);
            self.failures = 0;
            return ReconnectStep::StartDaemon;
        }
        // The shift overflows after 63 failures; the cap applies long before that.
        let doubled =
            FIRST_WAIT_MS.saturating_mul(1_u64.checked_shl(self.failures).unwrap_or(u64::MAX));
        self.failures = self.failures.saturating_add(1);
        let mut ms = doubled.min(WAIT_MS_MAX);
        if may_start {
            // The last wait ends exactly when a start becomes due.
            ms = ms.min(START_AFTER_MS - without_ms);
        }
        ReconnectStep::Wait { ms }
    }
}

#[cfg(test)]
#[path = "reconnect_tests.rs"]
mod tests;
