//! What waits for one party: bounded in frames and bytes. Pushing never waits, except for a
//! catch-up, which goes at its reader's pace.
//!
//! Invariants: after it is closed nothing more is accepted; what is taken comes in the order it
//! was pushed; a volatile event is the only thing that may be replaced or left out.

use crate::delivery::Delivery;
use crate::event::NewEvent;
use crate::peer::Closed;
use hob_kit::failpoint;
use hob_wire::frame::Place;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Frames handed out at once, so that an outbox's bound is not doubled by what is being written.
const BATCH_FRAMES_MAX: usize = 64;
/// Bytes after which a batch ends.
const BATCH_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Outbox {
    frames_max: usize,
    bytes_max: usize,
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
    /// The same as `closed` of the state, readable without the lock.
    closed: AtomicBool,
    filled: Notify,
    emptied: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Delivery>,
    bytes: usize,
    closed: Option<Closed>,
}

/// Why a delivery was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Full,
    Closed,
}

/// What became of a volatile event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    Queued,
    /// It took the place of an older one, or there was no place for it.
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
            ended: Notify::new(),
        }
    }

    pub(crate) fn push(&self, delivery: Delivery) -> Result<(), Refused> {
        let mut state = self.state();
        self.check(&state, &delivery, 1)?;
        self.add(&mut state, delivery);
        Ok(())
    }

    /// Pushes for a catch-up, which leaves half of the outbox to what happens meanwhile and ends
    /// when it is cancelled. The flag is read under the lock: once cancelled, nothing follows.
    pub(crate) fn push_catching_up(
        &self,
        delivery: Delivery,
        cancelled: &AtomicBool,
    ) -> Result<(), (Refused, Delivery)> {
        let mut state = self.state();
        if cancelled.load(Ordering::Relaxed) {
            return Err((Refused::Closed, delivery));
        }
        match self.check(&state, &delivery, 2) {
            Ok(()) => self.add(&mut state, delivery),
            Err(refused) => return Err((refused, delivery)),
        }
        Ok(())
    }

    /// Like [`Outbox::push_catching_up`], but waits for room.
    pub(crate) async fn push_waiting(
        &self,
        mut delivery: Delivery,
        cancelled: &AtomicBool,
    ) -> Result<(), Refused> {
        loop {
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            match self.push_catching_up(delivery, cancelled) {
                Ok(()) => return Ok(()),
                Err((Refused::Closed, _)) => return Err(Refused::Closed),
                Err((Refused::Full, back)) => delivery = back,
            }
            emptied.await;
        }
    }

    /// Waits until a quarter is full at the most, or the outbox is closed.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            {
                let state = self.state();
                let room =
                    state.queue.len() <= self.frames_max / 4 && state.bytes <= self.bytes_max / 4;
                if room || state.queue.is_empty() || state.closed.is_some() {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Pushes a volatile event. In an outbox more than half full it replaces a waiting one of the
    /// same topic and session.
    pub(crate) fn push_volatile(
        &self,
        event: &Arc<NewEvent>,
        place: Place,
    ) -> Result<Passed, Refused> {
        let delivery = Delivery::Event {
            event: Arc::clone(event),
            place,
        };
        let mut state = self.state();
        let mut passed = Passed::Queued;
        if self.check(&state, &delivery, 2) == Err(Refused::Full)
            && let Some(older) = state.queue.iter().rposition(|held| is_older(held, event))
            && let Some(older) = state.queue.remove(older)
        {
            // The newer one goes to the end: its `seq` may be that of an event waiting there.
            state.bytes -= older.bytes();
            passed = Passed::Coalesced;
        }
        match self.check(&state, &delivery, 1) {
            Ok(()) => self.add(&mut state, delivery),
            Err(Refused::Full) => passed = Passed::Coalesced,
            Err(Refused::Closed) => return Err(Refused::Closed),
        }
        Ok(passed)
    }

    /// Waits for deliveries and moves a batch of them to `into`; `Some` once closed and empty.
    pub(crate) async fn take(&self, into: &mut Vec<Delivery>, frames_max: usize) -> Option<Closed> {
        loop {
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

    /// Accepts nothing more; false if it was closed before. What waits may still be taken, except
    /// by a party whose credential was revoked.
    pub(crate) fn close(&self, reason: Closed) -> bool {
        self.close_with(reason, None)
    }

    /// Closes with a last word, which has its place even in a full outbox.
    pub(crate) fn close_after(&self, last: Delivery, reason: Closed) -> bool {
        self.close_with(reason, Some(last))
    }

    /// Forgets what waits: nobody will take it.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        let dropped = std::mem::take(&mut state.queue);
        state.bytes = 0;
        // Dropping requests may drop the last of their callers, which is no work for a lock.
        drop(state);
        drop(dropped);
    }

    /// Ends as soon as the outbox is closed, whatever still waits in it.
    pub(crate) async fn ended(&self) -> Closed {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
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

    fn close_with(&self, reason: Closed, last: Option<Delivery>) -> bool {
        let mut state = self.state();
        if reason == Closed::Revoked {
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
        self.filled.notify_one();
        self.emptied.notify_waiters();
        self.ended.notify_waiters();
        first
    }

    /// Whether `delivery` fits into the outbox's `share`th part. An empty outbox takes anything.
    fn check(&self, state: &State, delivery: &Delivery, share: usize) -> Result<(), Refused> {
        if state.closed.is_some() {
            return Err(Refused::Closed);
        }
        let fits = state.queue.len() < self.frames_max / share
            && state.bytes + delivery.bytes() <= self.bytes_max / share;
        if fits || state.queue.is_empty() || failpoint::broken(34) {
            Ok(())
        } else {
            Err(Refused::Full)
        }
    }

    fn add(&self, state: &mut State, delivery: Delivery) {
        state.bytes += delivery.bytes();
        state.queue.push_back(delivery);
        if state.queue.len() == 1 {
            self.filled.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

/// Whether `held` is a volatile event that `newer` makes out of date.
fn is_older(held: &Delivery, newer: &NewEvent) -> bool {
    match held {
        Delivery::Event {
            event,
            place: Place::Volatile { .. },
        } => event.topic == newer.topic && event.session == newer.session,
        _ => false,
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
