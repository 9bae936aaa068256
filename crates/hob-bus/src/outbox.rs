//! The queue of deliveries to one endpoint, bounded in frames and bytes. Pushing never waits,
//! except for a catch-up, which runs at its reader's pace.
//!
//! Invariants: once closed, nothing more is accepted; deliveries are taken in the order they were
//! pushed; only volatile events may be replaced or dropped.

use crate::delivery::Delivery;
use crate::event::VolatileEvent;
use crate::peer::CloseReason;
use hob_wire::frame::EventPosition;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Frames taken at once. Bounded, so that frames being written do not double the outbox's bound.
const BATCH_FRAMES_MAX: usize = 64;
/// Bytes after which a batch ends.
const BATCH_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Outbox {
    frames_max: usize,
    bytes_max: usize,
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<OutboxState>,
    /// Mirrors `closed` of the state, readable without the lock.
    closed: AtomicBool,
    filled: Notify,
    emptied: Notify,
    closed_notify: Notify,
}

#[derive(Debug, Default)]
struct OutboxState {
    queue: VecDeque<Delivery>,
    bytes: usize,
    closed: Option<CloseReason>,
}

/// The reason for which a delivery was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushError {
    Full,
    Closed,
}

/// The result of pushing a volatile event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VolatileOutcome {
    Queued,
    /// It replaced an older one, or it was dropped.
    Coalesced,
}

impl Outbox {
    pub(crate) fn new(frames_max: usize, bytes_max: usize) -> Self {
        Outbox {
            frames_max,
            bytes_max,
            state: Mutex::default(),
            closed: AtomicBool::new(false),
            filled: Notify::new(),
            emptied: Notify::new(),
            closed_notify: Notify::new(),
        }
    }

    pub(crate) fn push(&self, delivery: Delivery) -> Result<(), PushError> {
        let mut state = self.state();
        self.check(&state, &delivery, 1)?;
        self.add(&mut state, delivery);
        Ok(())
    }

    /// Pushes for a catch-up. It may fill only half of the outbox, so that answers and other
    /// deliveries still fit. Fails with `Closed` once cancelled.
    pub(crate) fn push_catching_up(
        &self,
        delivery: Delivery,
        cancelled: &AtomicBool,
    ) -> Result<(), (PushError, Delivery)> {
        let mut state = self.state();
        // Read under the lock, so that nothing is pushed after the cancellation.
        if cancelled.load(Ordering::Relaxed) {
            return Err((PushError::Closed, delivery));
        }
        match self.check(&state, &delivery, 2) {
            Ok(()) => self.add(&mut state, delivery),
            Err(refused) => return Err((refused, delivery)),
        }
        Ok(())
    }

    /// Like [`Outbox::push_catching_up`], but waits until there is room.
    pub(crate) async fn push_waiting(
        &self,
        mut delivery: Delivery,
        cancelled: &AtomicBool,
    ) -> Result<(), PushError> {
        loop {
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            // Enabled before the push: a batch taken between the push and the await would otherwise
            // go unnoticed.
            match self.push_catching_up(delivery, cancelled) {
                Ok(()) => return Ok(()),
                Err((PushError::Closed, _)) => return Err(PushError::Closed),
                Err((PushError::Full, back)) => delivery = back,
            }
            emptied.await;
        }
    }

