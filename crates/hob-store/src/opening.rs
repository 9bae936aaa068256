//! Opening a store: look at the files, make or migrate the database, begin a new epoch.
//!
//! Invariants: nothing is written to a file before it proved to be hob's and of a schema this
//! program knows, nor to one that does not fit together; a new database appears whole, under its
//! name, or not at all.

use crate::checksums::fill::fill_small;
use crate::connection::{APPLICATION_ID, WriterConnection, beside, open_draft};
use crate::disk::{Disk, io_error, open_mark};
use crate::error::{StoreError, mend};
use crate::events;
use crate::findings::{Finding, Held, Loss, fact};
use crate::health::Health;
use crate::ids::Ids;
use crate::inspect::{inspect, keep_copy};
use crate::log_history::LogHistory;
use crate::mark::Claim;
use crate::migrations::migrate;
use crate::readers::Readers;
use crate::runs::ledger;
use crate::structure_check::confirmed_damage;
use crate::value::int;
use hob_bus::LogBounds;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::failpoint;
use rusqlite::Connection;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// An open store, before its threads run.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) disk: Disk,
    pub(crate) readers: Arc<Readers>,
    pub(crate) health: Arc<Health>,
    pub(crate) bounds: LogBounds,
    pub(crate) silent_commits: u64,
    pub(crate) log_history: LogHistory,
    /// Whether the whole database is still to be checked.
    pub(crate) to_check: bool,
}

/// What opening needs from outside.
#[derive(Debug)]
pub(crate) struct OpenParts<'a> {
    pub(crate) path: &'a Path,
    pub(crate) clock: &'a Clock,
    pub(crate) dice: &'a Dice,
    pub(crate) had_life: bool,
}

pub(crate) fn open(parts: &OpenParts<'_>) -> Result<Opened, StoreError> {
    let OpenParts { path, clock, .. } = *parts;
    let inspection = inspect(path, parts.had_life)?;
    let health = Arc::new(Health::default());
    let log_id = Ids::new(parts.dice.clone())
        .next(clock.wall_ms())
        .to_string();

    if inspection.fresh {
        create(path, &log_id)?;
    }
    let failed = |error: rusqlite::Error| StoreError::of_sqlite(&error, path);
    let mut connection = WriterConnection::open(path).map_err(failed)?;
    identify(&connection.sql, path)?;
    // Nothing is written yet: SQLite reads the log as it lies there.
    let findings = inspection.findings(path, Held::read(&connection.sql).ok());
    report(&findings, inspection.scan.bytes > 0, parts, &health);
    let may_be_lost = findings.iter().any(|finding| finding.loss > Loss::None);
    if may_be_lost && let Some(error) = confirmed_damage(&connection.sql, path) {
        return open_damaged(parts, health, &error, log_id);
    }
    connection.prepare().map_err(failed)?;
    let migrated = migrate(&connection.sql, path)?;
    fill_small(&connection.sql).map_err(failed)?;
    let readers = Readers::open(path, clock.clone(), Arc::clone(&health))?;

    let mut disk = Disk::new(path, Some(connection), open_mark(path)?);
    let claimed = inspection.mark.claim().unwrap_or_default();
    if migrated || inspection.scan.bytes > 0 || claimed.frames > 0 {
        // The log begins anew, so that whatever a crash left in it never mixes with new frames.
        disk.checkpoint()?;
    }
    let start = disk.connection().map(|open| {
        if inspection.fresh {
            Start::read(&open.sql)
        } else {
            Start::begin(&open.sql, claimed, &log_id)
        }
    });
    let start = start.ok_or(StoreError::Closed)?.map_err(failed)?;
    disk.set_epoch(start.epoch);
    disk.committed(start.bounds.last, start.silent_commits);
    Ok(Opened {
        disk,
        readers: Arc::new(readers),
        health,
        bounds: start.bounds,
        silent_commits: start.silent_commits,
        log_history: start.log_history,
        to_check: inspection.unclean(),
    })
}

