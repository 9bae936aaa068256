//! Commands that create, change, start and end loops.

use super::memory;
use super::payload;
use super::row;
use super::types::{LoopMode, LoopStart, LoopStartResult, MemoryKind, NewLoopRow};
use crate::audit::granted_rules;
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::value::{enum_name, int};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{LoopConfig, LoopEnd, LoopPhase};

/// Loops of one home.
const LOOPS_MAX: u64 = 10_000;

pub(super) fn create(
    batch: &mut WriteBatch<'_>,
    new: &NewLoopRow,
    config: &str,
) -> Result<(), QueryError> {
    if row::find(batch.sql, &new.name)?.is_some() {
        return Err(StoreError::Conflict(format!(
            "There is a loop '{}' already; change it, or choose another name.",
            new.name
        ))
        .into());
    }
    let there: u64 = batch
        .sql
        .prepare_cached("SELECT count(*) FROM loops")?
        .query_row([], |row| crate::value::number(row, 0))?;
    if there >= LOOPS_MAX {
        return Err(StoreError::Conflict(format!(
            "There are {LOOPS_MAX} loops already; delete some that are no longer used."
        ))
        .into());
    }
    let row_id = batch
        .sql
        .prepare_cached(
            "INSERT INTO loops (name, config, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)",
        )?
        .insert((&new.name, config, int(batch.now_ms)))?;
    for (kind, text) in [
        (MemoryKind::Persistent, &new.persistent),
        (MemoryKind::Working, &new.working),
    ] {
        if !text.is_empty() {
            memory::write_revision(batch, (row_id, kind, 1), text, &new.by)?;
        }
    }
    // In one transaction with the loop, which never exists without its rules.
    granted_rules::apply(batch, &new.rules)?;
    // Read back, because the memories have set their revisions.
    let made = row::find_existing(batch.sql, &new.name)?;
    payload::log_config(batch, &made)
}

pub(super) fn update(
    batch: &mut WriteBatch<'_>,
    name: &str,
    config: &LoopConfig,
    json: &str,
) -> Result<(), QueryError> {
    let mut found = row::find_existing(batch.sql, name)?;
    batch
        .sql
        .prepare_cached("UPDATE loops SET config = ?2, updated_at = ?3 WHERE row_id = ?1")?
        .execute((found.row_id, json, int(batch.now_ms)))?;
    found.config = config.clone();
    payload::log_config(batch, &found)
}

pub(super) fn start(
    batch: &mut WriteBatch<'_>,
    name: &str,
    which: &LoopStart,
) -> Result<LoopStartResult, QueryError> {
    let mut found = row::find_existing(batch.sql, name)?;
    let (mode, key) = match which {
        LoopStart::Continuous => (LoopMode::Running, None),
        LoopStart::Once { key } => (LoopMode::Once, key.as_deref()),
    };
    if let Some(key) = key {
        let asked = "SELECT 1 FROM iterations WHERE loop = ?1 AND key = ?2";
        let asked = batch.sql.prepare_cached(asked)?;
        // The key is on the iteration once that has begun, and on the loop before.
        let is_begun = { asked }.exists((found.row_id, key))?;
        if is_begun || found.once_key.as_deref() == Some(key) {
            return Ok(LoopStartResult::AlreadyRequested);
        }
    }
    if found.mode != LoopMode::Idle {
        return Err(StoreError::Conflict(format!(
            "The loop '{name}' runs already; stop it first, or wait for its end."
        ))
        .into());
    }
    batch
        .sql
        .prepare_cached(
            "UPDATE loops SET mode = ?2, once_key = ?3, since_start = 0, errors = 0,
             last_error = NULL, stopped = NULL, next_at = NULL, cost = NULL WHERE row_id = ?1",
        )?
        .execute((found.row_id, row::mode_name(mode), key))?;
    (found.mode, found.errors, found.next_at) = (mode, 0, None);
    payload::log_state(batch, &found, LoopPhase::Idle, Cost::default(), None)?;
    Ok(LoopStartResult::Now {
        iteration: found.iteration,
    })
}

pub(super) fn end(
    batch: &mut WriteBatch<'_>,
    name: &str,
    end: LoopEnd,
    message: &str,
) -> Result<(), QueryError> {
    let mut found = row::find_existing(batch.sql, name)?;
    // Ended by a person meanwhile, or a repeat: the first end stands.
    if found.mode == LoopMode::Idle {
        return Ok(());
    }
    note_end(batch, found.row_id, end)?;
    (found.mode, found.next_at) = (LoopMode::Idle, None);
    let cost = found.cost;
    payload::log_state(batch, &found, LoopPhase::Idle, cost, None)?;
    Ok(payload::log_stopped(batch, &found, end, message)?)
}

/// Marks the loop as ended.
pub(super) fn note_end(
    batch: &WriteBatch<'_>,
    row_id: i64,
    end: LoopEnd,
) -> Result<(), QueryError> {
    batch
        .sql
        .prepare_cached(
            "UPDATE loops SET mode = 'idle', once_key = NULL, next_at = NULL, stopped = ?2
             WHERE row_id = ?1",
        )?
        .execute((row_id, enum_name(&end)?))?;
    Ok(())
}
