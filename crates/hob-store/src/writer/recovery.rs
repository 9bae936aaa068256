//! The writer's recovery: a failed batch, a reopened connection, probes of a failing disk.

use super::StoreWriter;
use crate::error::StoreError;
use crate::events;
use crate::findings::read_meta;
use hob_bus::LogBounds;

/// Pause between two probes of a full or failing disk.
pub(super) const PROBE_EVERY_MS: u64 = 1_000;
/// Events read at once when unpublished ones are caught up with.
const CATCH_UP_ROWS: usize = 512;

impl StoreWriter {
    /// Drops the connection, whose state is unknown, and refuses the batch.
    pub(super) fn fail_batch(&mut self, error: StoreError) {
        let error = self.database.classify_error(error);
        tracing::warn!("a batch of {} failed: {error}", self.commands.len());
        self.database.drop_connection();
        // The cache may count messages that were never committed.
        self.heads.forget();
        // The commit may have succeeded all the same, so rules held in memory are read again.
        self.shared.raise_rules_version();
        self.shared.health.note_error(&error);
        self.probe_due_ms = self.clock.monotonic_ms() + PROBE_EVERY_MS;
        if matches!(error, StoreError::Io(_)) {
            // Most often only one call failed. A probe now spares the other callers a refusal.
            self.probe();
        } else if self.shared.health.refusal().is_none() {
            // If this fails, the next batch tries again.
            if let Err(error) = self.reopen_and_catch_up() {
                tracing::warn!("the database could not be reopened yet: {error}");
            }
        }
        let error = self.shared.health.hide_unconfirmed_damage(error);
        self.answer(Err(&error));
    }

    /// Reopens the database, and publishes events that were committed before the failure and not
    /// published.
    pub(super) fn reopen_and_catch_up(&mut self) -> Result<(), StoreError> {
        // Opening by name would accept a file that has replaced ours.
        self.shared.files.check()?;
        self.database.reopen()?;
        let path = self.database.path().to_owned();
        let Some(connection) = self.database.connection() else {
            return Err(StoreError::Closed);
        };
        let failed = |error: rusqlite::Error| StoreError::from_sqlite(&error, &path);
        let LogBounds { last, .. } =
            // A COMMIT that returned an error may still be in the log after it is read again.
            events::log_bounds(&connection.sql, self.last_seq).map_err(failed)?;
        while self.published_seq < last {
            let page = events::read_page(&connection.sql, self.published_seq, CATCH_UP_ROWS)
                .map_err(failed)?;
            // The bounds move before the events go out, as in `publish`.
            self.shared.advance(page.reached, None);
            // The last numbers may have no row any more, and the loop must end all the same.
            self.published_seq = if page.is_last { last } else { page.reached };
            if !page.events.is_empty() {
                self.publisher.publish(page.events);
            }
        }
        // Numbering continues after the last committed event, so no number is used twice.
        self.last_seq = last;
        let silent_commits = read_meta(&connection.sql, "silent_commits").map_err(failed)?;
        self.silent_commits = silent_commits.unwrap_or(0);
        Ok(())
    }

    /// Tests at most once a second whether a full or failed disk takes writes again.
    pub(super) fn probe_if_due(&mut self) {
        let now_ms = self.clock.monotonic_ms();
        let due = self.shared.health.is_waiting_for_disk() && now_ms >= self.probe_due_ms;
        if due {
            self.probe_due_ms = now_ms + PROBE_EVERY_MS;
            self.probe();
        }
    }

    fn probe(&mut self) {
        // A database that may be damaged gets no writes until the check has ended.
        if self.shared.health.is_waiting_for_check() {
            return;
        }
        let opened = match self.database.connection() {
            Some(_) => Ok(()),
            None => self.reopen_and_catch_up(),
        };
        match opened.and_then(|()| self.database.probe_write()) {
            Ok(()) => self.shared.health.mark_recovered(),
            // A full disk may become a failing one and the reverse, or the files are gone for good.
            Err(error) => self
                .shared
                .health
                .note_error(&self.database.classify_error(error)),
        }
    }
}
