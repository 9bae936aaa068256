//! Long tool outputs, stored whole for a while.
//!
//! Invariants: an output is on disk before its id is given out; only calls of its own session read
//! it; all outputs together are bounded, and the oldest are deleted first.

use crate::batch::WriteBatch;
use crate::blobs::{BlobDraft, BlobHash, BlobPin};
use crate::error::{QueryError, StoreError};
use crate::store::Store;
use crate::value::{int, number};
use hob_wire::RunId;
use rusqlite::OptionalExtension;
use std::fs::File;
use std::path::Path;

/// The time for which an output is stored.
const AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Stored outputs.
const ROWS_MAX: u64 = 10_000;
/// Outputs deleted with one new one at most; the next one continues.
const DELETED_MAX: usize = 64;

/// An output to store.
#[derive(Clone, Debug)]
pub struct NewToolOutput {
    pub session: Option<String>,
    pub run: Option<RunId>,
    pub tool: String,
    /// True if there was more.
    pub is_cut: bool,
    /// The bytes of all outputs together, this one included.
    pub total_bytes_max: u64,
}

/// A stored output.
#[derive(Debug)]
pub struct StoredToolOutput {
    pub tool: String,
    pub bytes: u64,
    pub is_cut: bool,
    pub file: File,
}

/// A file that becomes an output, or is deleted when this is dropped.
#[derive(Debug)]
pub struct OutputDraft(BlobDraft);

impl OutputDraft {
    /// The path to write to.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Store {
    /// Returns a file for an output that is still growing.
    pub fn output_draft(&self) -> OutputDraft {
        let blobs = &self.shared().blobs;
        // Without the folder, the caller's write fails and reports it.
        let _ = blobs.create_folder();
        OutputDraft(blobs.new_draft())
    }

    /// Stores a finished draft; returns its id.
    pub async fn store_output_draft(
        &self,
        new: NewToolOutput,
        draft: OutputDraft,
    ) -> Result<i64, StoreError> {
        if let Some(refusal) = self.shared().health.refusal() {
            return Err(refusal);
        }
        let (pin, bytes) = self.shared().blobs.adopt_draft(draft.0).await?;
        self.insert_output(new, pin, bytes).await
    }

    /// Stores a text; returns its id.
    pub async fn store_output(&self, new: NewToolOutput, text: Vec<u8>) -> Result<i64, StoreError> {
        if let Some(refusal) = self.shared().health.refusal() {
            return Err(refusal);
        }
        let bytes = text.len() as u64;
        // Synced before the row: an id that was given out always has its file.
        let pin = self.shared().blobs.put(text).await?;
        self.insert_output(new, pin, bytes).await
    }

    async fn insert_output(
        &self,
        new: NewToolOutput,
        pin: BlobPin,
        bytes: u64,
    ) -> Result<i64, StoreError> {
        let hash = pin.hash;
        let kept = self
            // The queued command holds the pin: it runs even if its caller is dropped, and until
            // its row is committed nothing else protects the blob.
            .write(0, move |batch| {
                // A closure captures only the fields it uses, so the pin is named as a whole.
                let pin = &pin;
                insert(batch, &new, pin.hash, bytes)
            })
            .await;
        // A refused row leaves a file that nothing references.
        self.sweep_unless(kept.is_ok(), vec![hash]);
        kept
    }

    /// Opens an output, for a call of this session.
    pub async fn output(
        &self,
        id: i64,
        session: Option<&str>,
    ) -> Result<StoredToolOutput, StoreError> {
        let session = session.map(str::to_owned);
        let found = self.read(move |sql| {
            let mut select = sql.prepare_cached(FIND)?;
            let row = select.query_row((id, session), |row| {
                let hash: [u8; 32] = row.get(3)?;
                Ok((row.get(0)?, number(row, 1)?, row.get(2)?, BlobHash(hash)))
            });
            Ok(row.optional()?)
        });
        let gone = || {
            StoreError::NotFound(
                "There is no such output in this session, or it was deleted.".to_owned(),
            )
        };
        let (tool, bytes, is_cut, hash) = found.await?.ok_or_else(gone)?;
        let blobs = std::sync::Arc::clone(&self.shared().blobs);
        let opened = tokio::task::spawn_blocking(move || blobs.open(hash)).await;
        let failed = |error| Err(StoreError::Internal(format!("a read failed: {error}")));
        Ok(StoredToolOutput {
            tool,
            bytes,
            is_cut,
            file: opened.unwrap_or_else(failed)?,
        })
    }
}

fn insert(
    batch: &mut WriteBatch<'_>,
    new: &NewToolOutput,
    hash: BlobHash,
    bytes: u64,
) -> Result<i64, QueryError> {
    for _ in 0..DELETED_MAX {
        if !delete_oldest(batch, bytes, new.total_bytes_max)? {
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

/// Deletes the oldest output, if it is too old or space is needed.
fn delete_oldest(batch: &mut WriteBatch<'_>, new: u64, bytes_max: u64) -> Result<bool, QueryError> {
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
    batch.release_blob(BlobHash(hash))?;
    Ok(true)
}

const SIZE: &str = "SELECT count(*), ifnull(sum(bytes), 0) FROM outputs";
// `IS`, not `=`: an output without a session is read by calls without one.
const FIND: &str =
    "SELECT tool, bytes, is_cut, blob FROM outputs WHERE row_id = ?1 AND session IS ?2";
const INSERT: &str = "INSERT INTO outputs (session, run, tool, at, bytes, is_cut, blob)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// Deletes some outputs of a deleted run.
pub(crate) const DELETE_OF_RUN: &str = "DELETE FROM outputs WHERE row_id IN
     (SELECT o.row_id FROM outputs o WHERE o.run = (SELECT id FROM runs WHERE row_id = ?1) LIMIT ?2)
     RETURNING blob";

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
