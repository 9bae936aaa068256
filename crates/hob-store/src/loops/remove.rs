//! Deleting loops, and iterations that are too old, with their sessions. In small steps: no command
//! holds the writer for long.

use super::words::Mode;
use super::{payload, row};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use crate::sessions::write;
use hob_wire::id::SessionRef;
use hob_wire::rooms::loops::{LoopDeleted, LoopDeletedPayload};

/// Iterations dropped in one step.
const DROP_STEP: u32 = 16;
/// Sessions of sub-agents dropped with one iteration.
const BELOW_MAX: i64 = 64;

pub(super) fn delete(batch: &mut Batch<'_>, name: &str) -> Result<(), Trouble> {
    let found = row::expect(batch.sql, name)?;
    if found.mode != Mode::Idle {
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
    Ok(batch.tell::<LoopDeleted>(&gone)?)
}

/// Drops a few of the oldest, as long as more than `keep` are there; whether more are to go.
pub(super) fn oldest(batch: &mut Batch<'_>, name: &str, keep: u32) -> Result<bool, Trouble> {
    let found = row::expect(batch.sql, name)?;
    let past = found.iteration.saturating_sub(keep);
    let mut select = batch.sql.prepare_cached(
        "SELECT number FROM iterations WHERE loop = ?1 AND number <= ?2 AND ended_at IS NOT NULL
         ORDER BY number LIMIT ?3",
    )?;
    let numbers = select.query_map((found.row_id, past, DROP_STEP + 1), |row| row.get(0))?;
    let numbers: Vec<u32> = numbers.collect::<Result<_, _>>()?;
    drop(select);
    let step = usize::try_from(DROP_STEP).unwrap_or(usize::MAX);
    for number in numbers.iter().take(step) {
        drop_sessions(batch, &payload::session_key(name, *number))?;
        batch
            .sql
            .prepare_cached("DELETE FROM iterations WHERE loop = ?1 AND number = ?2")?
            .execute((found.row_id, number))?;
    }
    Ok(numbers.len() > step)
}

/// Drops the session of an iteration and those of its sub-agents. One whose run has not ended
/// stays.
fn drop_sessions(batch: &mut Batch<'_>, key: &str) -> Result<(), Trouble> {
    let mut select = batch.sql.prepare_cached(
        "SELECT key FROM sessions WHERE key > ?1 || ':' AND key < ?1 || ';' LIMIT ?2",
    )?;
    let below = select.query_map((key, BELOW_MAX), |row| row.get::<_, String>(0))?;
    let below: Vec<String> = below.collect::<Result<_, _>>()?;
    drop(select);
    for key in below.into_iter().chain([key.to_owned()]) {
        match write::delete(batch, &SessionRef::Key(key)) {
            // It is gone, or it is still at work: both leave nothing to do here.
            Ok(_) | Err(Trouble::Rule(StoreError::NotFound(_) | StoreError::Conflict(_))) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}
