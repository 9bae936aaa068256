//! The writer's two queues: acknowledged work, whose caller waits for the answer, and bulk work,
//! which has no caller. Invariants: both are bounded; acknowledged work is taken first; bulk work
//! that waited long runs all the same.

use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};

/// Commands of one batch.
pub(crate) const BATCH_COMMANDS_MAX: usize = 512;
/// Bytes of one batch; a single larger command is a batch of its own.
pub(crate) const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Permits of acknowledged work. A command takes one, and one more for each [`BYTES_PER_PERMIT`] it
/// carries. So this bounds commands (4,096) and bytes (64 MiB) together.
const PERMITS_MAX: usize = 4_096;
const BYTES_PER_PERMIT: usize = 16 * 1024;
/// Bulk jobs that may wait.
const BULK_MAX: usize = 64;
/// A bulk job that waited this long runs for one slice beside acknowledged work.
const BULK_WAIT_MAX: Duration = Duration::from_millis(250);

/// A command of acknowledged work.
pub(crate) trait WriteCommand: Send {
    /// Does the work. Called again, from the beginning, if the batch was rolled back.
    fn run(&mut self, batch: &mut WriteBatch<'_>) -> Result<(), QueryError>;
    /// Answers the caller, after the commit or with the error that replaced it.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// A job of bulk work, done step by step.
pub(crate) trait BulkJob: Send {
    fn name(&self) -> &'static str;
    /// Does a step of about a millisecond.
    fn step(&mut self, batch: &mut WriteBatch<'_>) -> Result<BulkProgress, QueryError>;
}

/// The result of a bulk step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BulkProgress {
    More,
    Done,
}

/// The queue between the store's handles and the writer's thread.
#[derive(Debug)]
pub(crate) struct WriterQueue {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<QueueState>,
    wake: Condvar,
    permits: Semaphore,
}

#[derive(Default)]
struct QueueState {
    acknowledged: VecDeque<QueuedWrite>,
    bulk: VecDeque<Box<dyn BulkJob>>,
    bulk_since: Option<Instant>,
    /// The number of commands the writer waits for; none while it works.
    wanted: Option<usize>,
    closed: bool,
}

impl std::fmt::Debug for QueueState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueueState")
            .field("acknowledged", &self.acknowledged.len())
            .field("bulk", &self.bulk.len())
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

/// A queued command with its outcome so far.
pub(crate) struct QueuedWrite {
    pub(crate) command: Box<dyn WriteCommand>,
    pub(crate) outcome: Result<(), StoreError>,
    bytes: usize,
}

/// The next work of the writer.
pub(crate) enum NextWork {
    /// The commands are in the writer's list, perhaps with a bulk job beside them.
    Work(Option<Box<dyn BulkJob>>),
    /// No work arrived in time.
    TimedOut,
    /// The queue is closed and empty.
    Closed,
}

impl WriterQueue {
    pub(crate) fn new() -> Self {
        WriterQueue {
            state: Mutex::new(QueueState::default()),
            wake: Condvar::new(),
            permits: Semaphore::new(PERMITS_MAX),
        }
    }

    /// Queues `work`, which writes about `bytes`, and waits for its answer. A full queue makes the
    /// caller wait. Queued work is done even if the caller goes away.
    pub(crate) async fn submit<T, F>(&self, bytes: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut WriteBatch<'_>) -> Result<T, QueryError> + Send + 'static,
    {
        let permits = self.permits.acquire_many(permits_for(bytes)).await;
        // Forgotten here: the permits return when the writer takes the command, even if the caller
        // is gone by then.
        permits.map_err(|_| StoreError::Closed)?.forget();
        let (reply, answer) = oneshot::channel();
        let command = Box::new(ClosureCommand {
            work,
            result: None,
            reply,
        });
        let wake = {
            let mut state = self.state();
            // Checked under the lock, so that no command is queued after the writer saw an empty,
            // closed queue.
            if state.closed {
                return Err(StoreError::Closed);
            }
            state.acknowledged.push_back(QueuedWrite {
                command,
                outcome: Ok(()),
                bytes,
            });
            let waiting = state.acknowledged.len();
            // One wake-up for all: the writer is woken when enough commands wait, not for each.
            state.wanted.take_if(|wanted| waiting >= *wanted).is_some()
        };
        if wake {
            self.wake.notify_one();
        }
        // The writer answers each command it took. Only a dead writer drops one.
        answer.await.unwrap_or_else(|_| Err(StoreError::Closed))
    }

    /// Queues a bulk job; false when too many wait already.
    pub(crate) fn submit_bulk(&self, job: Box<dyn BulkJob>) -> bool {
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

    /// Puts a bulk job that yielded back in front.
    pub(crate) fn resume_bulk(&self, job: Box<dyn BulkJob>) {
        let mut state = self.state();
        if !state.closed {
            state.bulk.push_front(job);
            // It has just had its slice, so its wait begins anew.
            state.bulk_since = Some(Instant::now());
        }
    }

    /// Adds commands that arrived meanwhile to a batch; returns their number.
    pub(crate) fn add_arrivals(&self, batch: &mut Vec<QueuedWrite>) -> usize {
        let before = batch.len();
        let mut state = self.state();
        let permits = state.drain_batch(batch);
        drop(state);
        self.permits.add_permits(permits);
        batch.len() - before
    }

    /// Waits until `wanted` commands are queued, at most `within`.
    pub(crate) fn wait_for_commands(&self, wanted: usize, within: Duration) {
        let deadline = Instant::now() + within;
        let mut state = self.state();
        while state.acknowledged.len() < wanted && !state.closed {
            state = match self.wait(state, wanted, deadline) {
                Ok(state) => state,
                Err(_) => return,
            };
        }
    }

    /// Takes the queued work, waiting at most `timeout` for it.
    pub(crate) fn take(&self, into: &mut Vec<QueuedWrite>, timeout: Duration) -> NextWork {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        while state.acknowledged.is_empty() && state.bulk.is_empty() {
            // Closed is reported only when the queue is empty: what was queued is still committed.
            if state.closed {
                return NextWork::Closed;
            }
            state = match self.wait(state, 1, deadline) {
                Ok(state) => state,
                Err(_) => return NextWork::TimedOut,
            };
        }
        let permits = state.drain_batch(into);
        let bulk = state.take_due_bulk(into.is_empty());
        drop(state);
        // After the lock is released: the callers that this wakes take the lock next.
        self.permits.add_permits(permits);
        NextWork::Work(bulk)
    }

    /// The number of waiting commands.
    pub(crate) fn waiting_count(&self) -> usize {
        self.state().acknowledged.len()
    }

    /// Accepts no more work. Queued commands are still done, bulk jobs are dropped.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        // Bulk jobs are queued again at the next start, so nothing is lost.
        state.bulk.clear();
        drop(state);
        // Callers that wait for permits get an error; without this they would wait for ever.
        self.permits.close();
        self.wake.notify_all();
    }

    /// Waits until about `wanted` commands wait or the queue changes; an error when the time is
    /// over.
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, QueueState>,
        wanted: usize,
        deadline: Instant,
    ) -> Result<MutexGuard<'a, QueueState>, MutexGuard<'a, QueueState>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(state);
        }
        state.wanted = Some(wanted);
        let woken = self.wake.wait_timeout(state, left);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
        // After a time-out the number is still set, and a caller would wake a writer that is at
        // work.
        state.wanted = None;
        Ok(state)
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Moves commands into a batch until it is full; returns the permits they free.
    fn drain_batch(&mut self, into: &mut Vec<QueuedWrite>) -> usize {
        let mut bytes: usize = into.iter().map(|queued| queued.bytes).sum();
        let mut permits = 0;
        while let Some(next) = self.acknowledged.front() {
            let fits = into.len() < BATCH_COMMANDS_MAX && bytes + next.bytes <= BATCH_BYTES_MAX;
            // A command larger than a whole batch still goes, alone.
            if !fits && !into.is_empty() {
                break;
            }
            bytes += next.bytes;
            permits += permits_for(next.bytes) as usize;
            into.extend(self.acknowledged.pop_front());
        }
        permits
    }

    fn take_due_bulk(&mut self, idle: bool) -> Option<Box<dyn BulkJob>> {
        let waited_long = self
            .bulk_since
            .is_some_and(|since| since.elapsed() >= BULK_WAIT_MAX);
        if !(idle || waited_long) {
            return None;
        }
        let job = self.bulk.pop_front();
        // The next job starts its own wait, or several jobs would run in a row beside commands.
        self.bulk_since = (!self.bulk.is_empty()).then(Instant::now);
        job
    }
}

fn permits_for(bytes: usize) -> u32 {
    // A command never needs more permits than exist, or it would wait for ever.
    let permits = (1 + bytes / BYTES_PER_PERMIT).min(PERMITS_MAX);
    u32::try_from(permits).unwrap_or(u32::MAX)
}

/// A command made of a closure and its caller's reply channel.
struct ClosureCommand<T, F> {
    work: F,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> WriteCommand for ClosureCommand<T, F>
where
    T: Send,
    F: FnMut(&mut WriteBatch<'_>) -> Result<T, QueryError> + Send,
{
    fn run(&mut self, batch: &mut WriteBatch<'_>) -> Result<(), QueryError> {
        // A second run after a rollback replaces the result of the first.
        self.result = Some((self.work)(batch)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let ClosureCommand { result, reply, .. } = *self;
        let never_ran = || StoreError::Internal("a command was answered before it ran".to_owned());
        let answer = outcome.and_then(|()| result.ok_or_else(never_ran));
        // The caller may have gone away. The work is done all the same.
        let _ = reply.send(answer);
    }
}

#[cfg(test)]
#[path = "writer_queue_tests.rs"]
mod tests;
