//! One transaction of the writer: its commands and the events they log.
//!
//! Invariant: a command that fails leaves no row, no event and no gap in the event numbers, and no
//! other command fails with it. A savepoint for each command would cost a third of a batch.
//! Commands check before they write, so a failed command almost never leaves rows. If one does, the
//! batch is rolled back and run again with savepoints.

use crate::blobs::{self, BlobHash};
use crate::error::{QueryError, StoreError};
use crate::events::{PayloadSource, encode_payload, insert_event};
use crate::ids::IdGenerator;
use crate::sessions::head_cache::SessionHeadCache;
use crate::writer_queue::QueuedWrite;
use hob_bus::{LoggedEvent, NewEvent};
use hob_wire::EventTopic;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The transaction that commands work on.
pub(crate) struct WriteBatch<'c> {
    pub(crate) sql: &'c Connection,
    pub(crate) ids: &'c mut IdGenerator,
    pub(crate) heads: &'c mut SessionHeadCache,
    /// The wall time of the whole batch.
    pub(crate) now_ms: u64,
    pub(crate) file: &'c Path,
    /// The last event number in use, from this batch or before it.
    pub(crate) last_seq: u64,
    /// Events to publish after the commit.
    pub(crate) events: Vec<LoggedEvent>,
    /// The last event number that was trimmed in this batch.
    pub(crate) trimmed_to: Option<u64>,
    /// Set when a session was deleted whose messages are not deleted yet.
    pub(crate) has_leftover_messages: bool,
    /// Blobs without a reference, to be removed after the commit.
    pub(crate) unused_blobs: Vec<BlobHash>,
    /// Set when rules changed that another room holds in memory. Staying set after a rollback does
    /// no harm.
    pub(crate) rules_changed: bool,
}

/// The outcome of running a batch's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchOutcome {
    /// Each command has its own outcome.
    Done,
    /// A command failed and left rows or events: the whole batch must be rolled back.
    NeedsRollback,
}

impl WriteBatch<'_> {
    /// Runs every command without savepoints.
    pub(crate) fn run(&mut self, commands: &mut [QueuedWrite]) -> Result<BatchOutcome, StoreError> {
        for queued in commands {
            // Compared after a failure: equal numbers mean that the command wrote nothing.
            let before = (self.sql.total_changes(), self.last_seq, self.events.len());
            queued.outcome = self.run_one(queued);
            if let Err(error) = &queued.outcome {
                if matches!(error, StoreError::Internal(_)) {
                    // The cached sessions may be out of date, for example after another program
                    // wrote to the database.
                    self.heads.forget();
                }
                // After some errors SQLite has rolled the whole transaction back by itself.
                if error.is_fatal_to_batch() || self.sql.is_autocommit() {
                    return Err(error.clone());
                }
                if before != (self.sql.total_changes(), self.last_seq, self.events.len()) {
                    return Ok(BatchOutcome::NeedsRollback);
                }
            }
        }
        Ok(BatchOutcome::Done)
    }

    /// Runs every command in a savepoint of its own.
    pub(crate) fn run_in_savepoints(
        &mut self,
        commands: &mut [QueuedWrite],
    ) -> Result<(), StoreError> {
        for queued in commands {
            queued.outcome = self.in_savepoint(|batch| Ok(batch.run_one(queued)?))?;
        }
        Ok(())
    }

    fn run_one(&mut self, queued: &mut QueuedWrite) -> Result<(), StoreError> {
        let file = self.file;
        // A panic in one command fails that command only. The caller checks whether it left rows.
        let ran = catch_unwind(AssertUnwindSafe(|| queued.command.run(self)));
        match ran {
            Ok(outcome) => outcome.map_err(|trouble| trouble.into_store_error(file)),
            Err(_) => Err(StoreError::Internal("a command panicked".to_owned())),
        }
    }

    /// Clears everything staged, after a rollback.
    pub(crate) fn reset_after_rollback(&mut self, last_seq: u64) {
        self.last_seq = last_seq;
        self.heads.forget();
        self.events.clear();
        self.trimmed_to = None;
        self.has_leftover_messages = false;
        self.unused_blobs.clear();
    }

    /// Does `work` in a savepoint: all of it, or nothing. The outer error ends the whole batch.
    pub(crate) fn in_savepoint<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, QueryError>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        let (last_seq, events) = (self.last_seq, self.events.len());
        let (trimmed_to, left_messages) = (self.trimmed_to, self.has_leftover_messages);
        let unused_blobs = self.unused_blobs.len();
        self.run_control("SAVEPOINT command")?;
        let outcome = work(self).map_err(|trouble| trouble.into_store_error(self.file));
        if let Err(error) = &outcome {
            self.last_seq = last_seq;
            self.heads.forget();
            self.events.truncate(events);
            (self.trimmed_to, self.has_leftover_messages) = (trimmed_to, left_messages);
            self.unused_blobs.truncate(unused_blobs);
            // After some errors SQLite has rolled the whole transaction back, the savepoint
            // included.
            if error.is_fatal_to_batch() || self.sql.is_autocommit() {
                return Err(error.clone());
            }
            // ROLLBACK TO keeps the savepoint itself; the RELEASE below removes it in both cases.
            self.run_control("ROLLBACK TO command")?;
        }
        self.run_control("RELEASE command")?;
        Ok(outcome)
    }

    /// Logs an event and stages it for publishing; returns its number.
    pub(crate) fn log_event(
        &mut self,
        event: NewEvent,
        place: PayloadSource,
    ) -> rusqlite::Result<u64> {
        let seq = self.last_seq + 1;
        insert_event(self.sql, seq, self.now_ms, &event, place)?;
        // Only after the row is in: a failed insert must not leave a gap in the numbers.
        self.last_seq = seq;
        self.events.push(event.logged_as(seq));
        Ok(seq)
    }

    /// Logs an event whose payload is stored in the log and that belongs to no session.
    pub(crate) fn log_topic<T: EventTopic>(
        &mut self,
        payload: &T::Payload,
    ) -> rusqlite::Result<()> {
        let event = NewEvent {
            source: T::SPEC.service.into(),
            topic: T::SPEC.topic.into(),
            session: None,
            payload: Some(encode_payload(payload)),
        };
        self.log_event(event, PayloadSource::Log).map(drop)
    }

    /// Has a blob removed after the commit if no row references it.
    pub(crate) fn release_blob(&mut self, hash: BlobHash) -> rusqlite::Result<()> {
        // Asked inside the transaction, which sees the rows that this batch has deleted.
        if !blobs::is_referenced(self, hash)? {
            self.unused_blobs.push(hash);
        }
        Ok(())
    }

    /// Runs a statement that begins, ends or rolls back a transaction or savepoint.
    pub(crate) fn run_control(&self, statement: &str) -> Result<(), StoreError> {
        let done = self
            .sql
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute([]));
        done.map(drop)
            .map_err(|error| StoreError::from_sqlite(&error, self.file))
    }
}
