//! File changes of runs, recorded so that they can be undone.
//!
//! - `types`: the types of changes
//! - `record`: recording changes, within bounds, in one transaction
//! - `read`: reading the changes of a run
//!
//! Invariants: a change is recorded on disk before it is made; the record is bounded, and whole
//! runs are deleted from it, the oldest first, never a part of one.

mod read;
mod record;
mod types;

pub(crate) use record::DELETE_OF_RUN;
pub use types::{FileChange, NewFileChange, PreviousEntry};

use crate::blobs::BlobPin;
use crate::error::StoreError;
use crate::store::Store;
use hob_wire::RunId;
use std::sync::Arc;

/// Changes of one call.
const CALL_CHANGES_MAX: usize = 4_096;

impl Store {
    /// Records the changes that a call of a run is about to make. The answer means that they are on
    /// disk.
    pub async fn record_changes(
        &self,
        run: &RunId,
        call: &str,
        changes: Vec<NewFileChange>,
    ) -> Result<(), StoreError> {
        // Before blobs are written, which a refused command would leave behind.
        if let Some(refusal) = self.shared().health.refusal() {
            return Err(refusal);
        }
        if changes.len() > CALL_CHANGES_MAX {
            return Err(StoreError::Invalid(format!(
                "One call may change at most {CALL_CHANGES_MAX} files and folders."
            )));
        }
        let mut pins: Vec<BlobPin> = Vec::new();
        let mut rows = Vec::with_capacity(changes.len());
        for change in changes {
            rows.push(record::ChangeRow::new(change, &self.shared().blobs, &mut pins).await?);
        }
        let hashes = pins.iter().map(|pin| pin.hash).collect();
        let bytes = rows.iter().map(record::ChangeRow::inline_bytes).sum();
        let (run, call) = (*run, call.to_owned());
        let kept = self
            .write(bytes, move |batch| {
                // The queued command holds the pins: it runs even if its caller is dropped, and
                // until its rows are committed nothing else protects the blobs.
                let _held = &pins;
                record::record(batch, run, &call, &rows)
            })
            .await;
        self.sweep_unless(kept.is_ok(), hashes);
        kept
    }

    /// Returns the recorded changes of a run, the newest first, without file contents.
    pub async fn changes(&self, run: &RunId) -> Result<Vec<FileChange>, StoreError> {
        let run = *run;
        self.read(move |sql| Ok(read::of_run(sql, run)?)).await
    }

    /// Returns the file, link or folder that was there before a change.
    pub async fn previous_entry(&self, change: &FileChange) -> Result<PreviousEntry, StoreError> {
        let id = change.id;
        let stored = self.read(move |sql| read::stored(sql, id)).await?;
        let blobs = Arc::clone(&self.shared().blobs);
        let loaded = tokio::task::spawn_blocking(move || stored.load(&blobs));
        let failed = |error| Err(StoreError::Internal(format!("a read failed: {error}")));
        loaded.await.unwrap_or_else(failed)
    }

    /// Records that these changes are undone.
    pub async fn mark_changes_undone(&self, ids: Vec<i64>) -> Result<(), StoreError> {
        self.write(0, move |batch| {
            let mut update = batch
                .sql
                .prepare_cached("UPDATE changes SET undone_at = ?2 WHERE row_id = ?1")?;
            for id in &ids {
                update.execute((id, crate::value::int(batch.now_ms)))?;
            }
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
