//! One transaction of the writer: the commands it holds, each in its own savepoint, and the events
//! they log. Invariant: a command that fails leaves neither a row nor an event nor a gap in the
//! numbers.

use crate::error::{StoreError, Trouble};
use crate::events::{Place, insert_event};
use crate::lanes::Command;
use hob_bus::{LoggedEvent, NewEvent};
use hob_kit::dice::Dice;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What commands work on.
pub(crate) struct Batch<'c> {
    pub(crate) sql: &'c Connection,
    pub(crate) dice: &'c Dice,
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
}

impl Batch<'_> {
    /// Runs one command in a savepoint. The outer error ends the whole batch.
    pub(crate) fn run(
        &mut self,
        command: &mut dyn Command,
    ) -> Result<Result<(), StoreError>, StoreError> {
        self.guarded(|batch| {
            let ran = catch_unwind(AssertUnwindSafe(|| command.run(batch)));
            ran.unwrap_or_else(
                |_| Err(StoreError::Internal("a command panicked".to_owned()).into()),
            )
        })
    }

    /// Does `work` in a savepoint: wholly, or not at all. The outer error ends the whole batch.
    pub(crate) fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        let (last_seq, events) = (self.last_seq, self.events.len());
        let (trimmed_to, left_messages) = (self.trimmed_to, self.left_messages);
        self.control("SAVEPOINT command")?;
        let outcome = work(self).map_err(|trouble| trouble.about(self.file));
        if let Err(error) = &outcome {
            self.last_seq = last_seq;
            self.events.truncate(events);
            (self.trimmed_to, self.left_messages) = (trimmed_to, left_messages);
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
