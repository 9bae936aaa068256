//! Making, changing, starting and ending loops. Each function is one command.

use super::memory;
use super::payload;
use super::row;
use super::words::{Kind, Mode, NewLoop, Started, WhichStart};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use crate::judgements::granted;
use crate::value::int;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{LoopConfig, LoopEnd, LoopPhase};

/// Loops of one home.
const LOOPS_MAX: u64 = 10_000;

pub(super) fn create(batch: &mut Batch<'_>, new: &NewLoop, config: &str) -> Result<(), Trouble> {
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
        (Kind::Persistent, &new.persistent),
        (Kind::Working, &new.working),
    ] {
        if !text.is_empty() {
            memory::put(batch, (row_id, kind, 1), text, &new.by)?;
        }
    }
    granted::apply(batch, &new.rules)?;
    let made = row::expect(batch.sql, &new.name)?;
    payload::log_config(batch, &made)
}

pub(super) fn update(
    batch: &mut Batch<'_>,
    name: &str,
    config: &LoopConfig,
    json: &str,
) -> Result<(), Trouble> {
    let mut found = row::expect(batch.sql, name)?;
    batch
        .sql
        .prepare_cached("UPDATE loops SET config = ?2, updated_at = ?3 WHERE row_id = ?1")?
        .execute((found.row_id, json, int(batch.now_ms)))?;
    found.config = config.clone();
    payload::log_config(batch, &found)
}

pub(super) fn start(
    batch: &mut Batch<'_>,
    name: &str,
    which: &WhichStart,
) -> Result<Started, Trouble> {
    let mut found = row::expect(batch.sql, name)?;
    let (mode, key) = match which {
        WhichStart::Again => (Mode::Running, None),
        WhichStart::Once { key } => (Mode::Once, key.as_deref()),
    };
    if let Some(key) = key {
        let asked = "SELECT 1 FROM iterations WHERE loop = ?1 AND key = ?2";
        let asked = batch.sql.prepare_cached(asked)?;
        let is_begun = { asked }.exists((found.row_id, key))?;
        if is_begun || found.once_key.as_deref() == Some(key) {
            return Ok(Started::Before);
        }
    }
    if found.mode != Mode::Idle {
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
        .execute((found.row_id, row::mode_word(mode), key))?;
    (found.mode, found.errors, found.next_at) = (mode, 0, None);
    payload::log_state(batch, &found, LoopPhase::Idle, Cost::default(), None)?;
    Ok(Started::Now {
        iteration: found.iteration,
    })
}

pub(super) fn end(
    batch: &mut Batch<'_>,
    name: &str,
    end: LoopEnd,
    message: &str,
) -> Result<(), Trouble> {
    let mut found = row::expect(batch.sql, name)?;
    if found.mode == Mode::Idle {
        return Ok(());
    }
    note_end(batch, found.row_id, end)?;
    (found.mode, found.next_at) = (Mode::Idle, None);
    let cost = found.cost;
    payload::log_state(batch, &found, LoopPhase::Idle, cost, None)?;
    Ok(payload::log_stopped(batch, &found, end, message)?)
}

/// The loop runs no more.
pub(super) fn note_end(batch: &Batch<'_>, row_id: i64, end: LoopEnd) -> Result<(), Trouble> {
    batch
        .sql
        .prepare_cached(
            "UPDATE loops SET mode = 'idle', once_key = NULL, next_at = NULL, stopped = ?2
             WHERE row_id = ?1",
        )?
        .execute((row_id, row::word(&end)?))?;
    Ok(())
}
