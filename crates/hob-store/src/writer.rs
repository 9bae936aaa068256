//! The writer: one thread that turns queued commands into transactions.
//!
//! A batch holds the commands that wait and those that arrive while it runs. The next batch gathers
//! while this one syncs. A lone caller never waits for others; see `group_commit_window`.
//!
//! Order of each batch: commit, mark, publish, answer. Invariants: no command is answered with
//! success before its commit is synced; events are numbered and published in commit order; a failed
//! batch is refused as a whole.

mod recovery;

use crate::batch::{BatchOutcome, WriteBatch};
use crate::blobs::{BlobHash, BlobSweep};
use crate::checksums::backfill::ChecksumBackfill;
use crate::error::{QueryError, StoreError};
use crate::group_commit_window::GroupCommitWindow;
use crate::ids::IdGenerator;
use crate::opening::set_silent_commits;
use crate::retention::EventLogTrim;
use crate::sessions::head_cache::SessionHeadCache;
use crate::sessions::write::DeletedSessionSweep;
use crate::shared::StoreShared;
use crate::value::number;
use crate::writer_database::WriterDatabase;
use crate::writer_queue::{BulkJob, BulkProgress, NextWork, QueuedWrite};
use hob_bus::{LoggedEvent, Publisher};
use hob_core::retention::RetentionLimits;
use hob_kit::clock::Clock;
use hob_kit::failpoint;
use hob_kit::randomness::Randomness;
use recovery::PROBE_EVERY_MS;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest slice of bulk work in one batch.
const BULK_SLICE_MS: u64 = 5;
/// Idle time after which the write-ahead log is checkpointed.
const IDLE_AFTER: Duration = Duration::from_secs(2);
/// Pause between two checks of the event log's age.
const TRIM_EVERY_MS: u64 = 60_000;
/// Events after which the event log's length is checked.
const TRIM_EVERY_EVENTS: u64 = 1_024;

pub(crate) struct StoreWriter {
    shared: Arc<StoreShared>,
    database: WriterDatabase,
    clock: Clock,
    ids: IdGenerator,
    heads: SessionHeadCache,
    publisher: Publisher,
    limits: RetentionLimits,
    commands: Vec<QueuedWrite>,
    commit_window: GroupCommitWindow,
    last_seq: u64,
    published_seq: u64,
    /// Commits without an event, over all starts.
    silent_commits: u64,
    probe_due_ms: u64,
    trim_due_ms: u64,
    trim_due_seq: u64,
}

/// The work that is left after a commit.
struct CommittedBatch {
    events: Vec<LoggedEvent>,
    last_seq: u64,
    silent_commits: u64,
    trimmed_to: Option<u64>,
    has_leftover_messages: bool,
    unused_blobs: Vec<BlobHash>,
    rules_changed: bool,
    bulk_goes_on: bool,
}

/// The inputs of a [`StoreWriter`].
pub(crate) struct WriterParts {
    pub(crate) shared: Arc<StoreShared>,
    pub(crate) database: WriterDatabase,
    pub(crate) clock: Clock,
    pub(crate) randomness: Randomness,
    pub(crate) publisher: Publisher,
    pub(crate) limits: RetentionLimits,
    pub(crate) silent_commits: u64,
}

impl StoreWriter {
    pub(crate) fn new(parts: WriterParts) -> Self {
        let last_seq = parts.shared.bounds().last;
        StoreWriter {
            shared: parts.shared,
            database: parts.database,
            clock: parts.clock,
            ids: IdGenerator::new(parts.randomness),
            heads: SessionHeadCache::default(),
            publisher: parts.publisher,
            limits: parts.limits,
            commands: Vec::new(),
            commit_window: GroupCommitWindow::default(),
            last_seq,
            published_seq: last_seq,
            silent_commits: parts.silent_commits,
            probe_due_ms: 0,
            trim_due_ms: 0,
            trim_due_seq: 0,
        }
    }

