//! Opening a store: inspects the files, creates or migrates the database, begins a new epoch.
//!
//! Invariants: nothing is written to a file before it proved to be hob's and of a known schema, nor
//! to a damaged one; a new database appears complete under its name, or not at all.

use crate::checksums::backfill::backfill_small_tables;
use crate::connection::{APPLICATION_ID, WriterConnection, open_draft, sibling_path};
use crate::error::{StoreError, repair_hint};
use crate::events;
use crate::findings::{DatabasePosition, StartupFinding, WriteLoss, read_meta};
use crate::health::StoreHealth;
use crate::ids::IdGenerator;
use crate::inspect::{copy_damaged_log, inspect};
use crate::log_history::LogHistory;
use crate::mark::MarkClaim;
use crate::migrations::migrate;
use crate::reader_pool::ReaderPool;
use crate::runs::ledger;
use crate::sessions::fork;
use crate::structure_check::find_confirmed_damage;
use crate::value::int;
use crate::writer_database::{WriterDatabase, io_error, open_mark};
use hob_bus::LogBounds;
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use rusqlite::Connection;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// An open store, before its threads run.
#[derive(Debug)]
pub(crate) struct OpenedStore {
    pub(crate) database: WriterDatabase,
    pub(crate) readers: Arc<ReaderPool>,
    pub(crate) health: Arc<StoreHealth>,
    pub(crate) bounds: LogBounds,
    pub(crate) silent_commits: u64,
    pub(crate) log_history: LogHistory,
    /// True if the background check must read the whole database.
    pub(crate) needs_check: bool,
}

/// The inputs of [`open`].
#[derive(Debug)]
pub(crate) struct OpenInputs<'a> {
    pub(crate) path: &'a Path,
    pub(crate) clock: &'a Clock,
    pub(crate) randomness: &'a Randomness,
    pub(crate) had_database: bool,
}

pub(crate) fn open(parts: &OpenInputs<'_>) -> Result<OpenedStore, StoreError> {
    let OpenInputs { path, clock, .. } = *parts;
    let inspection = inspect(path, parts.had_database)?;
    let health = Arc::new(StoreHealth::default());
    let log_id = IdGenerator::new(parts.randomness.clone())
        .next(clock.wall_ms())
        .to_string();

    if inspection.is_new {
        create(path, &log_id)?;
    }
    let failed = |error: rusqlite::Error| StoreError::from_sqlite(&error, path);
    let mut connection = WriterConnection::open(path).map_err(failed)?;
    check_application_id(&connection.sql, path)?;
    // Nothing is written yet: SQLite reads the log as the last daemon left it.
    let findings = inspection.findings(path, DatabasePosition::read(&connection.sql).ok());
    report(&findings, inspection.scan.bytes > 0, parts, &health);
    let may_be_lost = findings
        .iter()
        .any(|finding| finding.loss > WriteLoss::None);
    // Checked before the first write, which would overwrite what a repair could use.
    if may_be_lost && let Some(error) = find_confirmed_damage(&connection.sql, path) {
        return open_damaged(parts, health, &error, log_id);
    }
    // From here on the file is ours and sound enough, and may be written.
    connection.prepare().map_err(failed)?;
    let migrated = migrate(&connection.sql, path)?;
    backfill_small_tables(&connection.sql).map_err(failed)?;
    // One reader stays open from now on; see the invariants of `reader_pool`.
    let readers = ReaderPool::open(path, clock.clone(), Arc::clone(&health))?;

    let mut database = WriterDatabase::new(path, Some(connection), open_mark(path)?);
    let claimed = inspection.mark.claim().unwrap_or_default();
    if migrated || inspection.scan.bytes > 0 || claimed.frames > 0 {
        // The log restarts, so that leftovers of a crash never mix with new frames.
        database.truncate_log()?;
    }
    let start = database.connection().map(|open| {
        if inspection.is_new {
            // `create` has begun this epoch already.
            EpochStart::read(&open.sql)
        } else {
            EpochStart::begin(&open.sql, claimed, &log_id)
        }
    });
    let start = start.ok_or(StoreError::Closed)?.map_err(failed)?;
    database.set_epoch(start.epoch);
    // The mark is open from now on: without it a crash would look like an orderly end.
    database.note_commit(start.bounds.last, start.silent_commits);
    Ok(OpenedStore {
        database,
        readers: Arc::new(readers),
        health,
        bounds: start.bounds,
        silent_commits: start.silent_commits,
        log_history: start.log_history,
        needs_check: inspection.is_unclean(),
    })
}

