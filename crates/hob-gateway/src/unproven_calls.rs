//! Callers whose right to call is not known before their whole body has come.
//!
//! They cannot be turned away when their places are full, or strangers who send slowly would keep
//! everybody out. So the newest is let in, and the one that has waited longest loses its place: an
//! honest caller is done in a moment, a stranger who holds on is the oldest. Of the hooks the one
//! with the most callers pays, so that strangers at one do not cost the callers of another.
//!
//! Invariant: never more than the given number hold a place.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) struct UnprovenCalls {
    places_max: usize,
    // A std mutex: held for a few comparisons, never over an await.
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// The oldest first.
    calls: Vec<WaitingCall>,
}

#[derive(Debug)]
struct WaitingCall {
    number: u64,
    hook: String,
    lost: CancellationToken,
}

/// A place; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct UnprovenPlace<'c> {
    of: &'c UnprovenCalls,
    number: u64,
    lost: CancellationToken,
}

impl UnprovenCalls {
    pub(crate) fn new(places_max: usize) -> UnprovenCalls {
        UnprovenCalls {
            places_max,
            waiting: Mutex::default(),
        }
    }

    /// Takes a place for a call of this hook, from another call if all are taken.
    pub(crate) fn enter(&self, hook: &str) -> UnprovenPlace<'_> {
        let mut waiting = self.waiting();
        while waiting.calls.len() >= self.places_max {
            let Some(oldest) = waiting.longest_of_the_busiest() else {
                break;
            };
            waiting.calls.remove(oldest).lost.cancel();
        }
        let number = waiting.next;
        waiting.next += 1;
        let lost = CancellationToken::new();
        waiting.calls.push(WaitingCall {
            number,
            hook: hook.to_owned(),
            lost: lost.clone(),
        });
        UnprovenPlace {
            of: self,
            number,
            lost,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Where the oldest call stands of the hook that has the most; of several such hooks the one
    /// with the oldest.
    fn longest_of_the_busiest(&self) -> Option<usize> {
        let count = |hook: &str| self.calls.iter().filter(|call| call.hook == hook).count();
        let counts: Vec<usize> = self.calls.iter().map(|call| count(&call.hook)).collect();
        let most = counts.iter().max()?;
        counts.iter().position(|count| count == most)
    }
}

impl UnprovenPlace<'_> {
    /// Waits until somebody else has got the place.
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

impl Drop for UnprovenPlace<'_> {
    fn drop(&mut self) {
        let mut waiting = self.of.waiting();
        waiting.calls.retain(|call| call.number != self.number);
    }
}

#[cfg(test)]
#[path = "unproven_tests.rs"]
mod tests;
