//! The journal in SQL, and JSON values that are stored in a row or in a blob.
//!
//! Invariant: entries are numbered from 0 without holes, and the run's row counts them.

use crate::batch::WriteBatch;
use crate::blobs::{BlobHash, BlobStore};
use crate::checksums::damage::{RowName, damaged_row_error};
use crate::checksums::{JOURNAL, RUNS};
use crate::error::{QueryError, StoreError};
use crate::value::{int, number};
use rusqlite::{Connection, Row};
use serde_json::Value;
use std::sync::LazyLock;

/// Entries of one journal.
pub(crate) const ENTRIES_MAX: u64 = 100_000;
/// Entries read at once.
const PAGE_ROWS: u64 = 1_024;

/// A stored JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoredValue {
    Row(String),
    Blob(BlobHash),
}

impl StoredValue {
    /// The text column: the value, if it is small.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            StoredValue::Row(text) => Some(text),
            StoredValue::Blob(_) => None,
        }
    }

    /// The blob column: the hash, if the value is large.
    pub(crate) fn blob(&self) -> Option<&[u8]> {
        match self {
            StoredValue::Row(_) => None,
            StoredValue::Blob(hash) => Some(&hash.0),
        }
    }

    /// Reads the two columns from `first` on.
    pub(crate) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        match row.get(first)? {
            Some(text) => Ok(StoredValue::Row(text)),
            None => Ok(StoredValue::Blob(BlobHash(row.get(first + 1)?))),
        }
    }

    /// Returns the value; reads a file if it must.
    pub(crate) fn load(&self, blobs: &BlobStore) -> Result<Value, StoreError> {
        let read = match self {
            StoredValue::Row(text) => serde_json::from_str(text),
            StoredValue::Blob(hash) => serde_json::from_slice(&blobs.read(*hash)?),
        };
        read.map_err(|error| StoreError::Internal(format!("a stored value is not JSON: {error}")))
    }
}

pub(crate) fn append(
    batch: &WriteBatch<'_>,
    run: i64,
    first: u64,
    entries: &[StoredValue],
) -> rusqlite::Result<()> {
    let mut insert = batch.sql.prepare_cached(&INSERT)?;
    for (place, entry) in (first..).zip(entries) {
        insert.execute((run, int(place), entry.text(), entry.blob()))?;
    }
    Ok(())
}

/// Returns entries from `from` on, and the next place if there are more.
pub(crate) fn page(
    sql: &Connection,
    run: i64,
    from: u64,
) -> Result<(Vec<StoredValue>, Option<u64>), QueryError> {
    let mut select = sql.prepare_cached(&PAGE)?;
    let mut rows = select.query((run, int(from), int(PAGE_ROWS)))?;
    let mut entries = Vec::new();
    let mut next = from;
    while let Some(row) = rows.next()? {
        let place = number(row, 0)?;
        // A replay without the missing entry would take another course.
        if place != next {
            return Err(missing(sql, run, next)?);
        }
        if !JOURNAL.is_whole(sql, row, 3, (run, int(place)))? {
            return Err(damaged_row_error(
                JOURNAL.damaged_at(sql, (run, int(place)))?,
            ));
        }
        entries.push(StoredValue::from_row(row, 1)?);
        next += 1;
    }
    // A full page may be the last one; the next read is then empty.
    let more = entries.len() as u64 == PAGE_ROWS;
    Ok((entries, more.then_some(next)))
}

/// The error for a journal that lacks this entry.
pub(crate) fn missing(sql: &Connection, run: i64, place: u64) -> rusqlite::Result<QueryError> {
    // Only for the run's name: its own row may be whole.
    let of_run = RUNS.damaged_at(sql, [run])?;
    Ok(damaged_row_error(JOURNAL.missing(&RowName {
        session: of_run.session_key,
        number: Some(place),
        id: of_run.id,
    })))
}

static INSERT: LazyLock<String> =
    LazyLock::new(|| JOURNAL.insert_sql(&["run", "place", "entry", "blob"]));
pub(crate) static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT j.place, j.entry, j.blob, {} FROM journal j WHERE j.run = ?1 AND j.place >= ?2
         ORDER BY j.place LIMIT ?3",
        JOURNAL.checksum_state_sql("j")
    )
});
