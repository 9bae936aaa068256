//! The writer's side of the database: its connection, the mark, checkpoints, and recovery after the
//! disk failed.
//!
//! Invariants: the write-ahead log restarts only here, after the mark was lowered; after a failed
//! write it restarts before the next commit, so that frames of the failed write are never followed
//! by others.

use crate::connection::{PAGE_BYTES, WriterConnection, sibling_path};
use crate::error::StoreError;
use crate::mark::{CommitMark, MarkClaim};
use rusqlite::ErrorCode;
use rusqlite::config::DbConfig;
use rusqlite::wal::CheckpointMode;
use std::io;
use std::path::{Path, PathBuf};

/// The write-ahead log is checkpointed at this length. It is short because a commit that overwrites
/// allocated space is synced faster than one that extends the file.
const FRAMES_MAX: u64 = 1_024;
/// Frames to wait before a checkpoint that readers blocked is tried again.
const RETRY_FRAMES: u64 = 1_024;
/// From this length on a checkpoint waits for readers.
const WAITING_FRAMES_MAX: u64 = 256 * 1024 * 1024 / PAGE_BYTES;
/// Space that must be free before a full disk counts as free again.
const PROBE_BYTES: i64 = 256 * 1024;
/// Free space below which a failed write counts as a full disk.
const FREE_BYTES_MIN: u64 = 64 * 1024;

/// The writer's connection and mark.
#[derive(Debug)]
pub(crate) struct WriterDatabase {
    path: PathBuf,
    connection: Option<WriterConnection>,
    mark: CommitMark,
    epoch: u64,
    /// The log length at which the next checkpoint is due.
    checkpoint_at: u64,
}