/// Creates a new database beside its path and renames it when it is complete and synced. Leftovers
/// of an interrupted creation are deleted.
fn create(path: &Path, log_id: &str) -> Result<(), StoreError> {
    let draft = sibling_path(path, ".new");
    for suffix in ["", "-journal", "-wal", "-shm"] {
        match fs::remove_file(sibling_path(&draft, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&error)),
            _ => {}
        }
    }
    // Created here and not by SQLite, so that the file is private from its first byte.
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(|error| io_error(&error))?;
    let failed = |error: rusqlite::Error| StoreError::from_sqlite(&error, path);
    let sql = open_draft(&draft).map_err(failed)?;
    migrate(&sql, path)?;
    // Here and not after the rename, where each table would cost a synced transaction.
    backfill_small_tables(&sql).map_err(failed)?;
    EpochStart::begin(&sql, MarkClaim::default(), log_id).map_err(failed)?;
    // The mode is stored in the file, so under its final name it is never used without a log.
    sql.pragma_update(None, "journal_mode", "wal")
        .map_err(failed)?;
    sql.close().map_err(|(_, error)| failed(error))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    // File, rename, folder: a power cut leaves the whole database under its name, or no such name.
    file.sync_all()
        .and_then(|()| fs::rename(&draft, path))
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(|error| io_error(&error))
}

/// Opens a damaged database for reading, as far as that works.
fn open_damaged(
    parts: &OpenInputs<'_>,
    health: Arc<StoreHealth>,
    error: &StoreError,
    log_id: String,
) -> Result<OpenedStore, StoreError> {
    health.confirm_damage(error);
    let readers = ReaderPool::open(parts.path, parts.clock.clone(), Arc::clone(&health))?;
    let bounds = readers.read_blocking(|sql| Ok(events::log_bounds(sql, 0)?))?;
    Ok(OpenedStore {
        database: WriterDatabase::new(parts.path, None, open_mark(parts.path)?),
        readers: Arc::new(readers),
        health,
        bounds,
        silent_commits: 0,
        // Nothing can be written, so the new id is held in memory only.
        log_history: LogHistory::beginning(log_id),
        // The damage is confirmed, and another check would not change that.
        needs_check: false,
    })
}

/// Reports the findings, and copies a log that would otherwise be overwritten.
fn report(
    findings: &[StartupFinding],
    has_log: bool,
    parts: &OpenInputs<'_>,
    health: &StoreHealth,
) {
    for finding in findings {
        let mut text = finding.text.clone();
        if finding.loss > WriteLoss::None {
            if has_log {
                text = format!(
                    "{text} {}",
                    copy_damaged_log(parts.path, parts.clock.wall_ms())
                );
            }
            tracing::error!("{text}");
        } else {
            tracing::warn!("{text}");
        }
        health.add_finding(text, finding.loss > WriteLoss::None);
    }
}

/// Refuses a database that is not hob's.
fn check_application_id(sql: &Connection, path: &Path) -> Result<(), StoreError> {
    let id: i32 = sql
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(|error| StoreError::from_sqlite(&error, path))?;
    if id == APPLICATION_ID {
        return Ok(());
    }
    Err(StoreError::Damaged {
        file: path.to_owned(),
        what: format!(
            "this is a database, but not one of hob's. {}",
            repair_hint(path)
        ),
    })
}

/// The counters that a start of the store begins with.
struct EpochStart {
    epoch: u64,
    bounds: LogBounds,
    silent_commits: u64,
    log_history: LogHistory,
}

impl EpochStart {
    /// Counts this start, gives the log a new id, and fixes the next event number: after every
    /// number ever used, even if its rows are lost.
    fn begin(sql: &Connection, claimed: MarkClaim, log_id: &str) -> rusqlite::Result<EpochStart> {
        let transaction = sql.unchecked_transaction()?;
        transaction.execute(
            // The mark may know a later epoch than restored older files, and no epoch is used
            // twice.
            "UPDATE meta SET value = max(value, ?1) + 1 WHERE name = 'epoch'",
            [int(claimed.epoch)],
        )?;
        let found = EpochStart::read(&transaction)?;
        LogHistory::append(&transaction, found.epoch, log_id, found.bounds.last)?;
        // The mark knows acknowledged numbers that the rows lost. They stay used.
        if claimed.seq > found.bounds.last {
            transaction.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('event_floor', ?1)",
                [int(claimed.seq)],
            )?;
        }
        // Continues from the mark, so that a loss is reported once.
        let silent_commits = claimed.silent_commits.unwrap_or(0);
        if silent_commits > found.silent_commits {
            set_silent_commits(&transaction, silent_commits)?;
        }
        ledger::mark_abandoned_calls(&transaction)?;
        fork::release_all(&transaction)?;
        let start = EpochStart::read(&transaction)?;
        transaction.commit()?;
        Ok(start)
    }

    fn read(sql: &Connection) -> rusqlite::Result<EpochStart> {
        let floor = read_meta(sql, "event_floor")?.unwrap_or(0);
        Ok(EpochStart {
            epoch: read_meta(sql, "epoch")?.unwrap_or(0),
            bounds: events::log_bounds(sql, floor)?,
            silent_commits: read_meta(sql, "silent_commits")?.unwrap_or(0),
            log_history: LogHistory::read(sql)?,
        })
    }
}

/// Writes the count of commits without an event. The mark has it too, so a start sees if some are
/// lost.
pub(crate) fn set_silent_commits(sql: &Connection, count: u64) -> rusqlite::Result<()> {
    sql.prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES ('silent_commits', ?1)")?
        .execute([int(count)])?;
    Ok(())
}
