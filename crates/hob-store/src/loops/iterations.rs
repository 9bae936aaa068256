//! Commands of an iteration: it begins, is shown its memories, gets its run, ends. Each may be
//! repeated after a crash.

use super::types::{FinishedIteration, IterationPrompt, LoopMode, LoopRow, MemoryKind};
use super::{change, memory, payload, row};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::runs::row as run_row;
use crate::store::to_json;
use crate::value::{enum_name, int, optional_uuid};
use hob_kit::failpoint;
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::loops::{
    LoopError, LoopErrorPayload, LoopIteration, LoopIterationPayload, LoopMemory, LoopPhase,
    LoopPrompt, LoopResponse,
};
use rusqlite::OptionalExtension;

pub(super) fn begin(batch: &mut WriteBatch<'_>, name: &str, number: u32) -> Result<(), QueryError> {
    let found = row::find_existing(batch.sql, name)?;
    if found.mode == LoopMode::Idle {
        return Err(StoreError::Conflict(format!("The loop '{name}' does not run.")).into());
    }
    // A number is used once: a stale owner must not begin an iteration again.
    if number != found.iteration.saturating_add(1) {
        return Err(StoreError::Conflict(format!(
            "The next iteration of the loop '{name}' is {}, not {number}.",
            found.iteration.saturating_add(1)
        ))
        .into());
    }
    batch
        .sql
        .prepare_cached(
            "INSERT INTO iterations (loop, number, key, started_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((found.row_id, number, &found.once_key, int(batch.now_ms)))?;
    batch
        .sql
        .prepare_cached(
            "UPDATE loops SET iteration = ?2, since_start = since_start + 1, next_at = NULL
             WHERE row_id = ?1",
        )?
        .execute((found.row_id, number))?;
    let begun = LoopIterationPayload {
        name: found.name,
        iteration: number,
        session_key: payload::session_key(name, number),
    };
    Ok(batch.log_topic::<LoopIteration>(&begun)?)
}

pub(super) fn show_memories(
    batch: &mut WriteBatch<'_>,
    name: &str,
    number: u32,
) -> Result<(LoopMemory, LoopMemory), QueryError> {
    let found = row::find_existing(batch.sql, name)?;
    let persistent = memory::current(batch.sql, &found, MemoryKind::Persistent)?;
    let working = memory::current(batch.sql, &found, MemoryKind::Working)?;
    // The revision is stored before the prompt is sent, so that the end clears only what was shown.
    let shown = batch
        .sql
        .prepare_cached("UPDATE iterations SET working = ?3 WHERE loop = ?1 AND number = ?2")?
        .execute((found.row_id, number, int(working.revision)))?;
    if shown == 0 {
        return Err(missing_iteration(name, number).into());
    }
    Ok((persistent, working))
}

pub(super) fn set_run(
    batch: &mut WriteBatch<'_>,
    prompt: &IterationPrompt,
) -> Result<(), QueryError> {
    let found = row::find_existing(batch.sql, &prompt.name)?;
    let known = run_of(batch, &found, prompt.number)?;
    // A repeat after a crash: the event was logged with the first call.
    if known == Some(prompt.run) {
        return Ok(());
    }
    let run = run_row::find(batch.sql, prompt.run)?;
    let run = run.ok_or_else(|| run_row::missing(prompt.run))?;
    let monitor = prompt.monitor.as_ref().map(to_json).transpose()?;
    batch
        .sql
        .prepare_cached("UPDATE iterations SET run = ?3 WHERE loop = ?1 AND number = ?2")?
        .execute((found.row_id, prompt.number, &prompt.run.0.as_bytes()[..]))?;
    // Without a new result the loop keeps that of its last monitor.
    if monitor.is_some() {
        batch
            .sql
            .prepare_cached("UPDATE loops SET monitor = ?2 WHERE row_id = ?1")?
            .execute((found.row_id, monitor))?;
    }
    let parts = run_event_parts(batch, prompt.run, |identity| {
        payload::prompt(identity, prompt.run, &run.task)
    })?;
    if let Some((session, identity, row_id, payload)) = parts {
        payload::log_of_run::<LoopPrompt>(batch, (session, &identity), row_id, payload)?;
    }
    Ok(())
}

pub(super) fn end(batch: &mut WriteBatch<'_>, ended: &FinishedIteration) -> Result<(), QueryError> {
    let mut found = row::find_existing(batch.sql, &ended.name)?;
    let Some(open) = find_iteration(batch, &found, ended.number)? else {
        return Err(missing_iteration(&ended.name, ended.number).into());
    };
    // A repeat after a crash: the end is written already.
    if open.is_over {
        return Ok(());
    }
    write_end(batch, &found, ended)?;
    let is_cleared = clear_working_memory(batch, &mut found, ended, open.working)?;
    log_result(batch, &found, ended, open.run)?;
    failpoint::reach("loop.end.written");
    if let Some((end, _)) = &ended.end {
        change::note_end(batch, found.row_id, *end)?;
        found.mode = LoopMode::Idle;
    }
    found.errors = ended.errors;
    // A loop that ended has no next time, whatever the iteration planned.
    found.next_at = ended.next_at.filter(|_| ended.end.is_none());
    let phase = match &ended.end {
        Some(_) => LoopPhase::Idle,
        None => LoopPhase::Sleep,
    };
    let just_ended = Some((ended.outcome, ended.message.as_deref()));
    payload::log_state(batch, &found, phase, ended.cost, just_ended)?;
    if is_cleared {
        payload::log_config(batch, &found)?;
    }
    if let Some((end, message)) = &ended.end {
        payload::log_stopped(batch, &found, *end, message)?;
    }
    Ok(())
}

/// The stored state of an iteration.
struct IterationState {
    is_over: bool,
    working: Option<u64>,
    run: Option<RunId>,
}

fn find_iteration(
    batch: &WriteBatch<'_>,
    found: &LoopRow,
    number: u32,
) -> rusqlite::Result<Option<IterationState>> {
    let select = "SELECT ended_at, working, run FROM iterations WHERE loop = ?1 AND number = ?2";
    let mut select = batch.sql.prepare_cached(select)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(IterationState {
            is_over: row.get::<_, Option<i64>>(0)?.is_some(),
            working: crate::value::optional_number(row, 1)?,
            run: optional_uuid(row, 2)?.map(RunId),
        })
    };
    select.query_row((found.row_id, number), read).optional()
}

