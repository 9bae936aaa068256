//! What tools said that was too long to be told, kept whole for a while.
//!
//! Invariants: an output is on disk before its id is told; only calls of its own session read it;
//! all outputs together are bounded, and the oldest go first.

use crate::batch::Batch;
use crate::blobs::{Draft, Hash, Pin};
use crate::error::{StoreError, Trouble};
use crate::store::Store;
use crate::value::{int, number};
use hob_wire::RunId;
use rusqlite::OptionalExtension;
use std::fs::File;
use std::path::Path;

/// How long an output is kept.
const AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Outputs kept.
const ROWS_MAX: u64 = 10_000;
/// Outputs forgotten with one new one at the most: the next one goes on.
const FORGET_STEP: usize = 64;

/// An output to keep.
#[derive(Clone, Debug)]
pub struct NewOutput {
    pub session: Option<String>,
    pub run: Option<RunId>,
    pub tool: String,
    /// Whether there was more.
    pub is_cut: bool,
    /// What all outputs may have together, this one included.
    pub total_bytes_max: u64,
}

/// A kept output.
#[derive(Debug)]
pub struct Output {
    pub tool: String,
    pub bytes: u64,
    pub is_cut: bool,
    pub file: File,
}

/// A file that becomes an output, or goes when this is dropped.
#[derive(Debug)]
pub struct OutputDraft(Draft);

impl OutputDraft {
    /// Where it is to be written.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Store {
    /// A place for an output that is still growing.
    pub fn output_draft(&self) -> OutputDraft {
        let blobs = &self.shared().blobs;
        // Without the folder whoever writes the file hears of it.
        let _ = blobs.make_folder();
        OutputDraft(blobs.draft())
    }

    /// Keeps what was written to a draft; answers its id.
    pub async fn keep_draft(&self, new: NewOutput, draft: OutputDraft) -> Result<i64, StoreError> {
        if let Some(refusal) = self.shared().health.refusal() {
            return Err(refusal);
        }
        let (pin, bytes) = self.shared().blobs.adopt(draft.0).await?;
        self.name(new, pin, bytes).await
    }

    /// Keeps a text; answers its id.
    pub async fn keep_output(&self, new: NewOutput, text: Vec<u8>) -> Result<i64, StoreError> {
        if let Some(refusal) = self.shared().health.refusal() {
            return Err(refusal);
        }
        let bytes = text.len() as u64;
        let pin = self.shared().blobs.keep(text).await?;
        self.name(new, pin, bytes).await
    }

    async fn name(&self, new: NewOutput, pin: Pin, bytes: u64) -> Result<i64, StoreError> {
        let hash = pin.hash;
        let kept = self
            // The queued command holds the pin: it is done even if its caller goes away, and
            // until its row is there nothing else keeps the blob.
            .write(0, move |batch| {
                // Named as a whole: a closure takes only the fields that it names.
                let pin = &pin;
                keep(batch, &new, pin.hash, bytes)
            })
            .await;
        self.sweep_unless(kept.is_ok(), vec![hash]);
        kept
    }

    /// An output, for a call of this session.
    pub async fn output(&self, id: i64, session: Option<&str>) -> Result<Output, StoreError> {
        let session = session.map(str::to_owned);
        let found = self.read(move |sql| {
            let mut select = sql.prepare_cached(FIND)?;
            let row = select.query_row((id, session), |row| {
                let hash: [u8; 32] = row.get(3)?;
                Ok((row.get(0)?, number(row, 1)?, row.get(2)?, Hash(hash)))
            });
            Ok(row.optional()?)
        });
        let gone = || {
            StoreError::NotFound(
                "There is no such output in this session, or it is not kept any more.".to_owned(),
            )
        };
        let (tool, bytes, is_cut, hash) = found.await?.ok_or_else(gone)?;
        let blobs = std::sync::Arc::clone(&self.shared().blobs);
        let opened = tokio::task::spawn_blocking(move || blobs.open(hash)).await;
        let failed = |error| Err(StoreError::Internal(format!("a read failed: {error}")));
        Ok(Output {
            tool,
            bytes,
            is_cut,
            file: opened.unwrap_or_else(failed)?,
        })
    }
}

fn keep(batch: &mut Batch<'_>, new: &NewOutput, hash: Hash, bytes: u64) -> Result<i64, Trouble> {
    for _ in 0..FORGET_STEP {
        if !forget_oldest(batch, bytes, new.total_bytes_max)? {
            break;
        }
    }
    let run = new.run.map(|run| run.0.as_bytes().to_vec());
    let mut insert = batch.sql.prepare_cached(INSERT)?;
    Ok(insert.insert(rusqlite::params![
        new.session,
        run,
        new.tool,
        int(batch.now_ms),
        int(bytes),
        new.is_cut,
        &hash.0[..],
    ])?)
}

/// Forgets the oldest output, if it is too old or there is too much.
fn forget_oldest(batch: &mut Batch<'_>, new: u64, bytes_max: u64) -> Result<bool, Trouble> {
    let size = |row: &rusqlite::Row<'_>| Ok((number(row, 0)?, number(row, 1)?));
    let (rows, bytes) = batch.sql.prepare_cached(SIZE)?.query_row([], size)?;
    let oldest: Option<(i64, u64)> = batch
        .sql
        .prepare_cached("SELECT row_id, at FROM outputs ORDER BY row_id LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, number(row, 1)?)))
        .optional()?;
    let Some((id, at)) = oldest else {
        return Ok(false);
    };
    let is_full = rows >= ROWS_MAX || bytes + new > bytes_max;
    if !is_full && batch.now_ms.saturating_sub(at) <= AGE_MS_MAX {
        return Ok(false);
    }
    let hash: [u8; 32] = batch
        .sql
        .prepare_cached("DELETE FROM outputs WHERE row_id = ?1 RETURNING blob")?
        .query_row([id], |row| row.get(0))?;
    batch.drop_blob(Hash(hash))?;
    Ok(true)
}

const SIZE: &str = "SELECT count(*), ifnull(sum(bytes), 0) FROM outputs";
const FIND: &str =
    "SELECT tool, bytes, is_cut, blob FROM outputs WHERE row_id = ?1 AND session IS ?2";
const INSERT: &str = "INSERT INTO outputs (session, run, tool, at, bytes, is_cut, blob)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// What goes with a deleted run, a little at a time.
pub(crate) const OF_DELETED: &str = "DELETE FROM outputs WHERE row_id IN
     (SELECT o.row_id FROM outputs o WHERE o.run = (SELECT id FROM runs WHERE row_id = ?1) LIMIT ?2)
     RETURNING blob";

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
