//! What goes with a deleted session: its runs, their journals, what they changed in files and what
//! their tools said at length, in small steps. The ledger stays: money was spent.

use crate::batch::Batch;
use crate::blobs::Hash;
use crate::checksums::RUNS;
use crate::error::{StoreError, Trouble};
use crate::{changes, outputs};
use rusqlite::{OptionalExtension, Row};

/// Journal entries removed in one step.
const JOURNAL_STEP: i64 = 256;

/// Refuses to delete a session whose runs have not ended, or whose cost a run above still counts;
/// says whether it has runs.
pub(crate) fn check(batch: &Batch<'_>, session: i64, name: &str) -> Result<bool, Trouble> {
    let live = batch.sql.prepare_cached(HAS_LIVE)?.exists([session])?;
    if live {
        return Err(StoreError::Conflict(format!(
            "The session '{name}' has a run that has not ended, so it cannot be deleted. Stop the run first."
        ))
        .into());
    }
    if batch.sql.prepare_cached(IS_COUNTED)?.exists([session])? {
        return Err(StoreError::Conflict(format!(
            "The session '{name}' is the work of a sub-agent whose starter still runs, so it cannot be deleted. Stop that run first."
        ))
        .into());
    }
    Ok(batch.sql.prepare_cached(HAS_RUNS)?.exists([session])?)
}

/// Removes a little of a deleted session's runs; false when nothing is left.
pub(crate) fn step(batch: &mut Batch<'_>, session: i64) -> Result<bool, Trouble> {
    let run: Option<i64> = batch
        .sql
        .prepare_cached(NEXT)?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let Some(run) = run else {
        return Ok(false);
    };
    let mut gone = take(batch, ENTRIES, (run, JOURNAL_STEP))?;
    if gone.is_empty() {
        gone = take(batch, changes::OF_DELETED, (run, JOURNAL_STEP))?;
    }
    if gone.is_empty() {
        gone = take(batch, outputs::OF_DELETED, (run, JOURNAL_STEP))?;
    }
    if gone.is_empty() {
        let task = take(batch, TASK, [run])?;
        let delete = "DELETE FROM steered_words WHERE run = ?1";
        batch.sql.prepare_cached(delete)?.execute([run])?;
        RUNS.despite_damage(batch.sql, || {
            let delete = "DELETE FROM runs WHERE row_id = ?1";
            batch.sql.prepare_cached(delete)?.execute([run])
        })?;
        drop_blobs(batch, task)?;
    } else {
        drop_blobs(batch, gone)?;
    }
    Ok(true)
}

/// Deletes, and answers the blobs that the rows named.
fn take(
    batch: &Batch<'_>,
    delete: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Option<Hash>>> {
    // A damaged name is the name of no file.
    let named = |row: &Row<'_>| Ok(row.get::<_, Option<[u8; 32]>>(0).ok().flatten().map(Hash));
    let mut delete = batch.sql.prepare_cached(delete)?;
    delete.query_map(params, named)?.collect()
}

fn drop_blobs(batch: &mut Batch<'_>, named: Vec<Option<Hash>>) -> rusqlite::Result<()> {
    named
        .into_iter()
        .flatten()
        .try_for_each(|hash| batch.drop_blob(hash))
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
