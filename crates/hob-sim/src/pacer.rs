//! A timer finer than the runtime's, whose step of a millisecond would let the tokens of many
//! streams leave in bursts: one thread that sleeps until the next moment and wakes who is due.
//!
//! Invariant: a waker is woken at its moment or after, never before.

use hob_kit::clock::Clock;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The clock and pacer of an answer.
#[derive(Clone, Debug)]
pub(crate) struct AnswerClock {
    pub(crate) clock: Clock,
    pub(crate) pacer: Arc<Pacer>,
}

/// The queue of wake-ups and its condition variable.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    desk: Mutex<WakeQueue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WakeQueue {
    /// The soonest on top. Each answer under way has one entry at the most, so it is as bounded
    /// as they are.
    moments: BinaryHeap<WakeEntry>,
    stopped: bool,
}

#[derive(Debug)]
struct WakeEntry {
    at: Instant,
    waker: Waker,
}

impl Pacer {
    /// Wakes the waker at that time.
    pub(crate) fn wake_at(&self, at: Instant, waker: Waker) {
        let mut desk = self.lock();
        let soonest = desk.moments.peek().is_none_or(|first| at < first.at);
        desk.moments.push(WakeEntry { at, waker });
        drop(desk);
        if soonest {
            self.changed.notify_one();
        }
    }

    fn run(&self) {
        let mut desk = self.lock();
        while !desk.stopped {
            let now = Instant::now();
            let mut due = Vec::new();
            while desk.moments.peek().is_some_and(|first| first.at <= now) {
                due.extend(desk.moments.pop());
            }
            if !due.is_empty() {
                drop(desk);
                for moment in due {
                    moment.waker.wake();
                }
                desk = self.lock();
                continue;
            }
            let next = desk.moments.peek().map(|first| first.at - now);
            desk = if let Some(wait) = next {
                let waited = self.changed.wait_timeout(desk, wait);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                let waited = self.changed.wait(desk);
                waited.unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// Held for a push or a pop; a panic in between leaves the heap whole.
    fn lock(&self) -> MutexGuard<'_, WakeQueue> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread behind a [`Pacer`]; it ends when dropped.
#[derive(Debug)]
pub(crate) struct PacerThread {
    pacer: Arc<Pacer>,
    thread: Option<JoinHandle<()>>,
}

impl PacerThread {
    pub(crate) fn start(pacer: &Arc<Pacer>) -> io::Result<PacerThread> {
        let run = Arc::clone(pacer);
        let thread = thread::Builder::new()
            .name("hob-sim-pacer".to_owned())
            .spawn(move || run.run())?;
        Ok(PacerThread {
            pacer: Arc::clone(pacer),
            thread: Some(thread),
        })
    }
}

impl Drop for PacerThread {
    fn drop(&mut self) {
        self.pacer.lock().stopped = true;
        self.pacer.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already said so on stderr.
            let _ = thread.join();
        }
    }
}

/// The heap has the greatest on top: the sooner is the greater.
impl Ord for WakeEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at)
    }
}

impl PartialOrd for WakeEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WakeEntry {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for WakeEntry {}

#[cfg(test)]
#[path = "pacer_tests.rs"]
mod tests;
