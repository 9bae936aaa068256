//! The calls in progress: counts them and makes each call of a run cancellable.

use hob_wire::id::RunId;
use hob_wire::work::ToolContext;
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Most calls in progress at once.
const IN_FLIGHT_MAX: usize = 512;
/// Retry delay when the limit is reached.
const BUSY_RETRY_MS: u64 = 1_000;

/// A run and the id of a call within it.
pub(super) type CallKey = (RunId, String);

/// The key of a call made for a run; `None` for other calls.
pub(super) fn call_key(context: &ToolContext) -> Option<CallKey> {
    Some((context.run_id?, context.call_id.clone()?))
}

#[derive(Default)]
pub(super) struct InFlightCalls {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<InFlightState>,
}

#[derive(Default)]
struct InFlightState {
    /// All calls in progress, including those without a run.
    count: usize,
    by_key: BTreeMap<CallKey, CallHandle>,
}

/// Handle to cancel a call and wait for its end.
#[derive(Clone)]
pub(super) struct CallHandle {
    /// Cancelled to stop the call.
    pub(super) stop: CancellationToken,
    /// Cancelled when the call has ended.
    pub(super) ended: CancellationToken,
}

/// Guard of a call in progress; dropping it marks the call as ended.
pub(super) struct CallGuard<'f> {
    calls: &'f InFlightCalls,
    key: Option<CallKey>,
    handle: CallHandle,
}

impl InFlightCalls {
    /// Registers a call. The same call of a run cannot be in progress twice.
    pub(super) fn begin(&self, key: Option<CallKey>) -> Result<CallGuard<'_>, WireError> {
        let handle = CallHandle {
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        let mut state = self.state();
        if state.count >= IN_FLIGHT_MAX {
            let message = "Too many tool calls are under way.";
            return Err(WireError::new(ErrorCode::Overloaded, message).retry_after(BUSY_RETRY_MS));
        }
        if let Some(key) = &key {
            // A repeated request must not run the same call twice at once.
            if state.by_key.contains_key(key) {
                let message = "This call is under way already.";
                return Err(WireError::new(ErrorCode::Conflict, message));
            }
            state.by_key.insert(key.clone(), handle.clone());
        }
        state.count += 1;
        drop(state);
        Ok(CallGuard {
            calls: self,
            key,
            handle,
        })
    }

    pub(super) fn find(&self, key: &CallKey) -> Option<CallHandle> {
        self.state().by_key.get(key).cloned()
    }

    fn state(&self) -> MutexGuard<'_, InFlightState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallGuard<'_> {
    /// The token that is cancelled to stop this call.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.handle.stop
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.calls.state();
        state.count = state.count.saturating_sub(1);
        if let Some(key) = &self.key {
            state.by_key.remove(key);
        }
        drop(state);
        // After the entry is removed: whoever waits for the end may start the same call again.
        self.handle.ended.cancel();
    }
}