impl WriterDatabase {
    pub(crate) fn new(path: &Path, connection: Option<WriterConnection>, mark: CommitMark) -> Self {
        WriterDatabase {
            path: path.to_owned(),
            connection,
            mark,
            epoch: 0,
            checkpoint_at: FRAMES_MAX,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    pub(crate) fn connection(&self) -> Option<&WriterConnection> {
        self.connection.as_ref()
    }

    /// True if the log holds frames that are not checkpointed.
    pub(crate) fn has_frames(&self) -> bool {
        self.connection().is_some_and(|open| open.frames() > 0)
    }

    pub(crate) fn needs_checkpoint(&self) -> bool {
        self.connection()
            .is_some_and(|open| open.frames() >= self.checkpoint_at)
    }

    /// Raises the mark after a commit, before anyone hears of the commit.
    pub(crate) fn note_commit(&mut self, last_seq: u64, silent_commits: u64) {
        let frames = self.connection().map_or(0, WriterConnection::frames);
        // The log restarted: the usual length applies again, not that of a blocked checkpoint.
        if frames < FRAMES_MAX {
            self.checkpoint_at = FRAMES_MAX;
        }
        let raised = self.mark.raise(MarkClaim {
            epoch: self.epoch,
            frames,
            seq: last_seq,
            closed: false,
            silent_commits: Some(silent_commits),
        });
        if let Err(error) = raised {
            // The commit stands. Only a later loss would be noticed less well.
            tracing::warn!("the mark beside the database cannot be written: {error}");
        }
    }

    /// Checkpoints the log and truncates it; false when readers blocked it.
    pub(crate) fn truncate_log(&mut self) -> Result<bool, StoreError> {
        let emptied = self.checkpoint_with(CheckpointMode::TRUNCATE)?;
        if let Some(open) = self.connection().filter(|_| emptied) {
            open.reset_frames();
            self.checkpoint_at = FRAMES_MAX;
        }
        Ok(emptied)
    }

    /// Checkpoints the log during work or idle time. It waits for nobody, and the log keeps its
    /// file, which the next commits overwrite. It waits for readers only when they have kept the
    /// log from restarting for long.
    pub(crate) fn checkpoint_log(&mut self) -> Result<(), StoreError> {
        let frames = self.connection().map_or(0, WriterConnection::frames);
        let mode = if frames < WAITING_FRAMES_MAX {
            CheckpointMode::PASSIVE
        } else {
            CheckpointMode::RESTART
        };
        let is_whole = self.checkpoint_with(mode)?;
        // If readers block the log, another try at each commit would only cost time.
        self.checkpoint_at = frames + RETRY_FRAMES;
        // SQLite overwrites such a log from its beginning at the next commit, so its frames no
        // longer count.
        if let Some(open) = self.connection().filter(|_| is_whole) {
            open.reset_frames();
        }
        Ok(())
    }

    /// Runs a checkpoint; true if everything in the log is in the database.
    fn checkpoint_with(&mut self, mode: CheckpointMode) -> Result<bool, StoreError> {
        let Some(open) = &self.connection else {
            return Ok(false);
        };
        // Lowered and synced first: a crash after the checkpoint must not find a mark that claims
        // frames of the old log.
        let lowered = self.mark.lower(MarkClaim {
            frames: 0,
            ..self.mark.claim()
        });
        lowered.map_err(|error| io_error(&error))?;
        match open.sql.wal_checkpoint_v2(None::<&str>, mode) {
            // After a truncation both numbers are 0.
            Ok((length, brought)) => Ok(brought >= length),
            // Readers hold the log; the next checkpoint tries again.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            Err(error) => Err(self.classify_error(StoreError::from_sqlite(&error, &self.path))),
        }
    }

    /// Drops a connection that can no longer be trusted.
    pub(crate) fn drop_connection(&mut self) {
        self.connection = None;
    }

    /// Opens a new connection in place of a dropped one.
    pub(crate) fn reopen(&mut self) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| StoreError::from_sqlite(&error, &self.path);
        let mut open = WriterConnection::open(&self.path).map_err(failed)?;
        open.prepare().map_err(failed)?;
        self.connection = Some(open);
        // The log may hold frames of the failed write, which new frames must not follow.
        let emptied = self.truncate_log();
        match emptied {
            Ok(true) => Ok(()),
            Ok(false) => {
                // With frames left in the log no commit may follow, so the connection is not used.
                self.drop_connection();
                Err(StoreError::Overloaded(
                    "The store waits for its readers to reopen the database. Try again.".to_owned(),
                ))
            }
            Err(error) => {
                self.drop_connection();
                Err(error)
            }
        }
    }

    /// Writes and deletes a small value, to test whether the disk takes writes again.
    pub(crate) fn probe_write(&mut self) -> Result<(), StoreError> {
        if self.connection.is_none() {
            self.reopen()?;
        }
        let Some(open) = &self.connection else {
            return Err(StoreError::Closed);
        };
        // A value of this size needs new pages; a small one could fit into pages that exist
        // already.
        let written = open
            .sql
            .execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('probe', zeroblob(?1))",
                [PROBE_BYTES],
            )
            .and_then(|_| {
                open.sql
                    .execute("DELETE FROM meta WHERE name = 'probe'", [])
            });
        match written {
            Ok(_) => Ok(()),
            Err(error) => {
                let error = StoreError::from_sqlite(&error, &self.path);
                self.drop_connection();
                Err(self.classify_error(error))
            }
        }
    }

    /// Truncates the log, lets SQLite remove its files, and marks an orderly end.
    pub(crate) fn close(&mut self) -> Result<(), StoreError> {
        // If readers still hold the log, the mark stays open and the next start checks the
        // database.
        if self.connection.is_none() || !self.truncate_log()? {
            return Ok(());
        }
        if let Some(open) = self.connection.take() {
            let tidy = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            // A failure here leaves two empty files beside the database, nothing more.
            let _ = open.sql.set_db_config(tidy, false);
            let _ = open.sql.close();
        }
        // Last: a crash before this line makes the next start check the database once more.
        let closed = self.mark.lower(MarkClaim {
            closed: true,
            ..self.mark.claim()
        });
        closed.map_err(|error| io_error(&error))
    }

    /// Maps the many errors of a full disk to [`StoreError::Full`].
    pub(crate) fn classify_error(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Io(_) if self.free_bytes() < FREE_BYTES_MIN => StoreError::Full,
            other => other,
        }
    }

    fn free_bytes(&self) -> u64 {
        // An unknown size must not make a failing disk look like a full one.
        rustix::fs::statvfs(&self.path).map_or(u64::MAX, |disk| disk.f_bavail * disk.f_frsize)
    }
}

/// Opens the mark beside `database`.
pub(crate) fn open_mark(database: &Path) -> Result<CommitMark, StoreError> {
    CommitMark::open(&sibling_path(database, ".mark")).map_err(|error| io_error(&error))
}

pub(crate) fn io_error(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => StoreError::Io(error.to_string()),
    }
}

#[cfg(test)]
#[path = "writer_database_tests.rs"]
mod tests;
