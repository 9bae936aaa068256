//! The counters of the bus, for `gateway.stats` and `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct BusCounters {
    pub(crate) requests: SharedCounter,
    pub(crate) errors: SharedCounter,
    pub(crate) events: SharedCounter,
    pub(crate) coalesced: SharedCounter,
    pub(crate) slow_closed: SharedCounter,
    pub(crate) stray_answers: SharedCounter,
    pub(crate) handler_panics: SharedCounter,
    /// Requests forwarded and not yet answered.
    pub(crate) pending: SharedCounter,
    /// The last logged event.
    pub(crate) seq: SharedCounter,
}

/// A number that any task may read. Relaxed: no decision depends on its order with other memory.
#[derive(Debug, Default)]
pub(crate) struct SharedCounter(AtomicU64);

impl SharedCounter {
    /// Adds one and returns the previous value.
    pub(crate) fn increment(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn decrement(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