fn run_of(
    batch: &WriteBatch<'_>,
    found: &LoopRow,
    number: u32,
) -> Result<Option<RunId>, QueryError> {
    match find_iteration(batch, found, number)? {
        Some(open) => Ok(open.run),
        None => Err(missing_iteration(&found.name, number).into()),
    }
}

fn write_end(
    batch: &WriteBatch<'_>,
    found: &LoopRow,
    ended: &FinishedIteration,
) -> Result<(), QueryError> {
    let cause = ended.cause.as_ref().map(enum_name).transpose()?;
    batch
        .sql
        .prepare_cached(
            "UPDATE iterations SET ended_at = ?3, success = ?4, cause = ?5, message = ?6,
             outcome = ?7, denied_calls = ?8, failed_calls = ?9
             WHERE loop = ?1 AND number = ?2",
        )?
        .execute((
            found.row_id,
            ended.number,
            int(batch.now_ms),
            ended.success,
            cause,
            &ended.message,
            enum_name(&ended.outcome)?,
            ended.denied_calls,
            ended.failed_calls,
        ))?;
    // An iteration that a person stopped is no error of the loop.
    let is_error = ended.is_reported && !ended.success;
    let last_error = ended.message.as_ref().filter(|_| is_error);
    batch
        .sql
        .prepare_cached(
            "UPDATE loops SET errors = ?2, last_error = coalesce(?3, last_error), next_at = ?4,
             cost = ?5 WHERE row_id = ?1",
        )?
        .execute((
            found.row_id,
            ended.errors,
            last_error,
            ended.next_at.map(int),
            to_json(&ended.cost)?,
        ))?;
    Ok(())
}

/// Clears the working memory if it is still the revision that the iteration was shown. An iteration
/// that was stopped before its answer keeps it for the next.
fn clear_working_memory(
    batch: &WriteBatch<'_>,
    found: &mut LoopRow,
    ended: &FinishedIteration,
    shown: Option<u64>,
) -> Result<bool, QueryError> {
    if !ended.success || shown != Some(found.working) {
        return Ok(false);
    }
    // An empty memory needs no further revision to be empty.
    if memory::current(batch.sql, found, MemoryKind::Working)?
        .text
        .is_empty()
    {
        return Ok(false);
    }
    let revision = found.working + 1;
    let by = payload::session_key(&found.name, ended.number);
    memory::write_revision(
        batch,
        (found.row_id, MemoryKind::Working, revision),
        "",
        &by,
    )?;
    found.working = revision;
    Ok(true)
}

/// Logs the answer, or the failure.
fn log_result(
    batch: &mut WriteBatch<'_>,
    found: &LoopRow,
    ended: &FinishedIteration,
    run: Option<RunId>,
) -> Result<(), QueryError> {
    if let (true, Some(run)) = (ended.success, run) {
        let row = run_row::find(batch.sql, run)?;
        let text = row.map(|row| row.summary.text).unwrap_or_default();
        let parts = run_event_parts(batch, run, |identity| {
            payload::response(identity, run, &text)
        })?;
        if let Some((session, identity, row_id, payload)) = parts {
            payload::log_of_run::<LoopResponse>(batch, (session, &identity), row_id, payload)?;
        }
        return Ok(());
    }
    if !ended.is_reported {
        return Ok(());
    }
    let failed = LoopErrorPayload {
        name: found.name.clone(),
        iteration: Some(ended.number),
        message: ended.message.clone().unwrap_or_default(),
    };
    Ok(batch.log_topic::<LoopError>(&failed)?)
}

/// The parts of an event about a run; none when its session is gone.
type RunEventParts = (i64, crate::events::SessionIdentity, i64, bytes::Bytes);

fn run_event_parts(
    batch: &mut WriteBatch<'_>,
    run: RunId,
    make: impl FnOnce(&crate::events::SessionIdentity) -> Option<bytes::Bytes>,
) -> Result<Option<RunEventParts>, QueryError> {
    let Some(head) = run_row::head(batch.sql, run)? else {
        return Ok(None);
    };
    let session = SessionRef::Id(head.session);
    let Some(session) = batch.heads.find(batch.sql, &session)? else {
        return Ok(None);
    };
    let payload = make(&session.identity);
    Ok(payload.map(|payload| (session.row_id, session.identity, head.row_id, payload)))
}

fn missing_iteration(name: &str, number: u32) -> StoreError {
    StoreError::NotFound(format!("The loop '{name}' has no iteration {number}."))
}
