//! The writer's hold on the files: its connection, the mark, and how both come back after the disk
//! failed.
//!
//! Invariants: the write-ahead log begins anew only here, after the mark was taken back; after a
//! failed write it does so before the next commit, so that frames of the failed one are never
//! followed by others.

use crate::connection::{PAGE_BYTES, WriterConnection, beside};
use crate::error::StoreError;
use crate::mark::{Claim, Mark};
use rusqlite::ErrorCode;
use rusqlite::config::DbConfig;
use rusqlite::wal::CheckpointMode;
use std::io;
use std::path::{Path, PathBuf};

/// The write-ahead log begins anew at this length. A commit that writes over its place on disk is
/// synced faster than one that makes the file longer, so it is short.
const FRAMES_MAX: u64 = 1_024;
/// Frames that may come before it is tried again after readers stood in the way.
const RETRY_FRAMES: u64 = 1_024;
/// From this length on it is worth making writers wait for readers.
const WAITING_FRAMES_MAX: u64 = 256 * 1024 * 1024 / PAGE_BYTES;
/// Room that must be free before a full disk counts as free again.
const PROBE_BYTES: i64 = 256 * 1024;
/// Below this a failed write is put down to a full disk.
const FREE_BYTES_MIN: u64 = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Disk {
    path: PathBuf,
    connection: Option<WriterConnection>,
    mark: Mark,
    epoch: u64,
    /// Frames at which the log is to begin anew.
    checkpoint_at: u64,
}

impl Disk {
    pub(crate) fn new(path: &Path, connection: Option<WriterConnection>, mark: Mark) -> Self {
        Disk {
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

    /// Whether the log holds something to bring into the database.
    pub(crate) fn has_frames(&self) -> bool {
        self.connection().is_some_and(|open| open.frames() > 0)
    }

    pub(crate) fn wants_checkpoint(&self) -> bool {
        self.connection()
            .is_some_and(|open| open.frames() >= self.checkpoint_at)
    }

    /// Takes note of a commit, before anyone is told of it.
    pub(crate) fn committed(&mut self, last_seq: u64, silent_commits: u64) {
        let frames = self.connection().map_or(0, WriterConnection::frames);
        if frames < FRAMES_MAX {
            self.checkpoint_at = FRAMES_MAX;
        }
        let raised = self.mark.raise(Claim {
            epoch: self.epoch,
            frames,
            seq: last_seq,
            closed: false,
            silent_commits: Some(silent_commits),
        });
        if let Err(error) = raised {
            // The commit stands; only a later loss would be noticed less well.
            tracing::warn!("the mark beside the database cannot be written: {error}");
        }
    }

    /// Brings the log into the database and empties it; false when readers stood in the way.
    pub(crate) fn checkpoint(&mut self) -> Result<bool, StoreError> {
        let emptied = self.checkpoint_with(CheckpointMode::TRUNCATE)?;
        if let Some(open) = self.connection().filter(|_| emptied) {
            open.forget_frames();
            self.checkpoint_at = FRAMES_MAX;
        }
        Ok(emptied)
    }

    /// Brings the log into the database while work keeps coming or rests: nobody is waited for, and
    /// the log keeps its file, whose place on disk the next commits write over. Only a log that
    /// readers kept from beginning anew for long is worth waiting for them.
    pub(crate) fn checkpoint_in_passing(&mut self) -> Result<(), StoreError> {
        let frames = self.connection().map_or(0, WriterConnection::frames);
        let mode = if frames < WAITING_FRAMES_MAX {
            CheckpointMode::PASSIVE
        } else {
            CheckpointMode::RESTART
        };
        let is_whole = self.checkpoint_with(mode)?;
        self.checkpoint_at = frames + RETRY_FRAMES;
        if let Some(open) = self.connection().filter(|_| is_whole) {
            open.forget_frames();
        }
        Ok(())
    }

    /// Answers whether nothing is left in the log that is not in the database.
    fn checkpoint_with(&mut self, mode: CheckpointMode) -> Result<bool, StoreError> {
        let Some(open) = &self.connection else {
            return Ok(false);
        };
        let lowered = self.mark.lower(Claim {
            frames: 0,
            ..self.mark.claim()
        });
        lowered.map_err(|error| io_error(&error))?;
        match open.sql.wal_checkpoint_v2(None::<&str>, mode) {
            Ok((length, brought)) => Ok(brought >= length),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            Err(error) => Err(self.judge(StoreError::of_sqlite(&error, &self.path))),
        }
    }

    /// Drops a connection that can no longer be trusted.
    pub(crate) fn give_up(&mut self) {
        self.connection = None;
    }

    /// Opens a new connection in place of one that was given up.
    pub(crate) fn reopen(&mut self) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| StoreError::of_sqlite(&error, &self.path);
        let mut open = WriterConnection::open(&self.path).map_err(failed)?;
        open.prepare().map_err(failed)?;
        self.connection = Some(open);
        let emptied = self.checkpoint();
        match emptied {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.give_up();
                Err(StoreError::Overloaded(
                    "The store waits for its readers to reopen the database. Try again.".to_owned(),
                ))
            }
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    /// Writes and removes a little, to see whether there is room again.
    pub(crate) fn probe(&mut self) -> Result<(), StoreError> {
        if self.connection.is_none() {
            self.reopen()?;
        }
        let Some(open) = &self.connection else {
            return Err(StoreError::Closed);
        };
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
                let error = StoreError::of_sqlite(&error, &self.path);
                self.give_up();
                Err(self.judge(error))
            }
        }
    }

    /// Empties the log, lets SQLite remove its files, and claims an orderly end.
    pub(crate) fn close(&mut self) -> Result<(), StoreError> {
        if self.connection.is_none() || !self.checkpoint()? {
            return Ok(());
        }
        if let Some(open) = self.connection.take() {
            let tidy = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            // What fails here leaves two empty files beside the database, nothing more.
            let _ = open.sql.set_db_config(tidy, false);
            let _ = open.sql.close();
        }
        let closed = self.mark.lower(Claim {
            closed: true,
            ..self.mark.claim()
        });
        closed.map_err(|error| io_error(&error))
    }

    /// A full disk shows itself in many ways; this gives them one name.
    pub(crate) fn judge(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Io(_) if self.free_bytes() < FREE_BYTES_MIN => StoreError::Full,
            other => other,
        }
    }

    fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(&self.path).map_or(u64::MAX, |disk| disk.f_bavail * disk.f_frsize)
    }
}

/// Opens the mark beside `database`.
pub(crate) fn open_mark(database: &Path) -> Result<Mark, StoreError> {
    Mark::open(&beside(database, ".mark")).map_err(|error| io_error(&error))
}

pub(crate) fn io_error(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => StoreError::Io(error.to_string()),
    }
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