    /// Works until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        // Queued at every start: a stop or a crash may have cut off each of these jobs.
        shared.queue.submit_bulk(Box::new(ChecksumBackfill));
        shared.queue.submit_bulk(Box::new(DeletedSessionSweep));
        let leftovers = BlobSweep::all(Arc::clone(&shared.blobs));
        shared.queue.submit_bulk(Box::new(leftovers));
        loop {
            self.queue_trim_if_due();
            let idle_timeout = self.idle_timeout();
            match shared.queue.take(&mut self.commands, idle_timeout) {
                NextWork::Work(bulk) => self.process_batch(bulk),
                NextWork::TimedOut => self.idle(),
                NextWork::Closed => break,
            }
            self.probe_if_due();
        }
        self.close();
    }

    /// Returns the time to wait for commands before other work is due.
    fn idle_timeout(&self) -> Duration {
        if self.shared.health.is_waiting_for_disk() || self.shared.health.is_waiting_for_check() {
            Duration::from_millis(PROBE_EVERY_MS)
        } else if self.database.has_frames() {
            IDLE_AFTER
        } else {
            Duration::from_millis(TRIM_EVERY_MS)
        }
    }

    /// Takes one batch from its first command to its answers.
    fn process_batch(&mut self, mut bulk: Option<Box<dyn BulkJob>>) {
        if let Some(refusal) = self.shared.health.refusal() {
            // Commands that were queued before the refusal was known get it too.
            return self.answer(Err(&refusal));
        }
        let began = Instant::now();
        // A panic may leave a transaction open. It is handled like a failed disk: the connection
        // goes.
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let committed = self.commit_batch(&mut bulk)?;
            Ok(self.publish(committed))
        }));
        let outcome = attempt
            .unwrap_or_else(|_| Err(StoreError::Io("the writer stopped half-way".to_owned())));
        match outcome {
            Ok(bulk_goes_on) => {
                let waiting = self.shared.queue.waiting_count();
                self.commit_window
                    .note_batch(self.commands.len(), waiting, began.elapsed());
                // Last in the order: the commit is synced, the mark covers it, its events are
                // published.
                self.answer(Ok(()));
                if let Some(job) = bulk.filter(|_| bulk_goes_on) {
                    self.shared.queue.resume_bulk(job);
                }
                // After the answers, so that no caller of this batch waits for the checkpoint.
                if self.database.needs_checkpoint()
                    && let Err(error) = self.database.checkpoint_log()
                {
                    self.fail_batch(error);
                }
            }
            Err(error) => self.fail_batch(error),
        }
    }

    /// Runs and commits all commands that were taken.
    fn commit_batch(
        &mut self,
        bulk: &mut Option<Box<dyn BulkJob>>,
    ) -> Result<CommittedBatch, StoreError> {
        failpoint::reach("store.batch.begin");
        if self.database.connection().is_none() {
            self.reopen_and_catch_up()?;
        }
        let Some(connection) = self.database.connection() else {
            return Err(StoreError::Closed);
        };
        // A batch that changed no row, such as bulk work that found nothing to do, is no silent
        // commit.
        let changes_before = connection.sql.total_changes();
        let mut batch = WriteBatch {
            sql: &connection.sql,
            ids: &mut self.ids,
            heads: &mut self.heads,
            // One time for the whole batch: the rows and events of a commit agree.
            now_ms: self.clock.wall_ms(),
            file: self.database.path(),
            last_seq: self.last_seq,
            events: Vec::with_capacity(self.commands.len()),
            trimmed_to: None,
            has_leftover_messages: false,
            unused_blobs: Vec::new(),
            rules_changed: false,
        };
        // IMMEDIATE takes the write lock at once: the epoch read next stays true until the commit.
        batch.run_control("BEGIN IMMEDIATE")?;
        let begun = BatchStart {
            epoch: self.database.epoch(),
            last_seq: self.last_seq,
        };
        check_epoch(&batch, begun.epoch)?;
        run_commands(&mut batch, begun, &mut self.commands, |commands| {
            self.commit_window.gather_more(&self.shared.queue, commands)
        })?;
        let bulk_goes_on = match bulk {
            Some(job) => run_bulk(&mut batch, &self.shared, &mut **job, &self.clock)?,
            None => false,
        };
        // `last_seq` does not move in a commit without events, so the mark needs a second counter.
        let is_silent =
            batch.last_seq == self.last_seq && connection.sql.total_changes() != changes_before;
        let silent_commits = self.silent_commits + u64::from(is_silent);
        if is_silent {
            set_silent_commits(batch.sql, silent_commits)
                .map_err(|error| StoreError::from_sqlite(&error, batch.file))?;
        }
        // A crash before COMMIT returns loses the batch. No caller was answered yet.
        failpoint::reach("store.commit.before");
        batch.run_control("COMMIT")?;
        failpoint::reach("store.commit.after");
        // A deleted or replaced file takes this commit with it at the next start. So it is not
        // acknowledged.
        self.shared.files.check()?;
        Ok(CommittedBatch {
            last_seq: batch.last_seq,
            silent_commits,
            trimmed_to: batch.trimmed_to,
            has_leftover_messages: batch.has_leftover_messages,
            unused_blobs: batch.unused_blobs,
            rules_changed: batch.rules_changed,
            events: batch.events,
            bulk_goes_on,
        })
    }

    /// Makes a commit visible; returns whether the bulk job goes on.
    fn publish(&mut self, committed: CommittedBatch) -> bool {
        let CommittedBatch {
            last_seq,
            silent_commits,
            ..
        } = committed;
        // The mark comes before anyone hears of the commit: it covers every acknowledged write.
        self.database.note_commit(last_seq, silent_commits);
        (self.last_seq, self.silent_commits) = (last_seq, silent_commits);
        // The bounds move before the events go out: a subscriber may read the log at once.
        self.shared
            .advance(committed.last_seq, committed.trimmed_to);
        // Before the answer: the caller's next permission check must not use old rules.
        if committed.rules_changed {
            self.shared.raise_rules_version();
        }
        if committed.has_leftover_messages {
            self.shared.queue.submit_bulk(Box::new(DeletedSessionSweep));
        }
        // Only after the commit: a crash before it brings back the rows that reference these files.
        for hash in committed.unused_blobs {
            self.shared.blobs.remove(hash);
        }
        self.published_seq = committed.last_seq;
        if !committed.events.is_empty() {
            self.publisher.publish(committed.events);
        }
        failpoint::reach("store.publish.after");
        committed.bulk_goes_on
    }

    fn queue_trim_if_due(&mut self) {
        let now_ms = self.clock.monotonic_ms();
        // By time for the age of events, by their number for the length of the log.
        if now_ms >= self.trim_due_ms || self.last_seq >= self.trim_due_seq {
            self.trim_due_ms = now_ms + TRIM_EVERY_MS;
            self.trim_due_seq = self.last_seq + TRIM_EVERY_EVENTS;
            let limits = self.limits;
            self.shared
                .queue
                .submit_bulk(Box::new(EventLogTrim { limits }));
        }
    }

    /// Does the work of a quiet moment.
    fn idle(&mut self) {
        // A checkpoint writes to the database, which a store that refuses writes must not do.
        if self.shared.health.refusal().is_some() {
            return;
        }
        if self.database.connection().is_none() {
            // The connection was dropped for an error that the check did not confirm.
            if let Err(error) = self.reopen_and_catch_up() {
                tracing::warn!("the database could not be reopened yet: {error}");
            }
        } else if self.database.has_frames()
            && let Err(error) = self.database.checkpoint_log()
        {
            self.fail_batch(error);
        }
    }

    /// Truncates the log into the database and writes the mark of an orderly end.
    fn close(&mut self) {
        // Readers go first: an open snapshot keeps the log from being truncated.
        self.shared.readers.close();
        // Read before `Closed` is noted, which is a refusal too.
        let sound = self.shared.health.refusal().is_none();
        self.shared.health.note_error(&StoreError::Closed);
        if sound && let Err(error) = self.database.close() {
            tracing::warn!("the database was not closed in order: {error}");
        }
    }

    fn answer(&mut self, outcome: Result<(), &StoreError>) {
        answer_all(&mut self.commands, outcome);
    }
}

