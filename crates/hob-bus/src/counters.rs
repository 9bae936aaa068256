//! What the bus counts, for `gateway.stats` and `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requests: Count,
    pub(crate) errors: Count,
    pub(crate) events: Count,
    pub(crate) coalesced: Count,
    pub(crate) slow_closed: Count,
    pub(crate) stray_answers: Count,
    pub(crate) handler_panics: Count,
    /// Requests forwarded and not yet answered.
    pub(crate) pending: Count,
    /// The last logged event.
    pub(crate) seq: Count,
}

/// A number others may read at any time. Nothing is decided by its order with other memory.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds one and answers what it was.
    pub(crate) fn up(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
