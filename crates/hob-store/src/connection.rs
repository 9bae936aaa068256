//! Connections to the database. All of them are opened here, with the same pragmas.
//!
//! Invariants: a commit on the writer's connection is synced before it returns; no connection
//! checkpoints by itself, because the writer decides when the write-ahead log may be emptied.

use crate::checksums;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Older versions can corrupt a database when a checkpoint meets a restart of the log.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
const _: () = assert!(
    ffi::SQLITE_VERSION_NUMBER >= SQLITE_VERSION_MIN,
    "hob needs SQLite 3.51.3 or newer"
);

/// Marks a database file as hob's: `hobd`.
pub(crate) const APPLICATION_ID: i32 = 0x686F_6264;
/// The page size of a new database, SQLite's default.
pub(crate) const PAGE_BYTES: u64 = 4_096;
/// The size up to which a restarted write-ahead log keeps its file.
const LOG_BYTES_KEPT: i64 = 16 * 1024 * 1024;
/// The time that a statement waits for a lock before it fails as busy.
const BUSY_WAIT: Duration = Duration::from_millis(250);
/// Prepared statements that each connection caches.
const STATEMENTS_MAX: usize = 128;

/// The one connection that writes.
#[derive(Debug)]
pub(crate) struct WriterConnection {
    pub(crate) sql: Connection,
    /// Frames in the write-ahead log after the last commit.
    frames: Arc<AtomicU64>,
}

impl WriterConnection {
    /// Opens the database without reading it. A missing file is not created.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        Ok(WriterConnection {
            sql: open(path)?,
            frames: Arc::new(AtomicU64::new(0)),
        })
    }

    /// Prepares the connection for writing, after the file proved to be hob's.
    pub(crate) fn prepare(&mut self) -> rusqlite::Result<()> {
        let sql = &mut self.sql;
        sql.pragma_update(None, "journal_mode", "wal")?;
        #[cfg(test)]
        crate::page_limit::apply(sql)?;
        // With `full` COMMIT syncs the log before it returns. Acknowledgements rest on this.
        sql.pragma_update(None, "synchronous", "full")?;
        // Pages of an open transaction stay in memory until the commit. So a batch that is rolled
        // back leaves no frames in the log, and the batch's size bounds the memory.
        sql.pragma_update(None, "cache_spill", false)?;
        // Automatic checkpoints would empty the log before the mark is lowered.
        sql.pragma_update(None, "wal_autocheckpoint", 0)?;
        // A log that grew behind a slow reader is cut to this size when it restarts.
        sql.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
        // Without the hook only a checkpoint would tell the length of the log.
        let frames = Arc::clone(&self.frames);
        sql.wal_hook(Some(move |_: &mut _, pages: i32| {
            frames.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
    }

    /// Frames in the write-ahead log.
    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    pub(crate) fn reset_frames(&self) {
        self.frames.store(0, Ordering::Relaxed);
    }
}

/// Opens a database that is being created at `path`. Nothing is synced: before it has its final
/// name the file is worth nothing.
pub(crate) fn open_draft(path: &Path) -> rusqlite::Result<Connection> {
    let sql = open(path)?;
    // Closing must bring everything into the one file that is renamed.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    // Nobody else opens the file, so one lock serves all transactions.
    sql.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;",
    )?;
    Ok(sql)
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let sql = open(path)?;
    // A pragma, not a read-only handle: a reader of a log needs write access to its shared memory.
    sql.pragma_update(None, "query_only", true)?;
    Ok(sql)
}

#[expect(clippy::disallowed_methods, reason = "this is the one room with SQL")]
fn open(path: &Path) -> rusqlite::Result<Connection> {
    // Each connection is used by one thread at a time, so SQLite need not lock it.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = Connection::open_with_flags(path, flags)?;
    sql.busy_timeout(BUSY_WAIT)?;
    // The last connection to close would checkpoint before the mark is lowered.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Without it SQLite inspects bound values, and prepares statements with joins and limits at
    // each use.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    sql.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // A memory-mapped file turns a failing disk into a signal. Reads and writes turn it into an
    // error.
    sql.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
         PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;",
    )?;
    checksums::register(&sql)?;
    Ok(sql)
}

/// Returns the path of a file beside the database: `hob.db` + `-wal`.
pub(crate) fn sibling_path(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
