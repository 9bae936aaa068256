//! The two lanes to the writer: acknowledged work, which somebody waits for, and bulk work, which
//! nobody does. Invariants: both are bounded; acknowledged work is taken first; bulk work that has
//! waited long gets its turn all the same.

use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};

/// Commands of one batch.
pub(crate) const BATCH_COMMANDS_MAX: usize = 512;
/// Bytes of one batch; a single larger command is a batch of its own.
pub(crate) const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Room in the lane of acknowledged work. A command takes one, and one more for each
/// [`ROOM_BYTES`] it carries, so this bounds commands (4,096) and bytes (64 MiB) together.
const ROOM_MAX: usize = 4_096;
const ROOM_BYTES: usize = 16 * 1024;
/// Bulk jobs waiting.
const BULK_MAX: usize = 64;
/// A bulk job that waited so long runs for one slice beside acknowledged work.
const BULK_WAIT_MAX: Duration = Duration::from_millis(250);

/// A piece of acknowledged work.
pub(crate) trait Command: Send {
    /// Does the work; once more, from the beginning, if the batch had to be rolled back.
    fn run(&mut self, batch: &mut Batch<'_>) -> Result<(), Trouble>;
    /// Tells the one who waits, after the commit or instead of it.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// A piece of bulk work, done step by step.
pub(crate) trait Bulk: Send {
    fn name(&self) -> &'static str;
    /// Does a step of about a millisecond.
    fn step(&mut self, batch: &mut Batch<'_>) -> Result<Step, Trouble>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    More,
    Done,
}

#[derive(Debug)]
pub(crate) struct Lanes {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
    wake: Condvar,
    room: Semaphore,
}

#[derive(Default)]
struct State {
    acknowledged: VecDeque<Queued>,
    bulk: VecDeque<Box<dyn Bulk>>,
    bulk_since: Option<Instant>,
    /// How many commands the writer waits for; none while it works.
    wanted: Option<usize>,
    closed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("acknowledged", &self.acknowledged.len())
            .field("bulk", &self.bulk.len())
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

/// A command on its way.
pub(crate) struct Queued {
    pub(crate) command: Box<dyn Command>,
    pub(crate) outcome: Result<(), StoreError>,
    bytes: usize,
}

/// What the writer has to do next.
pub(crate) enum Taken {
    /// The commands are in the writer's list; perhaps a bulk job beside them.
    Work(Option<Box<dyn Bulk>>),
    /// Nothing came within the time.
    Nothing,
    /// Nothing is left and nothing more will come.
    Closed,
}

impl Lanes {
    pub(crate) fn new() -> Self {
        Lanes {
            state: Mutex::new(State::default()),
            wake: Condvar::new(),
            room: Semaphore::new(ROOM_MAX),
        }
    }

    /// Queues `work`, which writes about `bytes`, and waits for its answer. A full lane makes the
    /// caller wait; what was queued is done even if the caller goes away.
    pub(crate) async fn submit<T, F>(&self, bytes: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Batch<'_>) -> Result<T, Trouble> + Send + 'static,
    {
        let room = self.room.acquire_many(room_for(bytes)).await;
        room.map_err(|_| StoreError::Closed)?.forget();
        let (reply, answer) = oneshot::channel();
        let command = Box::new(Asked {
            work,
            result: None,
            reply,
        });
        let wake = {
            let mut state = self.state();
            if state.closed {
                return Err(StoreError::Closed);
            }
            state.acknowledged.push_back(Queued {
                command,
                outcome: Ok(()),
                bytes,
            });
            let waiting = state.acknowledged.len();
            state.wanted.take_if(|wanted| waiting >= *wanted).is_some()
        };
        if wake {
            self.wake.notify_one();
        }
        // The writer answers each command it took; only its death drops one.
        answer.await.unwrap_or_else(|_| Err(StoreError::Closed))
    }

    /// Queues a bulk job; false when too many wait already.
    pub(crate) fn submit_bulk(&self, job: Box<dyn Bulk>) -> bool {
        let mut state = self.state();
        let fits = state.bulk.len() < BULK_MAX && !state.closed;
        if fits {
            state.bulk.push_back(job);
            state.bulk_since.get_or_insert_with(Instant::now);
            drop(state);
            self.wake.notify_one();
        }
        fits
    }

    /// Puts a bulk job back that yielded.
    pub(crate) fn resume_bulk(&self, job: Box<dyn Bulk>) {
        let mut state = self.state();
        if !state.closed {
            state.bulk.push_front(job);
            state.bulk_since = Some(Instant::now());
        }
    }

    /// Adds to a batch what came meanwhile; answers how many.
    pub(crate) fn join(&self, batch: &mut Vec<Queued>) -> usize {
        let before = batch.len();
        let mut state = self.state();
        let room = state.drain_batch(batch);
        drop(state);
        self.room.add_permits(room);
        batch.len() - before
    }

    /// Waits until `wanted` commands are queued, at most `within`.
    pub(crate) fn gather(&self, wanted: usize, within: Duration) {
        let deadline = Instant::now() + within;
        let mut state = self.state();
        while state.acknowledged.len() < wanted && !state.closed {
            state = match self.wait(state, wanted, deadline) {
                Ok(state) => state,
                Err(_) => return,
            };
        }
    }

    /// Takes what is queued, waiting at most `patience` for something to come.
    pub(crate) fn take(&self, into: &mut Vec<Queued>, patience: Duration) -> Taken {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        while state.acknowledged.is_empty() && state.bulk.is_empty() {
            if state.closed {
                return Taken::Closed;
            }
            state = match self.wait(state, 1, deadline) {
                Ok(state) => state,
                Err(_) => return Taken::Nothing,
            };
        }
        let room = state.drain_batch(into);
        let bulk = state.due_bulk(into.is_empty());
        drop(state);
        self.room.add_permits(room);
        Taken::Work(bulk)
    }

    /// How many commands wait.
    pub(crate) fn waiting(&self) -> usize {
        self.state().acknowledged.len()
    }

    /// Takes no more work; what is queued is still done, bulk work excepted.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.bulk.clear();
        drop(state);
        self.room.close();
        self.wake.notify_all();
    }

    /// Waits until about `wanted` commands wait or something else happened; an error when the
    /// time is over.
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        wanted: usize,
        deadline: Instant,
    ) -> Result<MutexGuard<'a, State>, MutexGuard<'a, State>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(state);
        }
        state.wanted = Some(wanted);
        let woken = self.wake.wait_timeout(state, left);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
        state.wanted = None;
        Ok(state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Moves commands over until the batch is full; answers how much room they leave.
    fn drain_batch(&mut self, into: &mut Vec<Queued>) -> usize {
        let mut bytes: usize = into.iter().map(|queued| queued.bytes).sum();
        let mut room = 0;
        while let Some(next) = self.acknowledged.front() {
            let fits = into.len() < BATCH_COMMANDS_MAX && bytes + next.bytes <= BATCH_BYTES_MAX;
            if !fits && !into.is_empty() {
                break;
            }
            bytes += next.bytes;
            room += room_for(next.bytes) as usize;
            into.extend(self.acknowledged.pop_front());
        }
        room
    }

    fn due_bulk(&mut self, idle: bool) -> Option<Box<dyn Bulk>> {
        let waited_long = self
            .bulk_since
            .is_some_and(|since| since.elapsed() >= BULK_WAIT_MAX);
        if !(idle || waited_long) {
            return None;
        }
        let job = self.bulk.pop_front();
        self.bulk_since = (!self.bulk.is_empty()).then(Instant::now);
        job
    }
}

fn room_for(bytes: usize) -> u32 {
    // A single command never needs more than there is, or it would wait for ever.
    let room = (1 + bytes / ROOM_BYTES).min(ROOM_MAX);
    u32::try_from(room).unwrap_or(u32::MAX)
}

/// A command made of a closure and the one who waits for it.
struct Asked<T, F> {
    work: F,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Command for Asked<T, F>
where
    T: Send,
    F: FnMut(&mut Batch<'_>) -> Result<T, Trouble> + Send,
{
    fn run(&mut self, batch: &mut Batch<'_>) -> Result<(), Trouble> {
        self.result = Some((self.work)(batch)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Asked { result, reply, .. } = *self;
        let never_ran = || StoreError::Internal("a command was answered before it ran".to_owned());
        let answer = outcome.and_then(|()| result.ok_or_else(never_ran));
        // The one who asked may have gone; the work is done all the same.
        let _ = reply.send(answer);
    }
}

#[cfg(test)]
#[path = "lanes_tests.rs"]
mod tests;
