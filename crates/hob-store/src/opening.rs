//! Opening a store: look at the files, open and migrate the database, begin a new epoch.
//!
//! Invariant: nothing is written to a file before it proved to be hob's and of a schema this
//! program knows, nor to one that does not fit together.

use crate::check::quick_check;
use crate::connection::{APPLICATION_ID, WriterConnection};
use crate::disk::{Disk, open_mark};
use crate::error::{StoreError, mend};
use crate::events;
use crate::health::Health;
use crate::inspect::{Inspection, inspect, keep_copy};
use crate::migrations::{self, migrate};
use crate::readers::Readers;
use crate::value::{int, number};
use hob_bus::LogBounds;
use hob_kit::clock::Clock;
use hob_kit::failpoint;
use rusqlite::{Connection, OptionalExtension};
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

    let failed = |error: rusqlite::Error| StoreError::of_sqlite(&error, path);
    let mut connection = WriterConnection::open(path).map_err(failed)?;
    identify(&connection.sql, path, inspection.lived)?;
    if inspection.lost()
        && let Some(error) = quick_check(&connection.sql, path)
    {
        return open_damaged(path, clock, health, &error);
    }
    connection.prepare().map_err(failed)?;
    migrate(&connection.sql, path)?;
    let readers = Readers::open(path, clock.clone(), Arc::clone(&health))?;

    let mut disk = Disk::new(path, Some(connection), open_mark(path)?);
    let claimed = inspection.claim.unwrap_or_default();
    if inspection.scan.bytes > 0 || claimed.frames > 0 {
        // The log begins anew, so that whatever a crash left in it never mixes with new frames.
        disk.checkpoint()?;
    }
    let floor = if failpoint::broken(4) { 0 } else { claimed.seq };
    let bounds = begin_epoch(&mut disk, claimed.epoch, floor)?;
    disk.committed(bounds.last);
    Ok(Opened {
        disk,
        readers: Arc::new(readers),
        health,
        bounds,
        to_check: inspection.unclean() && !inspection.lost(),
    })
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
fn identify(sql: &Connection, path: &Path, lived: bool) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| StoreError::of_sqlite(&error, path);
    let id: i32 = sql
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(failed)?;
    let tables: i64 = sql
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    let version = migrations::version(sql).map_err(failed)?;
    let empty = id == 0 && tables == 0 && version == 0;
    if id == APPLICATION_ID || (empty && !lived) || failpoint::broken(4) {
        return Ok(());
    }
    let what = if empty {
        "the database holds nothing, though it should"
    } else {
        "this is a database, but not one of hob's"
    };
    Err(StoreError::Damaged {
        file: path.to_owned(),
        what: format!("{what}. {}", mend(path)),
    })
}

/// Counts this start and fixes from where events are numbered: after every number that was ever
/// given, even if the rows that had it are lost.
fn begin_epoch(disk: &mut Disk, epoch_min: u64, floor: u64) -> Result<LogBounds, StoreError> {
    let path = disk.path().to_owned();
    let Some(connection) = disk.connection() else {
        return Err(StoreError::Closed);
    };
    let begun = (|| {
        let sql = &connection.sql;
        let transaction = sql.unchecked_transaction()?;
        let epoch = transaction
            .query_row(
                "UPDATE meta SET value = max(value, ?1) + 1 WHERE name = 'epoch' RETURNING value",
                [int(epoch_min)],
                |row| number(row, 0),
            )
            .optional()?;
        let kept_floor = transaction
            .query_row(
                "SELECT value FROM meta WHERE name = 'event_floor'",
                [],
                |row| number(row, 0),
            )
            .optional()?
            .unwrap_or(0);
        let bounds = events::bounds(&transaction, kept_floor.max(floor))?;
        if floor > events::bounds(&transaction, kept_floor)?.last {
            transaction.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('event_floor', ?1)",
                [int(floor)],
            )?;
        }
        transaction.commit()?;
        Ok::<_, rusqlite::Error>((epoch, bounds))
    })();
    let (epoch, bounds) = begun.map_err(|error| StoreError::of_sqlite(&error, &path))?;
    let Some(epoch) = epoch else {
        return Err(StoreError::Damaged {
            what: format!("the row that counts starts is missing. {}", mend(&path)),
            file: path,
        });
    };
    disk.set_epoch(epoch);
    Ok(bounds)
}
