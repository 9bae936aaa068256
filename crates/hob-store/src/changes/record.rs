//! Recording of changes, and deletion of the oldest runs when there are too many.

use super::types::{NewFileChange, PreviousEntry};
use crate::batch::WriteBatch;
use crate::blobs::{BlobHash, BlobPin, BlobStore, INLINE_BYTES_MAX};
use crate::error::{QueryError, StoreError};
use crate::value::{int, number};
use hob_wire::RunId;
use rusqlite::OptionalExtension;
use std::sync::Arc;

/// The time for which a run can be undone.
pub(crate) const AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Recorded changes of one run.
pub(crate) const RUN_ROWS_MAX: u64 = 10_000;
pub(crate) const RUN_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Recorded changes of all runs. More than one run may have, so that the newest is never deleted.
pub(crate) const ROWS_MAX: u64 = 50_000;
pub(crate) const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Runs deleted with one call at most; the next call continues.
const RUNS_DELETED_MAX: usize = 8;

/// A change as it is stored.
#[derive(Clone, Debug)]
pub(super) struct ChangeRow {
    workspace: String,
    path: String,
    former: &'static str,
    mode: u32,
    becomes: String,
    bytes: u64,
    content: Option<Vec<u8>>,
    blob: Option<BlobHash>,
}

impl ChangeRow {
    /// Stores the previous content: small in the row, large in a pinned blob.
    pub(super) async fn new(
        change: NewFileChange,
        blobs: &Arc<BlobStore>,
        pins: &mut Vec<BlobPin>,
    ) -> Result<Self, StoreError> {
        let (former, mode, held) = match change.former {
            PreviousEntry::Nothing => ("nothing", 0, None),
            PreviousEntry::Folder { mode } => ("folder", mode, None),
            PreviousEntry::File { bytes, mode } => ("file", mode, Some(bytes)),
            PreviousEntry::Link { target } => ("link", 0, Some(target)),
            PreviousEntry::Moved { from } => ("moved", 0, Some(from.into_bytes())),
        };
        let bytes = held.as_ref().map_or(0, Vec::len) as u64;
        let (content, blob) = match held {
            Some(held) if held.len() > INLINE_BYTES_MAX => {
                let pin = blobs.put(held).await?;
                let hash = pin.hash;
                pins.push(pin);
                (None, Some(hash))
            }
            held => (held, None),
        };
        Ok(ChangeRow {
            workspace: change.workspace,
            path: change.path,
            former,
            mode,
            becomes: change.becomes,
            bytes,
            content,
            blob,
        })
    }

    pub(super) fn inline_bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Vec::len)
    }
}

pub(super) fn record(
    batch: &mut WriteBatch<'_>,
    run: RunId,
    call: &str,
    rows: &[ChangeRow],
) -> Result<(), QueryError> {
    let id = run.0;
    let size = |sql: &rusqlite::Connection, select: &str, params: &[&dyn rusqlite::ToSql]| {
        let mut select = sql.prepare_cached(select)?;
        select.query_row(params, |row| Ok((number(row, 0)?, number(row, 1)?)))
    };
    let new_rows = rows.len() as u64;
    let new_bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    // Refused before anything is written: the call is not made without its record.
    let (kept, bytes) = size(batch.sql, SIZE_OF_RUN, &[&id.as_bytes().as_slice()])?;
    if kept + new_rows > RUN_ROWS_MAX || bytes + new_bytes > RUN_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "This run has changed too much: {RUN_ROWS_MAX} changes and {RUN_BYTES_MAX} bytes can be kept for undoing it. Start another run."
        ))
        .into());
    }
    // Bounded: one call must not hold the writer's thread for long.
    for _ in 0..RUNS_DELETED_MAX {
        let (rows, bytes) = size(batch.sql, SIZE, &[])?;
        let full = rows + new_rows > ROWS_MAX || bytes + new_bytes > BYTES_MAX;
        if !delete_oldest_run(batch, &id.as_bytes()[..], full)? {
            break;
        }
    }
    let mut insert = batch.sql.prepare_cached(INSERT)?;
    for row in rows {
        insert.execute(rusqlite::params![
            id.as_bytes().as_slice(),
            call,
            int(batch.now_ms),
            int(row.bytes),
            row.workspace,
            row.path,
            row.former,
            row.mode,
            row.becomes,
            row.content,
            row.blob.map(|hash| hash.0.to_vec()),
        ])?;
    }
    Ok(())
}

/// Deletes the run with the oldest change, if it is too old or space is needed; never the run
/// `but`.
fn delete_oldest_run(
    batch: &mut WriteBatch<'_>,
    but: &[u8],
    full: bool,
) -> Result<bool, QueryError> {
    let oldest: Option<(Vec<u8>, u64)> = batch
        .sql
        .prepare_cached(OLDEST)?
        .query_row([but], |row| Ok((row.get(0)?, number(row, 1)?)))
        .optional()?;
    let Some((run, at)) = oldest else {
        return Ok(false);
    };
    if !full && batch.now_ms.saturating_sub(at) <= AGE_MS_MAX {
        return Ok(false);
    }
    let mut delete = batch
        .sql
        .prepare_cached("DELETE FROM changes WHERE run = ?1 RETURNING blob")?;
    let named: Vec<Option<[u8; 32]>> = delete
        .query_map([&run], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    drop(delete);
    for hash in named.into_iter().flatten() {
        // Another run may reference the same content. Only an unreferenced blob goes.
        batch.release_blob(BlobHash(hash))?;
    }
    Ok(true)
}

const SIZE: &str = "SELECT count(*), ifnull(sum(bytes), 0) FROM changes";
const SIZE_OF_RUN: &str = "SELECT count(*), ifnull(sum(bytes), 0) FROM changes WHERE run = ?1";
const OLDEST: &str = "SELECT run, at FROM changes WHERE run <> ?1 ORDER BY row_id LIMIT 1";
const INSERT: &str = "INSERT INTO changes
     (run, call, at, bytes, workspace, path, former, mode, becomes, content, blob)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
/// Deletes some changes of a deleted run.
pub(crate) const DELETE_OF_RUN: &str = "DELETE FROM changes WHERE row_id IN
     (SELECT c.row_id FROM changes c WHERE c.run = (SELECT id FROM runs WHERE row_id = ?1) LIMIT ?2)
     RETURNING blob";
