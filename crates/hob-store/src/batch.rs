//! One transaction of the writer: the commands it holds and the events they log.
//!
//! Invariant: a command that fails leaves neither a row nor an event nor a gap in the numbers, and
//! fails alone. Savepoints would see to that at a third of a batch's cost; but commands check
//! before they write, so one that fails has all but always written nothing, and there is nothing
//! to undo. Only if it has is the batch rolled back and run again, each command in a savepoint.

use crate::blobs::{self, Hash};
use crate::error::{StoreError, Trouble};
use crate::events::{Place, encode, insert_event};
use crate::ids::Ids;
use crate::lanes::Queued;
use crate::sessions::heads::Heads;
use hob_bus::{LoggedEvent, NewEvent};
use hob_wire::Topic;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What commands work on.
pub(crate) struct Batch<'c> {
    pub(crate) sql: &'c Connection,
    pub(crate) ids: &'c mut Ids,
    pub(crate) heads: &'c mut Heads,
    /// Wall time of the whole batch.
    pub(crate) now_ms: u64,
    pub(crate) file: &'c Path,
    /// The last number given to an event, in this batch or before it.
    pub(crate) last_seq: u64,
    /// Events to publish after the commit.
    pub(crate) events: Vec<LoggedEvent>,
    /// Up to which number events were trimmed in this batch.
    pub(crate) trimmed_to: Option<u64>,
    /// Whether a session was deleted whose messages are still there.
    pub(crate) left_messages: bool,
    /// Blobs that no row names any more, to be removed after the commit.
    pub(crate) unused_blobs: Vec<Hash>,
    /// Rules changed that somebody holds in memory. Staying set after a rollback does no harm.
    pub(crate) changed_rules: bool,
}

/// How a batch's commands went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// Each as its outcome says.
    Done,
    /// One failed and left something: all has to be rolled back.
    Spoiled,
}

impl Batch<'_> {
    /// Runs every command, hoping that none fails after it wrote.
    pub(crate) fn run(&mut self, commands: &mut [Queued]) -> Result<Run, StoreError> {
        for queued in commands {
            let before = (self.sql.total_changes(), self.last_seq, self.events.len());
            queued.outcome = self.run_one(queued);
            if let Err(error) = &queued.outcome {
                if matches!(error, StoreError::Internal(_)) {
                    // Perhaps somebody else changed the database, against all rules.
                    self.heads.forget();
                }
                // SQLite may have rolled the whole transaction back by itself.
                if error.is_fatal_to_batch() || self.sql.is_autocommit() {
                    return Err(error.clone());
                }
                if before != (self.sql.total_changes(), self.last_seq, self.events.len()) {
                    return Ok(Run::Spoiled);
                }
            }
        }
        Ok(Run::Done)
    }

    /// Runs every command in a savepoint of its own.
    pub(crate) fn run_guarded(&mut self, commands: &mut [Queued]) -> Result<(), StoreError> {
        for queued in commands {
            queued.outcome = self.guarded(|batch| Ok(batch.run_one(queued)?))?;
        }
        Ok(())
    }

    fn run_one(&mut self, queued: &mut Queued) -> Result<(), StoreError> {
        let file = self.file;
        let ran = catch_unwind(AssertUnwindSafe(|| queued.command.run(self)));
        match ran {
            Ok(outcome) => outcome.map_err(|trouble| trouble.about(file)),
            Err(_) => Err(StoreError::Internal("a command panicked".to_owned())),
        }
    }

    /// Forgets what was staged, after a rollback.
    pub(crate) fn reset(&mut self, last_seq: u64) {
        self.last_seq = last_seq;
        self.heads.forget();
        self.events.clear();
        self.trimmed_to = None;
        self.left_messages = false;
        self.unused_blobs.clear();
    }

    /// Does `work` in a savepoint: wholly, or not at all. The outer error ends the whole batch.
    pub(crate) fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        let (last_seq, events) = (self.last_seq, self.events.len());
        let (trimmed_to, left_messages) = (self.trimmed_to, self.left_messages);
        let unused_blobs = self.unused_blobs.len();
        self.control("SAVEPOINT command")?;
        let outcome = work(self).map_err(|trouble| trouble.about(self.file));
        if let Err(error) = &outcome {
            self.last_seq = last_seq;
            self.heads.forget();
            self.events.truncate(events);
            (self.trimmed_to, self.left_messages) = (trimmed_to, left_messages);
            self.unused_blobs.truncate(unused_blobs);
            // SQLite may have rolled the whole transaction back by itself.
            if error.is_fatal_to_batch() || self.sql.is_autocommit() {
                return Err(error.clone());
            }
            self.control("ROLLBACK TO command")?;
        }
        self.control("RELEASE command")?;
        Ok(outcome)
    }

    /// Logs an event and stages it for publishing; answers its number.
    pub(crate) fn log(&mut self, event: NewEvent, place: Place) -> rusqlite::Result<u64> {
        let seq = self.last_seq + 1;
        insert_event(self.sql, seq, self.now_ms, &event, place)?;
        self.last_seq = seq;
        self.events.push(event.logged_as(seq));
        Ok(seq)
    }

    /// Logs an event that keeps its payload and is of no session.
    pub(crate) fn tell<T: Topic>(&mut self, payload: &T::Payload) -> rusqlite::Result<()> {
        let event = NewEvent {
            source: T::SPEC.service.into(),
            topic: T::SPEC.topic.into(),
            session: None,
            payload: Some(encode(payload)),
        };
        self.log(event, Place::Alone).map(drop)
    }

    /// Has a blob removed after the commit if no row names it.
    pub(crate) fn drop_blob(&mut self, hash: Hash) -> rusqlite::Result<()> {
        if !blobs::is_named(self, hash)? {
            self.unused_blobs.push(hash);
        }
        Ok(())
    }

    /// Runs a statement that opens, closes or rolls back.
    pub(crate) fn control(&self, statement: &str) -> Result<(), StoreError> {
        let done = self
            .sql
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute([]));
        done.map(drop)
            .map_err(|error| StoreError::of_sqlite(&error, self.file))
    }
}
