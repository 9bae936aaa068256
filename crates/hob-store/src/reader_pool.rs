//! The reader pool: a few connections, used on blocking threads.
//!
//! Invariants: a read is one short visit, over before the next await; none takes longer than a
//! second, because an older snapshot keeps the write-ahead log from being emptied; one connection
//! is open from start to end, so that reopening the writer never replays a log it had given up.

use crate::connection::open_reader;
use crate::error::{StoreError, Trouble};
use crate::health::Health;
use hob_kit::clock::Clock;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Connections, and reads at once.
const READERS_MAX: usize = 4;
/// Reads that wait for a connection.
const WAITING_MAX: usize = 4_096;
/// Longest read.
const READ_MS_MAX: u64 = 1_000;
/// SQLite instructions between two looks at the clock: some tens of microseconds.
const INSTRUCTIONS_PER_LOOK: i32 = 4_096;

#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    clock: Clock,
    health: Arc<Health>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// A std mutex, because it is held for a few lines without await.
    idle: Mutex<Vec<Reader>>,
}

#[derive(Debug)]
struct Reader {
    sql: Connection,
    /// Monotonic time at which its present read is stopped.
    deadline_ms: Arc<AtomicU64>,
}

impl Readers {
    /// Opens the pool's first connection.
    pub(crate) fn open(path: &Path, clock: Clock, health: Arc<Health>) -> Result<Self, StoreError> {
        let first = Reader::open(path, &clock).map_err(|trouble| trouble.about(path))?;
        Ok(Readers {
            path: path.to_owned(),
            clock,
            health,
            permits: Arc::new(Semaphore::new(READERS_MAX)),
            waiting: AtomicUsize::new(0),
            idle: Mutex::new(vec![first]),
        })
    }

    /// Runs `work` on a connection of the pool, in one snapshot.
    pub(crate) async fn read<T, F>(self: &Arc<Self>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    {
        let permit = {
            let _place = Waiting::take(&self.waiting)?;
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            permit.map_err(|_| StoreError::Closed)?
        };
        let readers = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // Held until the read is over, even if the caller went away.
            let _permit = permit;
            readers.read_now(work)
        })
        .await;
        done.unwrap_or_else(|error| Err(StoreError::Internal(format!("a read failed: {error}"))))
    }

    /// The same on the present thread, for threads of the store's own.
    pub(crate) fn read_now<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let pooled = self.idle().pop();
        let done = match pooled {
            Some(reader) => Ok(reader),
            None => Reader::open(&self.path, &self.clock),
        }
        .and_then(|reader| {
            let done = reader.visit(&self.clock, work);
            self.put_back(reader);
            done
        })
        .map_err(|trouble| trouble.about(&self.path));
        match &done {
            Err(error @ StoreError::Damaged { .. }) => self.health.note(error),
            Err(StoreError::DamagedRow(row)) => self.health.found_damaged(row),
            _ => {}
        }
        done.map_err(|error| self.health.as_known(error))
    }

    /// Closes the pool: reads that wait fail, connections close.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.idle().clear();
    }

    fn put_back(&self, reader: Reader) {
        let mut idle = self.idle();
        if idle.len() < READERS_MAX && !self.permits.is_closed() {
            idle.push(reader);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    fn open(path: &Path, clock: &Clock) -> Result<Self, Trouble> {
        let mut sql = open_reader(path)?;
        let deadline_ms = Arc::new(AtomicU64::new(u64::MAX));
        let (clock, deadline) = (clock.clone(), Arc::clone(&deadline_ms));
        sql.progress_handler(
            INSTRUCTIONS_PER_LOOK,
            Some(move || clock.monotonic_ms() > deadline.load(Ordering::Relaxed)),
        )?;
        Ok(Reader { sql, deadline_ms })
    }

    fn visit<T>(
        &self,
        clock: &Clock,
        work: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let deadline = clock.monotonic_ms() + READ_MS_MAX;
        self.deadline_ms.store(deadline, Ordering::Relaxed);
        // One transaction, so that what `work` reads in several statements fits together.
        self.sql.prepare_cached("BEGIN")?.execute([])?;
        let done = work(&self.sql);
        self.deadline_ms.store(u64::MAX, Ordering::Relaxed);
        let ended = self.sql.prepare_cached("ROLLBACK")?.execute([]);
        let result = done?;
        ended?;
        Ok(result)
    }
}

/// A place among those who wait.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn take(waiting: &'a AtomicUsize) -> Result<Self, StoreError> {
        let place = Waiting(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            return Err(StoreError::Overloaded(format!(
                "{WAITING_MAX} reads wait already. Try again in a moment."
            )));
        }
        Ok(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "readers_tests.rs"]
mod tests;