/// Makes a new database beside its place and moves it there when it is whole and synced. One that
/// was cut off in the making is thrown away.
fn create(path: &Path, log_id: &str) -> Result<(), StoreError> {
    let draft = beside(path, ".new");
    for suffix in ["", "-journal", "-wal", "-shm"] {
        match fs::remove_file(beside(&draft, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&error)),
            _ => {}
        }
    }
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(|error| io_error(&error))?;
    let failed = |error: rusqlite::Error| StoreError::of_sqlite(&error, path);
    let sql = open_draft(&draft).map_err(failed)?;
    migrate(&sql, path)?;
    Start::begin(&sql, Claim::default(), log_id).map_err(failed)?;
    sql.pragma_update(None, "journal_mode", "wal")
        .map_err(failed)?;
    sql.close().map_err(|(_, error)| failed(error))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    file.sync_all()
        .and_then(|()| fs::rename(&draft, path))
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(|error| io_error(&error))
}

/// A database that does not fit together: it can be read as far as that goes.
fn open_damaged(
    parts: &OpenParts<'_>,
    health: Arc<Health>,
    error: &StoreError,
    log_id: String,
) -> Result<Opened, StoreError> {
    health.confirm_damage(error);
    let readers = Readers::open(parts.path, parts.clock.clone(), Arc::clone(&health))?;
    let bounds = readers.read_now(|sql| Ok(events::bounds(sql, 0)?))?;
    Ok(Opened {
        disk: Disk::new(parts.path, None, open_mark(parts.path)?),
        readers: Arc::new(readers),
        health,
        bounds,
        silent_commits: 0,
        log_history: LogHistory::beginning(log_id),
        to_check: false,
    })
}

/// Tells what was found, and keeps a copy of a log that cannot be kept otherwise.
fn report(findings: &[Finding], has_log: bool, parts: &OpenParts<'_>, health: &Health) {
    for finding in findings {
        let mut text = finding.text.clone();
        if finding.loss > Loss::None {
            if has_log {
                text = format!("{text} {}", keep_copy(parts.path, parts.clock.wall_ms()));
            }
            tracing::error!("{text}");
        } else {
            tracing::warn!("{text}");
        }
        health.found(text, finding.loss > Loss::None);
    }
}

/// Whether the database is hob's.
fn identify(sql: &Connection, path: &Path) -> Result<(), StoreError> {
    let id: i32 = sql
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(|error| StoreError::of_sqlite(&error, path))?;
    if id == APPLICATION_ID {
        return Ok(());
    }
    Err(StoreError::Damaged {
        file: path.to_owned(),
        what: format!("this is a database, but not one of hob's. {}", mend(path)),
    })
}

/// What a start of the store begins with.
struct Start {
    epoch: u64,
    bounds: LogBounds,
    silent_commits: u64,
    log_history: LogHistory,
}

impl Start {
    /// Counts this start, gives the log a new id, and fixes from where events are numbered: after
    /// every number that was ever given, even if the rows that had it are lost.
    fn begin(sql: &Connection, claimed: Claim, log_id: &str) -> rusqlite::Result<Start> {
        let transaction = sql.unchecked_transaction()?;
        transaction.execute(
            "UPDATE meta SET value = max(value, ?1) + 1 WHERE name = 'epoch'",
            [int(claimed.epoch)],
        )?;
        let found = Start::read(&transaction)?;
        LogHistory::append(&transaction, found.epoch, log_id, found.bounds.last)?;
        let floor = if failpoint::broken(4) { 0 } else { claimed.seq };
        if floor > found.bounds.last {
            transaction.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('event_floor', ?1)",
                [int(floor)],
            )?;
        }
        // Counts on from the mark, so that a loss is told once.
        let silent_commits = claimed.silent_commits.unwrap_or(0);
        if silent_commits > found.silent_commits {
            set_silent_commits(&transaction, silent_commits)?;
        }
        ledger::forget_loose(&transaction)?;
        let start = Start::read(&transaction)?;
        transaction.commit()?;
        Ok(start)
    }

    fn read(sql: &Connection) -> rusqlite::Result<Start> {
        let floor = fact(sql, "event_floor")?.unwrap_or(0);
        Ok(Start {
            epoch: fact(sql, "epoch")?.unwrap_or(0),
            bounds: events::bounds(sql, floor)?,
            silent_commits: fact(sql, "silent_commits")?.unwrap_or(0),
            log_history: LogHistory::read(sql)?,
        })
    }
}

/// Counts commits that logged no event, so that the mark can tell whether they are still there.
pub(crate) fn set_silent_commits(sql: &Connection, count: u64) -> rusqlite::Result<()> {
    sql.prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES ('silent_commits', ?1)")?
        .execute([int(count)])?;
    Ok(())
}