/// Answers and removes every command: with its own outcome if the batch was committed.
fn answer_all(commands: &mut Vec<QueuedWrite>, outcome: Result<(), &StoreError>) {
    for queued in commands.drain(..) {
        let own = match outcome {
            Ok(()) => queued.outcome,
            Err(error) => Err(error.clone()),
        };
        queued.command.answer(own);
    }
}

/// Refuses to write after another daemon opened this home, which raised the epoch.
fn check_epoch(batch: &WriteBatch<'_>, ours: u64) -> Result<(), StoreError> {
    let theirs = batch
        .sql
        .prepare_cached("SELECT value FROM meta WHERE name = 'epoch'")
        .and_then(|mut select| select.query_row([], |row| number(row, 0)))
        .map_err(|error| StoreError::from_sqlite(&error, batch.file))?;
    if theirs == ours {
        Ok(())
    } else {
        Err(StoreError::Fenced { ours, theirs })
    }
}

/// The state before a batch.
#[derive(Clone, Copy, Debug)]
struct BatchStart {
    epoch: u64,
    last_seq: u64,
}

/// Runs the commands of a batch, and those that arrive while it gathers more.
fn run_commands(
    batch: &mut WriteBatch<'_>,
    begun: BatchStart,
    commands: &mut Vec<QueuedWrite>,
    mut gather_more: impl FnMut(&mut Vec<QueuedWrite>) -> bool,
) -> Result<(), StoreError> {
    // Only commands that have not run yet: each round of the loop adds those that just arrived.
    let mut ran = 0;
    loop {
        if batch.run(&mut commands[ran..])? == BatchOutcome::NeedsRollback {
            // A failed command left rows. Undo all of it and run every command again in a
            // savepoint.
            batch.run_control("ROLLBACK")?;
            batch.reset_after_rollback(begun.last_seq);
            batch.run_control("BEGIN IMMEDIATE")?;
            check_epoch(batch, begun.epoch)?;
            // The second run covers all commands, those of earlier rounds included: their rows are
            // undone.
            return batch.run_in_savepoints(commands);
        }
        ran = commands.len();
        if !gather_more(commands) {
            return Ok(());
        }
    }
}

