//! The calls under way: how many, and how each of a run's is stopped.

use hob_wire::id::RunId;
use hob_wire::work::ToolContext;
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Calls under way at once.
const CALLS_MAX: usize = 512;
/// How long a caller should wait when there are that many.
const BUSY_RETRY_MS: u64 = 1_000;

/// A run and the id of a call within it.
pub(super) type CallKey = (RunId, String);

/// The key of a call made for a run.
pub(super) fn call_key(context: &ToolContext) -> Option<CallKey> {
    Some((context.run_id?, context.call_id.clone()?))
}

#[derive(Default)]
pub(super) struct Flights {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Calls under way, those of nobody's run included.
    count: usize,
    of_runs: BTreeMap<CallKey, Flight>,
}

/// A call under way, as one who wants to stop it sees it.
#[derive(Clone)]
pub(super) struct Flight {
    /// Told to end.
    pub(super) stop: CancellationToken,
    /// Has ended.
    pub(super) ended: CancellationToken,
}

/// A call under way, as it sees itself; dropping this says that it has ended.
pub(super) struct Landing<'f> {
    flights: &'f Flights,
    key: Option<CallKey>,
    flight: Flight,
}

impl Flights {
    /// Counts a call; the same call of a run is under way only once.
    pub(super) fn begin(&self, key: Option<CallKey>) -> Result<Landing<'_>, WireError> {
        let flight = Flight {
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        let mut state = self.state();
        if state.count >= CALLS_MAX {
            let message = "Too many tool calls are under way.";
            return Err(WireError::new(ErrorCode::Overloaded, message).retry_after(BUSY_RETRY_MS));
        }
        if let Some(key) = &key {
            if state.of_runs.contains_key(key) {
                let message = "This call is under way already.";
                return Err(WireError::new(ErrorCode::Conflict, message));
            }
            state.of_runs.insert(key.clone(), flight.clone());
        }
        state.count += 1;
        drop(state);
        Ok(Landing {
            flights: self,
            key,
            flight,
        })
    }

    pub(super) fn find(&self, key: &CallKey) -> Option<Flight> {
        self.state().of_runs.get(key).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Landing<'_> {
    /// Cancelled when somebody stops this call.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.flight.stop
    }
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let mut state = self.flights.state();
        state.count = state.count.saturating_sub(1);
        if let Some(key) = &self.key {
            state.of_runs.remove(key);
        }
        drop(state);
        self.flight.ended.cancel();
    }
}
