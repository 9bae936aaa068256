//! Memories and their revisions. Going back creates a new revision; going back again goes further.

use super::types::{LoopRow, MemoryKind, MemoryUpdate};
use super::{payload, row};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::value::{int, number, optional_number};
use hob_wire::rooms::loops::{LoopMemory, LoopPersistentResult};
use rusqlite::{Connection, OptionalExtension, Row};

/// Stored revisions of one memory.
const REVISIONS_MAX: u64 = 100;

/// A loop's row, the kind of its memory, and the revision.
type RevisionKey = (i64, MemoryKind, u64);

/// Writes a revision and makes it the current one.
pub(super) fn write_revision(
    batch: &WriteBatch<'_>,
    place: RevisionKey,
    text: &str,
    by: &str,
) -> rusqlite::Result<LoopMemory> {
    write_revision_from(batch, place, (text, None), (by, None))
}

fn write_revision_from(
    batch: &WriteBatch<'_>,
    (row_id, kind, revision): RevisionKey,
    (text, source): (&str, Option<u64>),
    (by, key): (&str, Option<&str>),
) -> rusqlite::Result<LoopMemory> {
    batch
        .sql
        .prepare_cached(
            "INSERT INTO memories (loop, kind, revision, text, by, at, source, key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            row_id,
            kind.name(),
            int(revision),
            text,
            by,
            int(batch.now_ms),
            source.map(int),
            key,
        ))?;
    let point = match kind {
        MemoryKind::Persistent => "UPDATE loops SET persistent = ?2 WHERE row_id = ?1",
        MemoryKind::Working => "UPDATE loops SET working = ?2 WHERE row_id = ?1",
    };
    batch
        .sql
        .prepare_cached(point)?
        .execute((row_id, int(revision)))?;
    // In the same command, so that the number of revisions never exceeds its bound.
    batch
        .sql
        .prepare_cached("DELETE FROM memories WHERE loop = ?1 AND kind = ?2 AND revision <= ?3")?
        .execute((
            row_id,
            kind.name(),
            int(revision.saturating_sub(REVISIONS_MAX)),
        ))?;
    Ok(LoopMemory {
        revision,
        text: text.to_owned(),
        by: by.to_owned(),
        at: batch.now_ms,
    })
}

pub(super) fn update(
    batch: &mut WriteBatch<'_>,
    remember: &MemoryUpdate,
) -> Result<LoopMemory, QueryError> {
    let mut found = row::find_existing(batch.sql, &remember.name)?;
    let revision = revision_of(&found, remember.kind);
    if let Some(key) = &remember.key {
        let select = "SELECT 1 FROM memories WHERE loop = ?1 AND kind = ?2 AND key = ?3";
        let mut select = batch.sql.prepare_cached(select)?;
        if select.exists((found.row_id, remember.kind.name(), key))? {
            // A repeat with this key: the revision exists, and perhaps later ones.
            return Ok(current(batch.sql, &found, remember.kind)?);
        }
    }
    if remember.if_revision.is_some_and(|known| known != revision) {
        return Err(StoreError::Conflict(format!(
            "The {} memory of the loop '{}' is at revision {revision} by now; read it again.",
            remember.kind.name(),
            remember.name
        ))
        .into());
    }
    let next = (found.row_id, remember.kind, revision + 1);
    let by = (remember.by.as_str(), remember.key.as_deref());
    let memory = if let Some(text) = &remember.text {
        write_revision_from(batch, next, (text, None), by)?
    } else {
        let (text, source) = previous_text(batch.sql, &found, remember.kind)?;
        write_revision_from(batch, next, (&text, Some(source)), by)?
    };
    match remember.kind {
        MemoryKind::Persistent => found.persistent = memory.revision,
        MemoryKind::Working => found.working = memory.revision,
    }
    payload::log_config(batch, &found)?;
    Ok(memory)
}

/// Returns the text before the current one, and its revision.
fn previous_text(
    sql: &Connection,
    found: &LoopRow,
    kind: MemoryKind,
) -> Result<(String, u64), QueryError> {
    let revision = revision_of(found, kind);
    let nothing = || {
        StoreError::Conflict(format!(
            "The {} memory of the loop '{}' has no earlier revision.",
            kind.name(),
            found.name
        ))
    };
    // A revision made by going back stands for the one it went back to.
    let source = |revision: u64| -> Result<u64, QueryError> {
        let at = stored(sql, (found.row_id, kind, revision))?;
        Ok(at.and_then(|(_, source)| source).unwrap_or(revision))
    };
    let stands_for = source(revision)?;
    let target = stands_for.checked_sub(1).ok_or_else(nothing)?;
    // The revision before may itself stand for an older one.
    let target = source(target)?;
    match stored(sql, (found.row_id, kind, target))? {
        Some((memory, _)) => Ok((memory.text, target)),
        // Revision 0 is the empty memory before the first text, and has no row.
        None if target == 0 => Ok((String::new(), 0)),
        None => Err(nothing().into()),
    }
}

/// Returns the current memory.
pub(super) fn current(
    sql: &Connection,
    found: &LoopRow,
    kind: MemoryKind,
) -> rusqlite::Result<LoopMemory> {
    let revision = revision_of(found, kind);
    let stored = stored(sql, (found.row_id, kind, revision))?;
    Ok(stored.map_or_else(
        || LoopMemory {
            revision,
            ..LoopMemory::default()
        },
        |(memory, _)| memory,
    ))
}

pub(super) fn read(
    sql: &Connection,
    name: &str,
    kind: MemoryKind,
    earlier: u32,
) -> Result<LoopPersistentResult, QueryError> {
    let found = row::find_existing(sql, name)?;
    let memory = current(sql, &found, kind)?;
    let mut select = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM memories WHERE loop = ?1 AND kind = ?2 AND revision < ?3
         ORDER BY revision DESC LIMIT ?4"
    ))?;
    let rows = select.query_map(
        (found.row_id, kind.name(), int(memory.revision), earlier),
        from_row,
    )?;
    Ok(LoopPersistentResult {
        memory,
        earlier: rows
            .map(|row| row.map(|(memory, _)| memory))
            .collect::<Result<_, _>>()?,
    })
}

fn stored(
    sql: &Connection,
    (row_id, kind, revision): RevisionKey,
) -> rusqlite::Result<Option<(LoopMemory, Option<u64>)>> {
    let mut select = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM memories WHERE loop = ?1 AND kind = ?2 AND revision = ?3"
    ))?;
    select
        .query_row((row_id, kind.name(), int(revision)), from_row)
        .optional()
}

fn revision_of(found: &LoopRow, kind: MemoryKind) -> u64 {
    match kind {
        MemoryKind::Persistent => found.persistent,
        MemoryKind::Working => found.working,
    }
}

const COLUMNS: &str = "revision, text, by, at, source";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(LoopMemory, Option<u64>)> {
    let memory = LoopMemory {
        revision: number(row, 0)?,
        text: row.get(1)?,
        by: row.get(2)?,
        at: number(row, 3)?,
    };
    Ok((memory, optional_number(row, 4)?))
}