    /// Waits until at most a quarter of the outbox is full, or it is closed.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            {
                let state = self.state();
                // A quarter, while a push may fill half: the catch-up would otherwise wake for
                // every frame.
                let room =
                    state.queue.len() <= self.frames_max / 4 && state.bytes <= self.bytes_max / 4;
                if room || state.queue.is_empty() || state.closed.is_some() {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Pushes a volatile event. If the outbox is more than half full, it replaces a queued one of
    /// the same topic, session and subject. A full outbox drops it, but refuses one with a subject:
    /// the last change of a subject is never lost in silence.
    pub(crate) fn push_volatile(
        &self,
        event: &VolatileEvent,
        place: EventPosition,
    ) -> Result<VolatileOutcome, PushError> {
        let delivery = Delivery::Event {
            event: Arc::clone(&event.event),
            place,
            subject: event.subject.clone(),
        };
        let mut state = self.state();
        let mut outcome = VolatileOutcome::Queued;
        if self.check(&state, &delivery, 2) == Err(PushError::Full)
            && let Some(older) = state.queue.iter().rposition(|held| is_older(held, event))
            && let Some(older) = state.queue.remove(older)
        {
            // The new one goes to the end, not to the old place: its `seq` may be that of a logged
            // event queued behind it.
            state.bytes -= older.bytes();
            outcome = VolatileOutcome::Coalesced;
        }
        match self.check(&state, &delivery, 1) {
            Ok(()) => self.add(&mut state, delivery),
            // A volatile event may be lost, so a full outbox drops it and does not close its
            // reader.
            Err(PushError::Full) if event.subject.is_none() => {
                outcome = VolatileOutcome::Coalesced;
            }
            Err(refused) => return Err(refused),
        }
        Ok(outcome)
    }

    /// Waits for deliveries and moves a batch of them to `into`. Returns `Some` once closed and
    /// empty.
    pub(crate) async fn take(
        &self,
        into: &mut Vec<Delivery>,
        frames_max: usize,
    ) -> Option<CloseReason> {
        loop {
            // `notify_one` keeps a permit for a late waiter, so unlike `emptied` this needs no
            // `enable`.
            let filled = self.filled.notified();
            {
                let mut state = self.state();
                if state.take(into, frames_max.min(BATCH_FRAMES_MAX)) {
                    drop(state);
                    self.emptied.notify_waiters();
                    return None;
                }
                if let Some(reason) = state.closed {
                    return Some(reason);
                }
            }
            filled.await;
        }
    }

    /// Closes the outbox. Returns false if it was closed before. Queued deliveries may still be
    /// taken, unless the credential was revoked.
    pub(crate) fn close(&self, reason: CloseReason) -> bool {
        self.close_with(reason, None)
    }

    /// Closes the outbox with a last delivery, which is accepted even if it is full.
    pub(crate) fn close_with_last(&self, last: Delivery, reason: CloseReason) -> bool {
        self.close_with(reason, Some(last))
    }

    /// Drops all queued deliveries.
    pub(crate) fn discard(&self) {
        let mut state = self.state();
        let dropped = std::mem::take(&mut state.queue);
        state.bytes = 0;
        // Dropped after the lock is released: a request may hold the last reference to its caller,
        // and dropping that can take other locks.
        drop(state);
        drop(dropped);
    }

    /// Waits until the outbox is closed, even if deliveries are still queued.
    pub(crate) async fn wait_closed(&self) -> CloseReason {
        loop {
            let mut ended = std::pin::pin!(self.closed_notify.notified());
            ended.as_mut().enable();
            if let Some(reason) = self.state().closed {
                return reason;
            }
            ended.await;
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn len(&self) -> usize {
        self.state().queue.len()
    }

    fn close_with(&self, reason: CloseReason, last: Option<Delivery>) -> bool {
        let mut state = self.state();
        // A revoked credential must not receive anything more, not even what is queued already.
        if reason == CloseReason::Revoked {
            state.queue.clear();
            state.bytes = 0;
        }
        let first = state.closed.is_none();
        if first {
            state.queue.extend(last);
            state.closed = Some(reason);
            self.closed.store(true, Ordering::Release);
        }
        drop(state);
        // All three kinds of waiters end: the reader, a catch-up that pushes, and watchers of the
        // close.
        self.filled.notify_one();
        self.emptied.notify_waiters();
        self.closed_notify.notify_waiters();
        first
    }

    /// Checks that `delivery` fits into `1 / divisor` of the outbox.
    fn check(
        &self,
        state: &OutboxState,
        delivery: &Delivery,
        divisor: usize,
    ) -> Result<(), PushError> {
        if state.closed.is_some() {
            return Err(PushError::Closed);
        }
        // An empty outbox takes any delivery: one that is larger than the bound could otherwise
        // never be sent.
        let fits = state.queue.len() < self.frames_max / divisor
            && state.bytes + delivery.bytes() <= self.bytes_max / divisor;
        if fits || state.queue.is_empty() {
            Ok(())
        } else {
            Err(PushError::Full)
        }
    }

    fn add(&self, state: &mut OutboxState, delivery: Delivery) {
        state.bytes += delivery.bytes();
        state.queue.push_back(delivery);
        // The reader waits only on an empty queue, so the first delivery is the one that wakes it.
        if state.queue.len() == 1 {
            self.filled.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutboxState {
    fn take(&mut self, into: &mut Vec<Delivery>, frames_max: usize) -> bool {
        let (mut frames, mut bytes) = (0, 0);
        while frames < frames_max
            && bytes < BATCH_BYTES_MAX
            && let Some(delivery) = self.queue.pop_front()
        {
            frames += 1;
            bytes += delivery.bytes();
            into.push(delivery);
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        frames > 0
    }
}

/// Returns true if `held` is a volatile event that `newer` supersedes.
fn is_older(held: &Delivery, newer: &VolatileEvent) -> bool {
    match held {
        Delivery::Event {
            event,
            place: EventPosition::Volatile { .. },
            subject,
        } => {
            event.topic == newer.event.topic
                && event.session == newer.event.session
                && *subject == newer.subject
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
