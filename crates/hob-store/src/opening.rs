//! Opening a store: look at the files, make or migrate the database, begin a new epoch.
//!
//! Invariants: nothing is written to a file before it proved to be hob's and of a schema this
//! program knows, nor to one that does not fit together; a new database appears whole, under its
//! name, or not at all.

use crate::check::quick_check;
use crate::checksums::fill::fill_small;
use crate::connection::{APPLICATION_ID, WriterConnection, beside, open_draft};
use crate::disk::{Disk, io_error, open_mark};
use crate::error::{StoreError, mend};
use crate::events;
use crate::health::Health;
use crate::inspect::{Inspection, inspect, keep_copy};
use crate::mark::Claim;
use crate::migrations::migrate;
use crate::readers::Readers;
use crate::runs::ledger;
use crate::value::{int, number};
use hob_bus::LogBounds;
use hob_kit::clock::Clock;
use hob_kit::failpoint;
use rusqlite::{Connection, OptionalExtension};
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
    /// Whether the whole database is still to be checked.
    pub(crate) to_check: bool,
}

pub(crate) fn open(path: &Path, clock: &Clock, had_life: bool) -> Result<Opened, StoreError> {
    let inspection = inspect(path, had_life)?;
    let health = Arc::new(Health::default());
    report(&inspection, path, clock.wall_ms(), &health);

    if inspection.fresh {
        create(path)?;
    }
    let failed = |error: rusqlite::Error| StoreError::of_sqlite(&error, path);
    let mut connection = WriterConnection::open(path).map_err(failed)?;
    identify(&connection.sql, path)?;
    if inspection.lost()
        && let Some(error) = quick_check(&connection.sql, path)
    {
        return open_damaged(path, clock, health, &error);
    }
    connection.prepare().map_err(failed)?;
    let migrated = migrate(&connection.sql, path)?;
    fill_small(&connection.sql).map_err(failed)?;
    let readers = Readers::open(path, clock.clone(), Arc::clone(&health))?;

    let mut disk = Disk::new(path, Some(connection), open_mark(path)?);
    let claimed = inspection.claim.unwrap_or_default();
    if migrated || inspection.scan.bytes > 0 || claimed.frames > 0 {
        // The log begins anew, so that whatever a crash left in it never mixes with new frames.
        disk.checkpoint()?;
    }
    let start = disk.connection().map(|open| {
        if inspection.fresh {
            Start::read(&open.sql)
        } else {
            Start::begin(&open.sql, claimed)
        }
    });
    let start = start.ok_or(StoreError::Closed)?.map_err(failed)?;
    disk.set_epoch(start.epoch);
    disk.committed(start.bounds.last);
    Ok(Opened {
        disk,
        readers: Arc::new(readers),
        health,
        bounds: start.bounds,
        to_check: inspection.unclean() && !inspection.lost(),
    })
}

/// Makes a new database beside its place and moves it there when it is whole and synced. One that
/// was cut off in the making is thrown away.
fn create(path: &Path) -> Result<(), StoreError> {
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
    Start::begin(&sql, Claim::default()).map_err(failed)?;
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
    path: &Path,
    clock: &Clock,
    health: Arc<Health>,
    error: &StoreError,
) -> Result<Opened, StoreError> {
    health.note(error);
    let readers = Readers::open(path, clock.clone(), Arc::clone(&health))?;
    let bounds = readers.read_now(|sql| Ok(events::bounds(sql, 0)?))?;
    Ok(Opened {
        disk: Disk::new(path, None, open_mark(path)?),
        readers: Arc::new(readers),
        health,
        bounds,
        to_check: false,
    })
}

/// Tells what the inspection found, and keeps a copy of what cannot be kept otherwise.
fn report(inspection: &Inspection, path: &Path, now_ms: u64, health: &Health) {
    for finding in &inspection.findings {
        let mut text = finding.text.clone();
        if finding.is_loss {
            if inspection.scan.bytes > 0 {
                text = format!("{text} {}", keep_copy(path, now_ms));
            }
            tracing::error!("{text}");
        } else {
            tracing::warn!("{text}");
        }
        health.found(text);
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
}

impl Start {
    /// Counts this start and fixes from where events are numbered: after every number that was
    /// ever given, even if the rows that had it are lost.
    fn begin(sql: &Connection, claimed: Claim) -> rusqlite::Result<Start> {
        let transaction = sql.unchecked_transaction()?;
        transaction.execute(
            "UPDATE meta SET value = max(value, ?1) + 1 WHERE name = 'epoch'",
            [int(claimed.epoch)],
        )?;
        let floor = if failpoint::broken(4) { 0 } else { claimed.seq };
        if floor > Start::read(&transaction)?.bounds.last {
            transaction.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('event_floor', ?1)",
                [int(floor)],
            )?;
        }
        ledger::forget_loose(&transaction)?;
        let start = Start::read(&transaction)?;
        transaction.commit()?;
        Ok(start)
    }

    fn read(sql: &Connection) -> rusqlite::Result<Start> {
        let select = "SELECT value FROM meta WHERE name = ?1";
        let fact = |name: &str| sql.query_row(select, [name], |row| number(row, 0));
        let floor = fact("event_floor").optional()?.unwrap_or(0);
        Ok(Start {
            epoch: fact("epoch")?,
            bounds: events::bounds(sql, floor)?,
        })
    }
}