/// Runs a slice of bulk work within the batch; returns whether the job goes on. The savepoint keeps
/// a failing job from undoing the commands of this batch.
fn run_bulk(
    batch: &mut WriteBatch<'_>,
    shared: &StoreShared,
    job: &mut dyn BulkJob,
    clock: &Clock,
) -> Result<bool, StoreError> {
    let ran = batch.in_savepoint(|batch| shared.run_bulk_slice(batch, job, clock))?;
    Ok(ran.unwrap_or_else(|error| {
        // The job is dropped. It is queued again when it is next due, at the latest at the next
        // start.
        tracing::warn!("bulk work on the {} failed: {error}", job.name());
        false
    }))
}

impl StoreShared {
    /// Runs steps of a bulk job until it is done, its time is over, or a caller waits; returns
    /// whether it goes on.
    fn run_bulk_slice(
        &self,
        batch: &mut WriteBatch<'_>,
        job: &mut dyn BulkJob,
        clock: &Clock,
    ) -> Result<bool, QueryError> {
        let end_ms = clock.monotonic_ms() + BULK_SLICE_MS;
        while job.step(batch)? == BulkProgress::More {
            if clock.monotonic_ms() >= end_ms || self.queue.waiting_count() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl std::fmt::Debug for StoreWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreWriter")
            .field("database", &self.database)
            .field("last_seq", &self.last_seq)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
