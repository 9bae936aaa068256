//! The life of an iteration: it begins, is shown its memories, gets its run, ends. Each function is
//! one command and may be repeated after a crash.

use super::words::{Ended, Kind, LoopRow, Mode, Prompted};
use super::{change, memory, payload, row};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use crate::runs::row as run_row;
use crate::store::to_json;
use crate::value::{int, optional_uuid};
use hob_kit::failpoint;
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::loops::{
    LoopError, LoopErrorPayload, LoopIteration, LoopIterationPayload, LoopPhase, LoopPrompt,
    LoopResponse, Memory,
};
use rusqlite::OptionalExtension;

pub(super) fn begin(batch: &mut Batch<'_>, name: &str, number: u32) -> Result<(), Trouble> {
    let found = row::expect(batch.sql, name)?;
    if found.mode == Mode::Idle {
        return Err(StoreError::Conflict(format!("The loop '{name}' does not run.")).into());
    }
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
    Ok(batch.tell::<LoopIteration>(&begun)?)
}

pub(super) fn show(
    batch: &mut Batch<'_>,
    name: &str,
    number: u32,
) -> Result<(Memory, Memory), Trouble> {
    let found = row::expect(batch.sql, name)?;
    let persistent = memory::current(batch.sql, &found, Kind::Persistent)?;
    let working = memory::current(batch.sql, &found, Kind::Working)?;
    let shown = batch
        .sql
        .prepare_cached("UPDATE iterations SET working = ?3 WHERE loop = ?1 AND number = ?2")?
        .execute((found.row_id, number, int(working.revision)))?;
    if shown == 0 {
        return Err(lost(name, number).into());
    }
    Ok((persistent, working))
}

pub(super) fn prompted(batch: &mut Batch<'_>, prompted: &Prompted) -> Result<(), Trouble> {
    let found = row::expect(batch.sql, &prompted.name)?;
    let known = run_of(batch, &found, prompted.number)?;
    if known == Some(prompted.run) {
        return Ok(());
    }
    let run = run_row::find(batch.sql, prompted.run)?;
    let run = run.ok_or_else(|| run_row::missing(prompted.run))?;
    let monitor = prompted.monitor.as_ref().map(to_json).transpose()?;
    batch
        .sql
        .prepare_cached("UPDATE iterations SET run = ?3 WHERE loop = ?1 AND number = ?2")?
        .execute((
            found.row_id,
            prompted.number,
            &prompted.run.0.as_bytes()[..],
        ))?;
    if monitor.is_some() {
        batch
            .sql
            .prepare_cached("UPDATE loops SET monitor = ?2 WHERE row_id = ?1")?
            .execute((found.row_id, monitor))?;
    }
    let told = of_run(batch, prompted.run, |face| {
        payload::prompt(face, prompted.run, &run.task)
    })?;
    if let Some((session, face, row_id, payload)) = told {
        payload::log_of_run::<LoopPrompt>(batch, (session, &face), row_id, payload)?;
    }
    Ok(())
}

pub(super) fn end(batch: &mut Batch<'_>, ended: &Ended) -> Result<(), Trouble> {
    let mut found = row::expect(batch.sql, &ended.name)?;
    let Some(open) = open(batch, &found, ended.number)? else {
        return Err(lost(&ended.name, ended.number).into());
    };
    if open.is_over {
        return Ok(());
    }
    note(batch, &found, ended)?;
    let is_cleared = clear(batch, &mut found, ended, open.working)?;
    tell(batch, &found, ended, open.run)?;
    failpoint::reach("loop.end.written");
    if let Some((end, _)) = &ended.end {
        change::note_end(batch, found.row_id, *end)?;
        found.mode = Mode::Idle;
    }
    found.errors = ended.errors;
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

/// What is known of an iteration that may be under way.
struct Open {
    is_over: bool,
    working: Option<u64>,
    run: Option<RunId>,
}

fn open(batch: &Batch<'_>, found: &LoopRow, number: u32) -> rusqlite::Result<Option<Open>> {
    let select = "SELECT ended_at, working, run FROM iterations WHERE loop = ?1 AND number = ?2";
    let mut select = batch.sql.prepare_cached(select)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Open {
            is_over: row.get::<_, Option<i64>>(0)?.is_some(),
            working: crate::value::optional_number(row, 1)?,
            run: optional_uuid(row, 2)?.map(RunId),
        })
    };
    select.query_row((found.row_id, number), read).optional()
}

fn run_of(batch: &Batch<'_>, found: &LoopRow, number: u32) -> Result<Option<RunId>, Trouble> {
    match open(batch, found, number)? {
        Some(open) => Ok(open.run),
        None => Err(lost(&found.name, number).into()),
    }
}

fn note(batch: &Batch<'_>, found: &LoopRow, ended: &Ended) -> Result<(), Trouble> {
    let cause = ended.cause.as_ref().map(row::word).transpose()?;
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
            row::word(&ended.outcome)?,
            ended.denied_calls,
            ended.failed_calls,
        ))?;
    let is_error = ended.told && !ended.success;
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

/// Clears the working memory that the iteration was shown, if it is still that one. One that was
/// stopped before it was answered keeps it for the next.
fn clear(
    batch: &Batch<'_>,
    found: &mut LoopRow,
    ended: &Ended,
    shown: Option<u64>,
) -> Result<bool, Trouble> {
    if !ended.success || (shown != Some(found.working) && !failpoint::broken(112)) {
        return Ok(false);
    }
    if memory::current(batch.sql, found, Kind::Working)?
        .text
        .is_empty()
    {
        return Ok(false);
    }
    let revision = found.working + 1;
    let by = payload::session_key(&found.name, ended.number);
    memory::put(batch, (found.row_id, Kind::Working, revision), "", &by)?;
    found.working = revision;
    Ok(true)
}

/// Tells the answer, or the failure.
fn tell(
    batch: &mut Batch<'_>,
    found: &LoopRow,
    ended: &Ended,
    run: Option<RunId>,
) -> Result<(), Trouble> {
    if let (true, Some(run)) = (ended.success, run) {
        let row = run_row::find(batch.sql, run)?;
        let text = row.map(|row| row.summary.text).unwrap_or_default();
        let told = of_run(batch, run, |face| payload::response(face, run, &text))?;
        if let Some((session, face, row_id, payload)) = told {
            payload::log_of_run::<LoopResponse>(batch, (session, &face), row_id, payload)?;
        }
        return Ok(());
    }
    if !ended.told {
        return Ok(());
    }
    let failed = LoopErrorPayload {
        name: found.name.clone(),
        iteration: Some(ended.number),
        message: ended.message.clone().unwrap_or_default(),
    };
    Ok(batch.tell::<LoopError>(&failed)?)
}

/// What an event about a run is logged with; none when its session is gone.
type OfRun = (i64, crate::events::SessionFace, i64, bytes::Bytes);

fn of_run(
    batch: &mut Batch<'_>,
    run: RunId,
    make: impl FnOnce(&crate::events::SessionFace) -> Option<bytes::Bytes>,
) -> Result<Option<OfRun>, Trouble> {
    let Some(head) = run_row::head(batch.sql, run)? else {
        return Ok(None);
    };
    let session = SessionRef::Id(head.session);
    let Some(session) = batch.heads.find(batch.sql, &session)? else {
        return Ok(None);
    };
    let told = make(&session.face);
    Ok(told.map(|payload| (session.row_id, session.face, head.row_id, payload)))
}

fn lost(name: &str, number: u32) -> StoreError {
    StoreError::NotFound(format!("The loop '{name}' has no iteration {number}."))
}
