//! The handle of the store, which every room holds.

use crate::blobs::BlobStore;
use crate::checksums::damage::WithDamage;
use crate::error::StoreError;
use crate::events;
use crate::migrations::SCHEMA;
use crate::opened_files::OpenedFiles;
use crate::opening::{self, OpenInputs};
use crate::retention::LIMITS;
use crate::shared::{StoreShared, StoreSharedParts};
use crate::structure_check::run_background_check;
use crate::verify::{self, VerifyProgress};
use crate::writer::{StoreWriter, WriterParts};
use hob_bus::{BoxFuture, EventLog, LogBounds, LoggedEvent, NewEvent, Publisher};
use hob_core::retention::RetentionLimits;
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_wire::rooms::daemon::{DaemonVerifyResult, StoreStatus};
use hob_wire::{DamagedRow, WireError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The inputs of [`Store::open`].
#[derive(Debug)]
pub struct StoreOptions {
    /// The path of `hob.db`.
    pub database: PathBuf,
    pub clock: Clock,
    pub randomness: Randomness,
    /// The receiver of committed events.
    pub publisher: Publisher,
    /// True if this home had a database before: a missing or empty one is then refused.
    pub had_database: bool,
}

/// The store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store(Arc<StoreInner>);

#[derive(Debug)]
struct StoreInner {
    shared: Arc<StoreShared>,
    database: PathBuf,
    epoch: u64,
    /// Stops the background check.
    stop: Arc<AtomicBool>,
    /// A std mutex, because it is held for a line without await.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Rows of the log read at once.
const LOG_ROWS_A_READ: usize = 1_024;

impl Store {
    /// Opens the database, and creates it in a new home. Blocks: call it before the runtime runs,
    /// or on a blocking thread.
    pub fn open(options: StoreOptions) -> Result<Store, StoreError> {
        Store::open_with(options, LIMITS)
    }

    /// Opens the database with these limits of the event log.
    pub fn open_with(options: StoreOptions, limits: RetentionLimits) -> Result<Store, StoreError> {
        let database = options.database;
        let opened = opening::open(&OpenInputs {
            path: &database,
            clock: &options.clock,
            randomness: &options.randomness,
            had_database: options.had_database,
        })?;
        // Read before the writer takes the database over.
        let epoch = opened.database.epoch();
        let health = Arc::clone(&opened.health);
        let shared = Arc::new(StoreShared::new(StoreSharedParts {
            health: opened.health,
            readers: opened.readers,
            blobs: BlobStore::new(&database, epoch),
            files: OpenedFiles::remember(&database),
            bounds: opened.bounds,
            log_history: opened.log_history,
        }));
        let writer = StoreWriter::new(WriterParts {
            shared: Arc::clone(&shared),
            database: opened.database,
            clock: options.clock,
            randomness: options.randomness,
            publisher: options.publisher,
            limits,
            silent_commits: opened.silent_commits,
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (path, stopped, unclean) = (database.clone(), Arc::clone(&stop), opened.needs_check);
        let threads = vec![
            // A thread of its own: each commit blocks until the disk has synced.
            spawn_thread("hob-store-writer", move || writer.run())?,
            spawn_thread("hob-store-check", move || {
                run_background_check(&path, &health, &stopped, unclean);
            })?,
        ];
        Ok(Store(Arc::new(StoreInner {
            shared,
            database,
            epoch,
            stop,
            threads: Mutex::new(threads),
        })))
    }

    /// The version of SQLite in this program.
    pub fn sqlite_version() -> &'static str {
        rusqlite::version()
    }

    /// Verifies all stored data, for `hob verify` and `hob doctor`. Blocks. The caller holds the
    /// home's lock: writes of a daemon would look like damage.
    pub fn verify(
        database: &Path,
        progress: VerifyProgress<'_>,
    ) -> Result<DaemonVerifyResult, StoreError> {
        verify::verify(database, progress)
    }

    /// Verifies all stored data while the store is in use. Blocks.
    pub fn verify_in_use(
        &self,
        progress: VerifyProgress<'_>,
    ) -> Result<DaemonVerifyResult, StoreError> {
        let verified = verify::verify_open(&self.0.database, &self.0.stop, progress)?;
        for row in &verified.damaged {
            self.0.shared.health.add_damaged_row(row);
        }
        Ok(verified)
    }

    /// Commits queued work, checkpoints the database and ends the writer. The bus must still accept
    /// events, or be gone.
    pub async fn close(&self) {
        // The queue closes first, so that the writer ends after the last queued command.
        self.0.end();
        // Taken out, so that a second `close` finds nothing to wait for.
        let threads = std::mem::take(
            &mut *self
                .0
                .threads
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        // Joining blocks until the final checkpoint is done.
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                // A thread that panicked has reported it. There is nothing left to wait for.
                let _ = thread.join();
            }
        });
        let _ = joined.await;
    }

    /// The number of this start of the home's daemon.
    pub fn epoch(&self) -> u64 {
        self.0.epoch
    }

    pub fn status(&self) -> StoreStatus {
        let shared = &self.0.shared;
        // A file may have gone since the last commit, and the next one may be far away.
        if let Err(error) = shared.files.check() {
            shared.health.note_error(&error);
        }
        let report = shared.health.report();
        StoreStatus {
            state: report.state,
            message: report.message,
            findings: report.findings,
            losses: report.losses,
            damaged: shared.health.damaged_rows(),
            schema: SCHEMA,
            sqlite: Store::sqlite_version().to_owned(),
            bytes: std::fs::metadata(&self.0.database).map_or(0, |file| file.len()),
        }
    }

    /// The event log, as the bus needs it.
    pub fn event_log(&self) -> Arc<dyn EventLog> {
        Arc::new(StoreEventLog(self.clone()))
    }

    /// Commits and publishes an event; returns its `seq`.
    pub async fn append_event(&self, event: NewEvent) -> Result<u64, StoreError> {
        let bytes = event.payload.as_ref().map_or(0, bytes::Bytes::len);
        self.write(bytes, move |batch| {
            // Cloned, because a command runs again after a rollback of its batch.
            Ok(batch.log_event(event.clone(), events::PayloadSource::Log)?)
        })
        .await
    }

    pub(crate) async fn write<T, F>(&self, bytes: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut crate::batch::WriteBatch<'_>) -> Result<T, crate::error::QueryError>
            + Send
            + 'static,
    {
        // Refused here too, before a full queue makes the caller wait.
        if let Some(refusal) = self.0.shared.health.refusal() {
            return Err(refusal);
        }
        let done = self.0.shared.queue.submit(bytes, work).await;
        if let Err(StoreError::DamagedRow(row)) = &done {
            self.0.shared.health.add_damaged_row(row);
        }
        done
    }

    /// Reads in one snapshot.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Result<T, crate::error::QueryError> + Send + 'static,
    {
        self.0.shared.readers.read(work).await
    }

    /// Reads like [`Store::read`], and reports damaged rows to the status.
    pub(crate) async fn read_with_damage<T, F>(&self, work: F) -> Result<WithDamage<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Result<WithDamage<T>, crate::error::QueryError>
            + Send
            + 'static,
    {
        let read = self.read(work).await?;
        for row in &read.damaged {
            self.0.shared.health.add_damaged_row(row);
        }
        Ok(read)
    }

    /// The damaged rows of a table that were met since the start.
    pub fn damaged_rows(&self, table: &str) -> Vec<DamagedRow> {
        let mut rows = self.0.shared.health.damaged_rows();
        rows.retain(|row| row.table == table);
        rows
    }

    /// Removes a deleted row from the list of damaged ones.
    pub(crate) fn forget_damaged(&self, table: &str, id: &str) {
        let is_gone = |row: &DamagedRow| row.table == table && row.id.as_deref() == Some(id);
        self.0.shared.health.forget_damaged_rows(is_gone);
    }

    pub(crate) fn shared(&self) -> &StoreShared {
        &self.0.shared
    }

    async fn log_page(&self, after: u64, limit: usize) -> Result<Vec<LoggedEvent>, StoreError> {
        let mut events = Vec::new();
        let mut reached = after;
        // Continues over events that are left out, so that an empty page means the end of the log.
        loop {
            // Each round is a read of its own, so that a long log holds no snapshot for long.
            let rows = LOG_ROWS_A_READ.min(limit.max(1));
            let page = self
                .read(move |sql| Ok(events::read_page(sql, reached, rows)?))
                .await?;
            for row in &page.damaged {
                self.0.shared.health.add_damaged_row(row);
            }
            reached = page.reached;
            events.extend(page.events);
            if page.is_last || !events.is_empty() {
                return Ok(events);
            }
        }
    }
}

impl StoreInner {
    fn end(&self) {
        // The flag is set before the threads are woken, or the check could park again.
        self.stop.store(true, Ordering::Relaxed);
        self.shared.queue.close();
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in &*threads {
            // The check may be parked.
            thread.thread().unpark();
        }
    }
}

impl Drop for StoreInner {
    /// The last handle is gone: the writer finishes queued work by itself.
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Debug)]
struct StoreEventLog(Store);

impl EventLog for StoreEventLog {
    fn bounds(&self) -> LogBounds {
        self.0.0.shared.bounds()
    }

    fn id(&self) -> Arc<str> {
        self.0.0.shared.log_history.id()
    }

    fn shared_until(&self, id: &str) -> Option<u64> {
        self.0.0.shared.log_history.shared_until(id)
    }

    fn page(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LoggedEvent>, WireError>> {
        Box::pin(async move { Ok(self.0.log_page(after, limit).await?) })
    }

    fn append(&self, event: NewEvent) -> BoxFuture<'_, Result<u64, WireError>> {
        Box::pin(async move { Ok(self.0.append_event(event).await?) })
    }
}

fn spawn_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| StoreError::Io(format!("a thread could not be started: {error}")))
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Invalid(format!("This cannot be written as JSON: {error}.")))
}
