//! Deletion of a deleted session's runs, with their journals, file changes and tool outputs, in
//! small steps. The ledger stays: the money was spent.

use crate::batch::WriteBatch;
use crate::blobs::BlobHash;
use crate::checksums::RUNS;
use crate::error::{QueryError, StoreError};
use crate::{changes, outputs};
use rusqlite::{OptionalExtension, Row};

/// Journal entries deleted in one step.
const JOURNAL_STEP: i64 = 256;

/// Refuses to delete a session whose runs have not ended, or whose cost an ancestor run still
/// counts; returns whether it has runs.
pub(crate) fn check_deletable(
    batch: &WriteBatch<'_>,
    session: i64,
    name: &str,
) -> Result<bool, QueryError> {
    let live = batch.sql.prepare_cached(HAS_LIVE)?.exists([session])?;
    if live {
        return Err(StoreError::Conflict(format!(
            "The session '{name}' has a run that has not ended, so it cannot be deleted. Stop the run first."
        ))
        .into());
    }
    // The parent sums up the cost of these runs until it ends.
    if batch.sql.prepare_cached(IS_COUNTED)?.exists([session])? {
        return Err(StoreError::Conflict(format!(
            "The session '{name}' is the work of a sub-agent whose starter still runs, so it cannot be deleted. Stop that run first."
        ))
        .into());
    }
    Ok(batch.sql.prepare_cached(HAS_RUNS)?.exists([session])?)
}

/// Deletes a part of a deleted session's runs; false when nothing is left.
pub(crate) fn delete_step(batch: &mut WriteBatch<'_>, session: i64) -> Result<bool, QueryError> {
    let run: Option<i64> = batch
        .sql
        .prepare_cached(NEXT)?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let Some(run) = run else {
        return Ok(false);
    };
    let mut released = delete_returning_blobs(batch, ENTRIES, (run, JOURNAL_STEP))?;
    // The list has an entry for every deleted row, with or without a blob, so empty means done.
    if released.is_empty() {
        released = delete_returning_blobs(batch, changes::DELETE_OF_RUN, (run, JOURNAL_STEP))?;
    }
    if released.is_empty() {
        released = delete_returning_blobs(batch, outputs::DELETE_OF_RUN, (run, JOURNAL_STEP))?;
    }
    if released.is_empty() {
        // The run's row goes last: the deletions above find their rows through it.
        let task = delete_returning_blobs(batch, TASK, [run])?;
        let delete = "DELETE FROM steered_words WHERE run = ?1";
        batch.sql.prepare_cached(delete)?.execute([run])?;
        RUNS.retry_after_reindex(batch.sql, || {
            let delete = "DELETE FROM runs WHERE row_id = ?1";
            batch.sql.prepare_cached(delete)?.execute([run])
        })?;
        release_blobs(batch, task)?;
    } else {
        release_blobs(batch, released)?;
    }
    Ok(true)
}

/// Deletes rows, and returns the blobs that they referenced.
fn delete_returning_blobs(
    batch: &WriteBatch<'_>,
    delete: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Option<BlobHash>>> {
    // A damaged hash names no file.
    let named = |row: &Row<'_>| {
        Ok(row
            .get::<_, Option<[u8; 32]>>(0)
            .ok()
            .flatten()
            .map(BlobHash))
    };
    let mut delete = batch.sql.prepare_cached(delete)?;
    delete.query_map(params, named)?.collect()
}

fn release_blobs(batch: &mut WriteBatch<'_>, named: Vec<Option<BlobHash>>) -> rusqlite::Result<()> {
    named
        .into_iter()
        .flatten()
        .try_for_each(|hash| batch.release_blob(hash))
}

pub(crate) const HAS_LIVE: &str =
    "SELECT 1 FROM runs INDEXED BY runs_live WHERE session = ?1 AND state <> 'done'";
pub(crate) const IS_COUNTED: &str = "SELECT 1 FROM runs AS child
    JOIN runs AS parent ON parent.id = child.parent
    WHERE child.session = ?1 AND parent.state <> 'done'";
pub(crate) const HAS_RUNS: &str = "SELECT 1 FROM runs WHERE session = ?1";
pub(crate) const NEXT: &str = "SELECT row_id FROM runs WHERE session = ?1 LIMIT 1";
pub(crate) const ENTRIES: &str = "DELETE FROM journal WHERE run = ?1
    AND place < (SELECT min(place) FROM journal WHERE run = ?1) + ?2 RETURNING blob";
const TASK: &str = "DELETE FROM run_tasks WHERE run = ?1 RETURNING params_blob";
