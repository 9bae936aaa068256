//! Webhook calls whose signature cannot be checked before their whole body has arrived.
//!
//! If such calls were refused when the limit is reached, slow strangers could keep everybody out.
//! So the newest call is admitted and the oldest is evicted: an honest caller finishes in a moment,
//! while a stranger that holds on becomes the oldest. The hook with the most calls loses one, so
//! that strangers at one hook do not cost the callers of another.
//!
//! Invariant: never more than the given number of calls hold a permit.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) struct UnprovenCalls {
    permits_max: usize,
    // A std mutex: held for a few comparisons, never over an await.
    waiting: Mutex<UnprovenQueue>,
}

#[derive(Debug, Default)]
struct UnprovenQueue {
    next: u64,
    /// Ordered from oldest to newest.
    calls: Vec<UnprovenCall>,
}

#[derive(Debug)]
struct UnprovenCall {
    number: u64,
    hook: String,
    lost: CancellationToken,
}

/// A permit for one call; released when dropped.
#[derive(Debug)]
pub(crate) struct UnprovenPermit<'c> {
    of: &'c UnprovenCalls,
    number: u64,
    lost: CancellationToken,
}

impl UnprovenCalls {
    pub(crate) fn new(permits_max: usize) -> UnprovenCalls {
        UnprovenCalls {
            permits_max,
            waiting: Mutex::default(),
        }
    }

    /// Takes a permit for a call of this hook. If all are taken, another call is evicted.
    pub(crate) fn acquire(&self, hook: &str) -> UnprovenPermit<'_> {
        let mut waiting = self.waiting();
        // An evicted call leaves the list here; its own drop then finds nothing to remove.
        while waiting.calls.len() >= self.permits_max {
            let Some(oldest) = waiting.oldest_of_busiest_hook() else {
                break;
            };
            waiting.calls.remove(oldest).lost.cancel();
        }
        let number = waiting.next;
        waiting.next += 1;
        let lost = CancellationToken::new();
        waiting.calls.push(UnprovenCall {
            number,
            hook: hook.to_owned(),
            lost: lost.clone(),
        });
        UnprovenPermit {
            of: self,
            number,
            lost,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, UnprovenQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnprovenQueue {
    /// The index of the oldest call of the hook with the most calls; of several such hooks, the one
    /// with the oldest call.
    fn oldest_of_busiest_hook(&self) -> Option<usize> {
        let count = |hook: &str| self.calls.iter().filter(|call| call.hook == hook).count();
        // Quadratic, but the list has a few dozen entries at most.
        let counts: Vec<usize> = self.calls.iter().map(|call| count(&call.hook)).collect();
        let most = counts.iter().max()?;
        counts.iter().position(|count| count == most)
    }
}

impl UnprovenPermit<'_> {
    /// Waits until this call is evicted.
    pub(crate) async fn evicted(&self) {
        self.lost.cancelled().await;
    }
}

impl Drop for UnprovenPermit<'_> {
    fn drop(&mut self) {
        let mut waiting = self.of.waiting();
        waiting.calls.retain(|call| call.number != self.number);
    }
}

#[cfg(test)]
#[path = "unproven_calls_tests.rs"]
mod tests;
