//! Requests a link has been given and has not answered. Each has an id that means something only
//! on that link, so nobody else can answer it and equal ids of two callers never meet.

use crate::party::{Home, Party};
use crate::routes::MethodInfo;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests one service may have unanswered, over all its callers.
const SERVING_REQUESTS_MAX: usize = 65_536;

#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    waiting: HashMap<u64, Waiting>,
    /// No deadline is before this; none is looked for before it has come.
    earliest_ms: u64,
    closed: bool,
}

/// A caller that waits for an answer.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) caller: Arc<Party>,
    /// The request's id as the caller wrote it.
    pub(crate) caller_id: Box<str>,
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) trace: Arc<str>,
    pub(crate) started_us: u64,
    pub(crate) deadline_ms: u64,
}

/// Why a request cannot wait here.
#[derive(Debug)]
pub(crate) enum NoPlace {
    /// The link is gone.
    Gone(Waiting),
    /// The service has too much to do.
    Busy(Waiting),
}

impl Pending {
    /// Notes a request and answers the id under which the link may answer it.
    pub(crate) fn insert(&self, waiting: Waiting) -> Result<u64, NoPlace> {
        let mut state = self.state();
        if state.closed {
            return Err(NoPlace::Gone(waiting));
        }
        if state.waiting.len() >= SERVING_REQUESTS_MAX {
            return Err(NoPlace::Busy(waiting));
        }
        state.last_id += 1;
        let id = state.last_id;
        state.earliest_ms = if state.waiting.is_empty() {
            waiting.deadline_ms
        } else {
            state.earliest_ms.min(waiting.deadline_ms)
        };
        state.waiting.insert(id, waiting);
        Ok(id)
    }

    pub(crate) fn take(&self, id: u64) -> Option<Waiting> {
        self.state().waiting.remove(&id)
    }

    /// Takes the requests whose deadline has come.
    pub(crate) fn take_expired(&self, now_ms: u64) -> Vec<Waiting> {
        let mut state = self.state();
        if now_ms < state.earliest_ms {
            return Vec::new();
        }
        let due = |_: &u64, waiting: &mut Waiting| waiting.deadline_ms <= now_ms;
        let expired = state.waiting.extract_if(due).map(|(_, waiting)| waiting);
        let expired = expired.collect();
        let left = state.waiting.values().map(|waiting| waiting.deadline_ms);
        state.earliest_ms = left.min().unwrap_or(u64::MAX);
        expired
    }

    /// Takes the requests of callers from outside.
    pub(crate) fn take_from_outside(&self) -> Vec<Waiting> {
        let mut state = self.state();
        let outside = |_: &u64, waiting: &mut Waiting| waiting.caller.home == Home::Outside;
        let taken = state
            .waiting
            .extract_if(outside)
            .map(|(_, waiting)| waiting);
        taken.collect()
    }

    /// Accepts no more and takes all that wait.
    pub(crate) fn close(&self) -> Vec<Waiting> {
        let mut state = self.state();
        state.closed = true;
        state.waiting.drain().map(|(_, waiting)| waiting).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.state().waiting.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "pending_tests.rs"]
mod tests;
