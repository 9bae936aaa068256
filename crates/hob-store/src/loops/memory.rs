//! Memories and their revisions. Going back makes a new revision; going back again goes further.

use super::words::{Kind, LoopRow, Remember};
use super::{payload, row};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use crate::value::{int, number, optional_number};
use hob_wire::rooms::loops::{Memories, Memory};
use rusqlite::{Connection, OptionalExtension, Row};

/// Revisions of one memory that are kept.
const REVISIONS_MAX: u64 = 100;

/// Which memory of which loop, and the revision.
type Place = (i64, Kind, u64);

/// Writes a revision and makes it the current one.
pub(super) fn put(
    batch: &Batch<'_>,
    place: Place,
    text: &str,
    by: &str,
) -> rusqlite::Result<Memory> {
    put_from(batch, place, (text, None), (by, None))
}

fn put_from(
    batch: &Batch<'_>,
    (row_id, kind, revision): Place,
    (text, source): (&str, Option<u64>),
    (by, key): (&str, Option<&str>),
) -> rusqlite::Result<Memory> {
    batch
        .sql
        .prepare_cached(
            "INSERT INTO memories (loop, kind, revision, text, by, at, source, key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            row_id,
            kind.word(),
            int(revision),
            text,
            by,
            int(batch.now_ms),
            source.map(int),
            key,
        ))?;
    let point = match kind {
        Kind::Persistent => "UPDATE loops SET persistent = ?2 WHERE row_id = ?1",
        Kind::Working => "UPDATE loops SET working = ?2 WHERE row_id = ?1",
    };
    batch
        .sql
        .prepare_cached(point)?
        .execute((row_id, int(revision)))?;
    batch
        .sql
        .prepare_cached("DELETE FROM memories WHERE loop = ?1 AND kind = ?2 AND revision <= ?3")?
        .execute((
            row_id,
            kind.word(),
            int(revision.saturating_sub(REVISIONS_MAX)),
        ))?;
    Ok(Memory {
        revision,
        text: text.to_owned(),
        by: by.to_owned(),
        at: batch.now_ms,
    })
}

pub(super) fn remember(batch: &mut Batch<'_>, remember: &Remember) -> Result<Memory, Trouble> {
    let mut found = row::expect(batch.sql, &remember.name)?;
    let revision = revision_of(&found, remember.kind);
    if let Some(key) = &remember.key {
        let select = "SELECT 1 FROM memories WHERE loop = ?1 AND kind = ?2 AND key = ?3";
        let mut select = batch.sql.prepare_cached(select)?;
        if select.exists((found.row_id, remember.kind.word(), key))? {
            return Ok(current(batch.sql, &found, remember.kind)?);
        }
    }
    if remember.if_revision.is_some_and(|known| known != revision) {
        return Err(StoreError::Conflict(format!(
            "The {} memory of the loop '{}' is at revision {revision} by now; read it again.",
            remember.kind.word(),
            remember.name
        ))
        .into());
    }
    let next = (found.row_id, remember.kind, revision + 1);
    let by = (remember.by.as_str(), remember.key.as_deref());
    let memory = if let Some(text) = &remember.text {
        put_from(batch, next, (text, None), by)?
    } else {
        let (text, source) = before(batch.sql, &found, remember.kind)?;
        put_from(batch, next, (&text, Some(source)), by)?
    };
    match remember.kind {
        Kind::Persistent => found.persistent = memory.revision,
        Kind::Working => found.working = memory.revision,
    }
    payload::log_config(batch, &found)?;
    Ok(memory)
}

/// The text before the current one, and the revision that had it.
fn before(sql: &Connection, found: &LoopRow, kind: Kind) -> Result<(String, u64), Trouble> {
    let revision = revision_of(found, kind);
    let nothing = || {
        StoreError::Conflict(format!(
            "The {} memory of the loop '{}' has no earlier revision.",
            kind.word(),
            found.name
        ))
    };
    // A revision that went back stands for the one it went back to.
    let source = |revision: u64| -> Result<u64, Trouble> {
        let at = stored(sql, (found.row_id, kind, revision))?;
        Ok(at.and_then(|(_, source)| source).unwrap_or(revision))
    };
    let stands_for = source(revision)?;
    let target = stands_for.checked_sub(1).ok_or_else(nothing)?;
    let target = source(target)?;
    match stored(sql, (found.row_id, kind, target))? {
        Some((memory, _)) => Ok((memory.text, target)),
        None if target == 0 => Ok((String::new(), 0)),
        None => Err(nothing().into()),
    }
}

/// The memory as it is.
pub(super) fn current(sql: &Connection, found: &LoopRow, kind: Kind) -> rusqlite::Result<Memory> {
    let revision = revision_of(found, kind);
    let stored = stored(sql, (found.row_id, kind, revision))?;
    Ok(stored.map_or_else(
        || Memory {
            revision,
            ..Memory::default()
        },
        |(memory, _)| memory,
    ))
}

pub(super) fn read(
    sql: &Connection,
    name: &str,
    kind: Kind,
    earlier: u32,
) -> Result<Memories, Trouble> {
    let found = row::expect(sql, name)?;
    let memory = current(sql, &found, kind)?;
    let mut select = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM memories WHERE loop = ?1 AND kind = ?2 AND revision < ?3
         ORDER BY revision DESC LIMIT ?4"
    ))?;
    let rows = select.query_map(
        (found.row_id, kind.word(), int(memory.revision), earlier),
        from_row,
    )?;
    Ok(Memories {
        memory,
        earlier: rows
            .map(|row| row.map(|(memory, _)| memory))
            .collect::<Result<_, _>>()?,
    })
}

fn stored(
    sql: &Connection,
    (row_id, kind, revision): Place,
) -> rusqlite::Result<Option<(Memory, Option<u64>)>> {
    let mut select = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM memories WHERE loop = ?1 AND kind = ?2 AND revision = ?3"
    ))?;
    select
        .query_row((row_id, kind.word(), int(revision)), from_row)
        .optional()
}

fn revision_of(found: &LoopRow, kind: Kind) -> u64 {
    match kind {
        Kind::Persistent => found.persistent,
        Kind::Working => found.working,
    }
}

const COLUMNS: &str = "revision, text, by, at, source";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(Memory, Option<u64>)> {
    let memory = Memory {
        revision: number(row, 0)?,
        text: row.get(1)?,
        by: row.get(2)?,
        at: number(row, 3)?,
    };
    Ok((memory, optional_number(row, 4)?))
}
