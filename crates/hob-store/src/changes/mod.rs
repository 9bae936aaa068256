//! What runs changed in files, kept so that it can be undone.
//!
//! - `words`: a change as callers say it and are told it
//! - `keep`: keeping changes, within bounds, in one transaction
//! - `read`: what is kept of a run
//!
//! Invariants: a change is on disk before it is made; what is kept is bounded, and whole runs are
//! forgotten, the oldest first, never a part of one.

mod keep;
mod read;
mod words;

pub(crate) use keep::OF_DELETED;
pub use words::{Change, Former, NewChange};

use crate::blobs::Pin;
use crate::error::StoreError;
use crate::store::Store;
use hob_wire::RunId;
use std::sync::Arc;

/// Changes of one call.
const CALL_CHANGES_MAX: usize = 4_096;

impl Store {
    /// Keeps what a call of a run is about to change; the answer means that it is on disk.
    pub async fn keep_changes(
        &self,
        run: &RunId,
        call: &str,
        changes: Vec<NewChange>,
    ) -> Result<(), StoreError> {
        if let Some(refusal) = self.shared().health.refusal() {
            return Err(refusal);
        }
        if changes.len() > CALL_CHANGES_MAX {
            return Err(StoreError::Invalid(format!(
                "One call may change {CALL_CHANGES_MAX} files and folders at the most."
            )));
        }
        let mut pins: Vec<Pin> = Vec::new();
        let mut rows = Vec::with_capacity(changes.len());
        for change in changes {
            rows.push(keep::Row::new(change, &self.shared().blobs, &mut pins).await?);
        }
        let hashes = pins.iter().map(|pin| pin.hash).collect();
        let bytes = rows.iter().map(keep::Row::inline_bytes).sum();
        let (run, call) = (*run, call.to_owned());
        let kept = self
            .write(bytes, move |batch| {
                // The queued command holds the pins: it is done even if its caller goes away, and
                // until its rows are there nothing else keeps the blobs.
                let _held = &pins;
                keep::keep(batch, run, &call, &rows)
            })
            .await;
        self.sweep_unless(kept.is_ok(), hashes);
        kept
    }

    /// What is kept of a run, the newest first, without what files held.
    pub async fn changes(&self, run: &RunId) -> Result<Vec<Change>, StoreError> {
        let run = *run;
        self.read(move |sql| Ok(read::of_run(sql, run)?)).await
    }

    /// What was there before a change.
    pub async fn former(&self, change: &Change) -> Result<Former, StoreError> {
        let id = change.id;
        let stored = self.read(move |sql| read::stored(sql, id)).await?;
        let blobs = Arc::clone(&self.shared().blobs);
        let loaded = tokio::task::spawn_blocking(move || stored.load(&blobs));
        let failed = |error| Err(StoreError::Internal(format!("a read failed: {error}")));
        loaded.await.unwrap_or_else(failed)
    }

    /// Remembers that these changes are undone.
    pub async fn changes_undone(&self, ids: Vec<i64>) -> Result<(), StoreError> {
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
