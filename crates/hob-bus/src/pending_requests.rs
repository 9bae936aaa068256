//! The requests forwarded to one endpoint and not yet answered. Their ids are valid for that
//! endpoint only, so that no other can answer them and equal ids of two callers never collide.

use crate::endpoint::{Endpoint, EndpointOrigin};
use crate::route_table::MethodInfo;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests one service may have unanswered, over all its callers.
const SERVING_REQUESTS_MAX: usize = 65_536;

#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<PendingState>,
}

#[derive(Debug, Default)]
struct PendingState {
    last_id: u64,
    pending: HashMap<u64, PendingRequest>,
    /// A lower bound of all deadlines. Before it, no scan for expired requests is needed.
    earliest_ms: u64,
    closed: bool,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) caller: Arc<Endpoint>,
    /// The request's id as the caller wrote it.
    pub(crate) caller_id: Box<str>,
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) trace: Arc<str>,
    pub(crate) started_us: u64,
    pub(crate) deadline_ms: u64,
}

/// The reason for which a request was not accepted. Gives the request back.
#[derive(Debug)]
pub(crate) enum PendingInsertError {
    /// The endpoint is closed.
    Closed(PendingRequest),
    /// Too many requests are pending.
    Full(PendingRequest),
}

impl PendingRequests {
    /// Adds a request and returns the id by which the endpoint may answer it.
    pub(crate) fn insert(&self, pending: PendingRequest) -> Result<u64, PendingInsertError> {
        let mut state = self.state();
        if state.closed {
            return Err(PendingInsertError::Closed(pending));
        }
        if state.pending.len() >= SERVING_REQUESTS_MAX {
            return Err(PendingInsertError::Full(pending));
        }
        // Ids are never reused, so a late answer cannot hit a newer request.
        state.last_id += 1;
        let id = state.last_id;
        // Removing a request does not raise the bound, so that of an empty map is out of date.
        state.earliest_ms = if state.pending.is_empty() {
            pending.deadline_ms
        } else {
            state.earliest_ms.min(pending.deadline_ms)
        };
        state.pending.insert(id, pending);
        Ok(id)
    }

    pub(crate) fn take(&self, id: u64) -> Option<PendingRequest> {
        self.state().pending.remove(&id)
    }

    /// Removes and returns the requests whose deadline has passed.
    pub(crate) fn take_expired(&self, now_ms: u64) -> Vec<PendingRequest> {
        let mut state = self.state();
        if now_ms < state.earliest_ms {
            return Vec::new();
        }
        let due = |_: &u64, pending: &mut PendingRequest| pending.deadline_ms <= now_ms;
        let expired = state.pending.extract_if(due).map(|(_, pending)| pending);
        let expired = expired.collect();
        let left = state.pending.values().map(|pending| pending.deadline_ms);
        state.earliest_ms = left.min().unwrap_or(u64::MAX);
        expired
    }

    /// Removes and returns the requests of external callers.
    pub(crate) fn take_external(&self) -> Vec<PendingRequest> {
        let mut state = self.state();
        // The lower bound of the deadlines stays: one that is too low costs a single scan.
        let external = |_: &u64, pending: &mut PendingRequest| {
            pending.caller.origin == EndpointOrigin::External
        };
        let taken = state
            .pending
            .extract_if(external)
            .map(|(_, pending)| pending);
        taken.collect()
    }

    /// Closes the map, and removes and returns all requests.
    pub(crate) fn close(&self) -> Vec<PendingRequest> {
        let mut state = self.state();
        // Under the same lock as `insert`: no request can slip in after the drain and wait forever.
        state.closed = true;
        state.pending.drain().map(|(_, pending)| pending).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.state().pending.len()
    }

    fn state(&self) -> MutexGuard<'_, PendingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "pending_requests_tests.rs"]
mod tests;
