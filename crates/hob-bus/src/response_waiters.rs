//! Where a caller inside the house receives its answers: each goes straight to the future that
//! waits for it.

use crate::delivery::Answer;
use crate::outbox::Refused;
use crate::peer::Closed;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    open: HashMap<u64, oneshot::Sender<Answer>>,
    closed: Option<Closed>,
}

/// A call under way; dropping it forgets the call.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    waiters: &'a Waiters,
    id: u64,
    answer: oneshot::Receiver<Answer>,
    /// Tells whoever works on the call that it was dropped.
    abandons: DropGuard,
}

impl Waiters {
    /// Waits for the answer to a new request.
    pub(crate) fn open(&self) -> Waiter<'_> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        if state.closed.is_none() {
            state.open.insert(id, sender);
        }
        drop(state);
        Waiter {
            waiters: self,
            id,
            answer,
            abandons: CancellationToken::new().drop_guard(),
        }
    }

    /// Hands over an answer. One that nobody waits for any more is dropped.
    pub(crate) fn answer(&self, id: &str, answer: Answer) -> Result<(), Refused> {
        let waiting = id.parse().ok().and_then(|id| self.state().open.remove(&id));
        match waiting.map(|waiting| waiting.send(answer)) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(Refused::Closed),
        }
    }

    /// Ends every call under way; false if it was closed before.
    pub(crate) fn close(&self, reason: Closed) -> bool {
        let mut state = self.state();
        let first = state.closed.is_none();
        state.closed = state.closed.or(Some(reason));
        state.open.clear();
        first
    }

    pub(crate) fn closed(&self) -> Option<Closed> {
        self.state().closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter<'_> {
    pub(crate) fn id(&self) -> String {
        self.id.to_string()
    }

    /// Cancelled when this waiter is dropped.
    pub(crate) fn abandoned(&self) -> CancellationToken {
        self.abandons.token().clone()
    }

    /// The answer; none when the caller was closed first.
    pub(crate) async fn answer(mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.waiters.state().open.remove(&self.id);
    }
}
