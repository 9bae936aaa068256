//! Keeping changes, and forgetting the oldest runs when there are too many.

use super::words::{Former, NewChange};
use crate::batch::Batch;
use crate::blobs::{Blobs, Hash, INLINE_BYTES_MAX, Pin};
use crate::error::{StoreError, Trouble};
use crate::value::{int, number};
use hob_wire::RunId;
use rusqlite::OptionalExtension;
use std::sync::Arc;

/// How long a run can be undone.
pub(crate) const AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// What is kept of one run.
pub(crate) const RUN_ROWS_MAX: u64 = 10_000;
pub(crate) const RUN_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// What is kept of all runs; more than one run may have, so that the newest is never forgotten.
pub(crate) const ROWS_MAX: u64 = 50_000;
pub(crate) const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Runs forgotten with one change at the most: the next one goes on.
const FORGET_STEP: usize = 8;

/// A change as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Row {
    workspace: String,
    path: String,
    former: &'static str,
    mode: u32,
    becomes: String,
    bytes: u64,
    content: Option<Vec<u8>>,
    blob: Option<Hash>,
}

impl Row {
    /// Puts what must be kept where it belongs: small into the row, large into a pinned blob.
    pub(super) async fn new(
        change: NewChange,
        blobs: &Arc<Blobs>,
        pins: &mut Vec<Pin>,
    ) -> Result<Self, StoreError> {
        let (former, mode, held) = match change.former {
            Former::Nothing => ("nothing", 0, None),
            Former::Folder { mode } => ("folder", mode, None),
            Former::File { bytes, mode } => ("file", mode, Some(bytes)),
            Former::Link { target } => ("link", 0, Some(target)),
            Former::Moved { from } => ("moved", 0, Some(from.into_bytes())),
        };
        let bytes = held.as_ref().map_or(0, Vec::len) as u64;
        let (content, blob) = match held {
            Some(held) if held.len() > INLINE_BYTES_MAX => {
                let pin = blobs.keep(held).await?;
                let hash = pin.hash;
                pins.push(pin);
                (None, Some(hash))
            }
            held => (held, None),
        };
        Ok(Row {
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

pub(super) fn keep(
    batch: &mut Batch<'_>,
    run: RunId,
    call: &str,
    rows: &[Row],
) -> Result<(), Trouble> {
    let id = run.0;
    let size = |sql: &rusqlite::Connection, select: &str, params: &[&dyn rusqlite::ToSql]| {
        let mut select = sql.prepare_cached(select)?;
        select.query_row(params, |row| Ok((number(row, 0)?, number(row, 1)?)))
    };
    let new_rows = rows.len() as u64;
    let new_bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    let (kept, bytes) = size(batch.sql, SIZE_OF_RUN, &[&id.as_bytes().as_slice()])?;
    if kept + new_rows > RUN_ROWS_MAX || bytes + new_bytes > RUN_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "This run has changed too much: {RUN_ROWS_MAX} changes and {RUN_BYTES_MAX} bytes can be kept for undoing it. Start another run."
        ))
        .into());
    }
    for _ in 0..FORGET_STEP {
        let (rows, bytes) = size(batch.sql, SIZE, &[])?;
        let full = rows + new_rows > ROWS_MAX || bytes + new_bytes > BYTES_MAX;
        if !forget_oldest(batch, &id.as_bytes()[..], full)? {
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

/// Forgets the run with the oldest change, if it is too old or there is too much; never `but`.
fn forget_oldest(batch: &mut Batch<'_>, but: &[u8], full: bool) -> Result<bool, Trouble> {
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
        batch.drop_blob(Hash(hash))?;
    }
    Ok(true)
}

const SIZE: &str = "SELECT count(*), ifnull(sum(bytes), 0) FROM changes";
const SIZE_OF_RUN: &str = "SELECT count(*), ifnull(sum(bytes), 0) FROM changes WHERE run = ?1";
const OLDEST: &str = "SELECT run, at FROM changes WHERE run <> ?1 ORDER BY row_id LIMIT 1";
const INSERT: &str = "INSERT INTO changes
     (run, call, at, bytes, workspace, path, former, mode, becomes, content, blob)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
/// What goes with a deleted run, a little at a time.
pub(crate) const OF_DELETED: &str = "DELETE FROM changes WHERE row_id IN
     (SELECT c.row_id FROM changes c WHERE c.run = (SELECT id FROM runs WHERE row_id = ?1) LIMIT ?2)
     RETURNING blob";
