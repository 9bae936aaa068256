//! The journal in SQL, and values that are either in their row or in a blob.
//!
//! Invariant: entries are numbered from 0 without holes, and the run's row counts them.

use crate::batch::Batch;
use crate::blobs::{Blobs, Hash};
use crate::checksums::damage::{RowName, refusal};
use crate::checksums::{JOURNAL, RUNS};
use crate::error::{StoreError, Trouble};
use crate::value::{int, number};
use rusqlite::{Connection, Row};
use serde_json::Value;
use std::sync::LazyLock;

/// Entries of one journal.
pub(crate) const ENTRIES_MAX: u64 = 100_000;
/// Entries read at once.
const PAGE_ROWS: u64 = 1_024;

/// A JSON value where it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Row(String),
    Blob(Hash),
}

impl Stored {
    /// The value for the column of small values.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Stored::Row(text) => Some(text),
            Stored::Blob(_) => None,
        }
    }

    /// The value for the column of names of blobs.
    pub(crate) fn blob(&self) -> Option<&[u8]> {
        match self {
            Stored::Row(_) => None,
            Stored::Blob(hash) => Some(&hash.0),
        }
    }

    /// Reads the two columns from `first` on.
    pub(crate) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        match row.get(first)? {
            Some(text) => Ok(Stored::Row(text)),
            None => Ok(Stored::Blob(Hash(row.get(first + 1)?))),
        }
    }

    /// The value itself; reads a file if it has to.
    pub(crate) fn load(&self, blobs: &Blobs) -> Result<Value, StoreError> {
        let read = match self {
            Stored::Row(text) => serde_json::from_str(text),
            Stored::Blob(hash) => serde_json::from_slice(&blobs.read(*hash)?),
        };
        read.map_err(|error| StoreError::Internal(format!("a stored value is not JSON: {error}")))
    }
}

pub(crate) fn append(
    batch: &Batch<'_>,
    run: i64,
    first: u64,
    entries: &[Stored],
) -> rusqlite::Result<()> {
    let mut insert = batch.sql.prepare_cached(&INSERT)?;
    for (place, entry) in (first..).zip(entries) {
        insert.execute((run, int(place), entry.text(), entry.blob()))?;
    }
    Ok(())
}

/// Some entries from place `from` on, and where to go on if there are more.
pub(crate) fn page(
    sql: &Connection,
    run: i64,
    from: u64,
) -> Result<(Vec<Stored>, Option<u64>), Trouble> {
    let mut select = sql.prepare_cached(&PAGE)?;
    let mut rows = select.query((run, int(from), int(PAGE_ROWS)))?;
    let mut entries = Vec::new();
    let mut next = from;
    while let Some(row) = rows.next()? {
        let place = number(row, 0)?;
        if place != next {
            return Err(missing(sql, run, next)?);
        }
        if !JOURNAL.is_whole(sql, row, 3, (run, int(place)))? {
            return Err(refusal(JOURNAL.damaged_at(sql, (run, int(place)))?));
        }
        entries.push(Stored::from_row(row, 1)?);
        next += 1;
    }
    let more = entries.len() as u64 == PAGE_ROWS;
    Ok((entries, more.then_some(next)))
}

/// The refusal of a journal that lacks this entry.
pub(crate) fn missing(sql: &Connection, run: i64, place: u64) -> rusqlite::Result<Trouble> {
    let of_run = RUNS.damaged_at(sql, [run])?;
    Ok(refusal(JOURNAL.missing(&RowName {
        session: of_run.session_key,
        number: Some(place),
        id: of_run.id,
    })))
}

static INSERT: LazyLock<String> =
    LazyLock::new(|| JOURNAL.insert(&["run", "place", "entry", "blob"]));
pub(crate) static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT j.place, j.entry, j.blob, {} FROM journal j WHERE j.run = ?1 AND j.place >= ?2
         ORDER BY j.place LIMIT ?3",
        JOURNAL.state("j")
    )
});
