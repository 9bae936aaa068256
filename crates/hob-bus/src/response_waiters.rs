//! Delivers answers to a caller: each goes directly to the future that waits for it.

use crate::delivery::EncodedAnswer;
use crate::outbox::PushError;
use crate::peer::CloseReason;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

#[derive(Debug, Default)]
pub(crate) struct ResponseWaiters {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<WaiterState>,
}

#[derive(Debug, Default)]
struct WaiterState {
    last_id: u64,
    senders: HashMap<u64, oneshot::Sender<EncodedAnswer>>,
    closed: Option<CloseReason>,
}

/// A call in flight; dropping it abandons the call.
#[derive(Debug)]
pub(crate) struct ResponseWaiter<'a> {
    waiters: &'a ResponseWaiters,
    id: u64,
    answer: oneshot::Receiver<EncodedAnswer>,
    /// Cancels the token of the handler when the call is dropped.
    abandon_guard: DropGuard,
}

impl ResponseWaiters {
    /// Registers a new call.
    pub(crate) fn register(&self) -> ResponseWaiter<'_> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        // Once closed, the sender is dropped here and the waiter ends at once with `None`.
        if state.closed.is_none() {
            state.senders.insert(id, sender);
        }
        drop(state);
        ResponseWaiter {
            waiters: self,
            id,
            answer,
            abandon_guard: CancellationToken::new().drop_guard(),
        }
    }

    /// Delivers an answer. It is dropped if its call was abandoned.
    pub(crate) fn answer(&self, id: &str, answer: EncodedAnswer) -> Result<(), PushError> {
        let sender = id
            .parse()
            .ok()
            .and_then(|id| self.state().senders.remove(&id));
        match sender.map(|sender| sender.send(answer)) {
            Some(Ok(())) => Ok(()),
            // Not `Full`, which would close the whole caller as slow for one abandoned call.
            Some(Err(_)) | None => Err(PushError::Closed),
        }
    }

    /// Ends every call in flight. Returns false if it was closed before.
    pub(crate) fn close(&self, reason: CloseReason) -> bool {
        let mut state = self.state();
        let first = state.closed.is_none();
        state.closed = state.closed.or(Some(reason));
        state.senders.clear();
        first
    }

    pub(crate) fn closed(&self) -> Option<CloseReason> {
        self.state().closed
    }

    fn state(&self) -> MutexGuard<'_, WaiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResponseWaiter<'_> {
    pub(crate) fn id(&self) -> String {
        self.id.to_string()
    }

    /// Cancelled when this waiter is dropped.
    pub(crate) fn abandoned(&self) -> CancellationToken {
        self.abandon_guard.token().clone()
    }

    /// Waits for the answer; `None` if the caller is closed first.
    pub(crate) async fn answer(mut self) -> Option<EncodedAnswer> {
        // Borrowed, because a type that implements `Drop` cannot be taken apart.
        (&mut self.answer).await.ok()
    }
}

impl Drop for ResponseWaiter<'_> {
    fn drop(&mut self) {
        // An answered call has removed its sender already; only an abandoned one still has it.
        self.waiters.state().senders.remove(&self.id);
    }
}
