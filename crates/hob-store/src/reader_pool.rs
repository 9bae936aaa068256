//! The reader pool: a few connections, used on blocking threads.
//!
//! Invariants: a read is short and ends before the next await; none takes longer than a second,
//! because an old snapshot keeps the write-ahead log from being emptied; one connection is open
//! from start to end, so that reopening the writer never replays a log that was given up.

use crate::connection::open_reader;
use crate::error::{QueryError, StoreError};
use crate::health::StoreHealth;
use hob_kit::clock::Clock;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Connections, and reads at the same time.
const READERS_MAX: usize = 4;
/// Reads that may wait for a connection.
const WAITING_MAX: usize = 4_096;
/// The longest read.
const READ_MS_MAX: u64 = 1_000;
/// SQLite instructions between two looks at the clock: some tens of microseconds.
const INSTRUCTIONS_PER_LOOK: i32 = 4_096;

/// The pool of reading connections.
#[derive(Debug)]
pub(crate) struct ReaderPool {
    path: PathBuf,
    clock: Clock,
    health: Arc<StoreHealth>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// A std mutex, because it is held for a few lines without await.
    idle: Mutex<Vec<PooledReader>>,
}

/// A connection with the deadline of its present read.
#[derive(Debug)]
struct PooledReader {
    sql: Connection,
    /// The monotonic time at which the present read is stopped.
    deadline_ms: Arc<AtomicU64>,
}

impl ReaderPool {
    /// Opens the pool's first connection.
    pub(crate) fn open(
        path: &Path,
        clock: Clock,
        health: Arc<StoreHealth>,
    ) -> Result<Self, StoreError> {
        let first =
            PooledReader::open(path, &clock).map_err(|trouble| trouble.into_store_error(path))?;
        Ok(ReaderPool {
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
        F: FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
    {
        let permit = {
            // The ticket counts waiting reads only, so it ends when the permit is there.
            let _place = WaitTicket::take(&self.waiting)?;
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            permit.map_err(|_| StoreError::Closed)?
        };
        let readers = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // Held until the read ends, even if the caller is dropped.
            let _permit = permit;
            readers.read_blocking(work)
        })
        .await;
        done.unwrap_or_else(|error| Err(StoreError::Internal(format!("a read failed: {error}"))))
    }

    /// Does the same on the present thread, for the store's own threads.
    pub(crate) fn read_blocking<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        // A statement of its own: the lock must not be held while a connection is opened.
        let pooled = self.idle().pop();
        let done = match pooled {
            Some(reader) => Ok(reader),
            None => PooledReader::open(&self.path, &self.clock),
        }
        .and_then(|reader| {
            let done = reader.run(&self.clock, work);
            self.put_back(reader);
            done
        })
        .map_err(|trouble| trouble.into_store_error(&self.path));
        match &done {
            // Other errors concern one read. This one may concern the whole file.
            Err(error @ StoreError::Damaged { .. }) => self.health.note_error(error),
            Err(StoreError::DamagedRow(row)) => self.health.add_damaged_row(row),
            _ => {}
        }
        done.map_err(|error| self.health.hide_unconfirmed_damage(error))
    }

    /// Closes the pool: waiting reads fail, connections close.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.idle().clear();
    }

    fn put_back(&self, reader: PooledReader) {
        let mut idle = self.idle();
        // A read that outlasts `close` must not keep its snapshot, which blocks the final
        // checkpoint.
        if idle.len() < READERS_MAX && !self.permits.is_closed() {
            idle.push(reader);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PooledReader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledReader {
    fn open(path: &Path, clock: &Clock) -> Result<Self, QueryError> {
        let mut sql = open_reader(path)?;
        let deadline_ms = Arc::new(AtomicU64::new(u64::MAX));
        let (clock, deadline) = (clock.clone(), Arc::clone(&deadline_ms));
        sql.progress_handler(
            INSTRUCTIONS_PER_LOOK,
            Some(move || clock.monotonic_ms() > deadline.load(Ordering::Relaxed)),
        )?;
        Ok(PooledReader { sql, deadline_ms })
    }

    fn run<T>(
        &self,
        clock: &Clock,
        work: impl FnOnce(&Connection) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let deadline = clock.monotonic_ms() + READ_MS_MAX;
        self.deadline_ms.store(deadline, Ordering::Relaxed);
        // One transaction, so that several statements of `work` see the same data.
        self.sql.prepare_cached("BEGIN")?.execute([])?;
        let done = work(&self.sql);
        // Lifted first: a deadline that has passed would interrupt the ROLLBACK too.
        self.deadline_ms.store(u64::MAX, Ordering::Relaxed);
        let ended = self.sql.prepare_cached("ROLLBACK")?.execute([]);
        // The error of the work comes first, because a failed ROLLBACK is usually its consequence.
        let result = done?;
        ended?;
        Ok(result)
    }
}

/// A place in the queue for a connection.
struct WaitTicket<'a>(&'a AtomicUsize);

impl<'a> WaitTicket<'a> {
    fn take(waiting: &'a AtomicUsize) -> Result<Self, StoreError> {
        // Made before the count is raised: if the queue is full, dropping it lowers the count
        // again.
        let place = WaitTicket(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            return Err(StoreError::Overloaded(format!(
                "{WAITING_MAX} reads wait already. Try again in a moment."
            )));
        }
        Ok(place)
    }
}

impl Drop for WaitTicket<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "reader_pool_tests.rs"]
mod tests;
