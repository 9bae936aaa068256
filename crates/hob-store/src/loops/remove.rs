//! Deletion of loops, and of old iterations with their sessions. In small steps, so that no command
//! holds the writer for long.

use super::types::LoopMode;
use super::{payload, row};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::sessions::write;
use hob_wire::id::SessionRef;
use hob_wire::rooms::loops::{LoopDeleted, LoopDeletedPayload};

/// Iterations deleted in one step.
const DROP_STEP: u32 = 16;
/// Sessions of sub-agents deleted with one iteration.
const BELOW_MAX: i64 = 64;

pub(super) fn delete(batch: &mut WriteBatch<'_>, name: &str) -> Result<(), QueryError> {
    let found = row::find_existing(batch.sql, name)?;
    if found.mode != LoopMode::Idle {
        return Err(StoreError::Conflict(format!(
            "The loop '{name}' runs, so it cannot be deleted. Stop it first."
        ))
        .into());
    }
    for delete in [
        "DELETE FROM iterations WHERE loop = ?1",
        "DELETE FROM memories WHERE loop = ?1",
        "DELETE FROM loops WHERE row_id = ?1",
    ] {
        batch.sql.prepare_cached(delete)?.execute([found.row_id])?;
    }
    let gone = LoopDeletedPayload {
        name: name.to_owned(),
    };
    Ok(batch.log_topic::<LoopDeleted>(&gone)?)
}

/// Deletes a few of the oldest iterations, while there are more than `keep`; returns whether more
/// remain.
pub(super) fn delete_oldest(
    batch: &mut WriteBatch<'_>,
    name: &str,
    keep: u32,
) -> Result<bool, QueryError> {
    let found = row::find_existing(batch.sql, name)?;
    let past = found.iteration.saturating_sub(keep);
    let mut select = batch.sql.prepare_cached(
        "SELECT number FROM iterations WHERE loop = ?1 AND number <= ?2 AND ended_at IS NOT NULL
         ORDER BY number LIMIT ?3",
    )?;
    // One more than a step shows whether any remain.
    let numbers = select.query_map((found.row_id, past, DROP_STEP + 1), |row| row.get(0))?;
    let numbers: Vec<u32> = numbers.collect::<Result<_, _>>()?;
    drop(select);
    let step = usize::try_from(DROP_STEP).unwrap_or(usize::MAX);
    for number in numbers.iter().take(step) {
        delete_sessions(batch, &payload::session_key(name, *number))?;
        batch
            .sql
            .prepare_cached("DELETE FROM iterations WHERE loop = ?1 AND number = ?2")?
            .execute((found.row_id, number))?;
    }
    Ok(numbers.len() > step)
}

/// Deletes the session of an iteration and those of its sub-agents. A session whose run has not
/// ended stays.
fn delete_sessions(batch: &mut WriteBatch<'_>, key: &str) -> Result<(), QueryError> {
    let mut select = batch.sql.prepare_cached(
        // `;` is the character after `:`, so this range holds every key below the iteration's.
        "SELECT key FROM sessions WHERE key > ?1 || ':' AND key < ?1 || ';' LIMIT ?2",
    )?;
    let below = select.query_map((key, BELOW_MAX), |row| row.get::<_, String>(0))?;
    let below: Vec<String> = below.collect::<Result<_, _>>()?;
    drop(select);
    for key in below.into_iter().chain([key.to_owned()]) {
        match write::delete(batch, &SessionRef::Key(key)) {
            // The session is gone, or its run still works: there is nothing to do in either case.
            Ok(_) | Err(QueryError::Refused(StoreError::NotFound(_) | StoreError::Conflict(_))) => {
            }
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}
