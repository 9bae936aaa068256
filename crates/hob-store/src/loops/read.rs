//! Reads of loops and iterations. An iteration's prompt and answer come from its run.

use super::types::{LoopMode, LoopResumePoint, LoopRow, MemoryKind};
use super::{memory, payload, row};
use crate::checksums::{RUN_TASKS, RUNS};
use crate::error::QueryError;
use crate::value::{int, number, optional_number, optional_uuid, parse_enum};
use hob_wire::RunId;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{
    IterationRecord, Loop, LoopHistoryResult, LoopPhase, LoopState, WorkOutcome,
};
use rusqlite::{Connection, OptionalExtension, Row};

pub(super) fn get(sql: &Connection, name: &str) -> Result<Loop, QueryError> {
    let found = row::find_existing(sql, name)?;
    let persistent = memory::current(sql, &found, MemoryKind::Persistent)?;
    let working = memory::current(sql, &found, MemoryKind::Working)?;
    let mut state = state(&found);
    state.last_response = last_response(sql, found.row_id)?;
    state.run_id = last_run(sql, &found)?;
    state.outcome = last_outcome(sql, &found)?;
    let grants = row::grants(sql, name)?;
    let mut shown = Loop {
        state,
        persistent,
        working,
        ..bare(found)
    };
    shown.config.grants = grants;
    Ok(shown)
}

pub(super) fn list(sql: &Connection) -> Result<Vec<Loop>, QueryError> {
    let columns = row::COLUMNS;
    let mut select = sql.prepare_cached(&format!("SELECT {columns} FROM loops ORDER BY name"))?;
    let rows = select.query_map([], row::from_row)?;
    let mut grants = row::all_grants(sql)?;
    let mut loops = Vec::new();
    for found in rows {
        let found = found?;
        let mut state = state(&found);
        // A list stays small; one loop shows its monitor's output.
        state.monitor = None;
        state.outcome = last_outcome(sql, &found)?;
        let granted = grants.remove(&row::session_pattern(&found.name));
        let mut shown = Loop {
            state,
            ..bare(found)
        };
        shown.config.grants = granted.unwrap_or_default();
        loops.push(shown);
    }
    Ok(loops)
}

pub(super) fn running(sql: &Connection) -> Result<Vec<String>, QueryError> {
    let mut select = sql.prepare_cached(
        // The partial index holds only the loops that shall run.
        "SELECT name FROM loops INDEXED BY loops_awake WHERE mode <> 'idle' ORDER BY name",
    )?;
    let names: Result<_, _> = select.query_map([], |row| row.get(0))?.collect();
    Ok(names?)
}

pub(super) fn resume_point(sql: &Connection, name: &str) -> Result<LoopResumePoint, QueryError> {
    let found = row::find_existing(sql, name)?;
    if let Some(next_at) = found.next_at {
        return Ok(LoopResumePoint::Asleep { next_at });
    }
    // Counted at the begin of each iteration, and reset by a start.
    if found.since_start == 0 {
        return Ok(LoopResumePoint::Started);
    }
    let mut select = sql.prepare_cached(
        "SELECT run IS NULL, ended_at IS NULL FROM iterations WHERE loop = ?1 AND number = ?2",
    )?;
    let last = select
        .query_row((found.row_id, found.iteration), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(match last {
        Some((true, true)) => LoopResumePoint::Opened,
        Some((false, true)) => LoopResumePoint::Asking,
        // The iteration has ended and no wake-up time is stored, so the loop continues at once.
        _ => LoopResumePoint::Asleep { next_at: 0 },
    })
}

/// Shown in place of a text whose row is damaged; 'hob verify' names the row.
const DAMAGED: &str = "[damaged: run \"hob verify\"]";

pub(super) fn last_response(sql: &Connection, row_id: i64) -> rusqlite::Result<Option<String>> {
    sql.prepare_cached(&format!(
        "SELECT iif(({}) IS 0, '{DAMAGED}', r.text)
         FROM iterations i CROSS JOIN runs r ON r.id = i.run
         WHERE i.loop = ?1 AND i.success = 1 ORDER BY i.number DESC LIMIT 1",
        RUNS.checksum_state_sql("r")
    ))?
    .query_row([row_id], |row| row.get(0))
    .optional()
}

/// Returns the outcome of the last iteration that has ended.
fn last_outcome(sql: &Connection, found: &LoopRow) -> rusqlite::Result<Option<WorkOutcome>> {
    let mut select = sql.prepare_cached(
        "SELECT outcome FROM iterations WHERE loop = ?1 AND number <= ?2 AND ended_at IS NOT NULL
         ORDER BY number DESC LIMIT 1",
    )?;
    let outcome: Option<Option<String>> = select
        .query_row((found.row_id, found.iteration), |row| row.get(0))
        .optional()?;
    outcome.flatten().as_deref().map(parse_enum).transpose()
}

fn last_run(sql: &Connection, found: &LoopRow) -> rusqlite::Result<Option<RunId>> {
    let mut select =
        sql.prepare_cached("SELECT run FROM iterations WHERE loop = ?1 AND number = ?2")?;
    let run = select
        .query_row((found.row_id, found.iteration), |row| optional_uuid(row, 0))
        .optional()?;
    Ok(run.flatten().map(RunId))
}

pub(super) fn history(
    sql: &Connection,
    name: &str,
    before: Option<u32>,
    rows_max: usize,
) -> Result<LoopHistoryResult, QueryError> {
    let found = row::find_existing(sql, name)?;
    let mut select = sql.prepare_cached(&format!(
        "SELECT i.number, i.run, i.started_at, i.ended_at, i.success, i.cause, i.message,
                iif(({}) IS 0, '{DAMAGED}', t.task), iif(({}) IS 0, '{DAMAGED}', r.text), r.state, r.micro_dollars, r.input_tokens, r.output_tokens, r.calls,
                i.outcome, i.denied_calls, i.failed_calls
         FROM iterations i
         LEFT JOIN runs r ON r.id = i.run
         LEFT JOIN run_tasks t ON t.run = r.row_id
         WHERE i.loop = ?1 AND i.number < ?2 ORDER BY i.number DESC LIMIT ?3",
        RUN_TASKS.checksum_state_sql("t"),
        RUNS.checksum_state_sql("r")
    ))?;
    // One row more than asked for shows whether there is another page.
    let most = int(rows_max.saturating_add(1) as u64);
    let mut rows = select.query((found.row_id, before.map_or(i64::MAX, i64::from), most))?;
    let mut page = LoopHistoryResult {
        iterations: Vec::new(),
        more: false,
    };
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        if page.iterations.len() >= rows_max || bytes >= PAGE_BYTES_MAX {
            page.more = true;
            break;
        }
        let iteration = iteration(row, name)?;
        bytes += iteration.prompt.len() + iteration.response.as_ref().map_or(0, String::len);
        page.iterations.push(iteration);
    }
    Ok(page)
}

fn iteration(row: &Row<'_>, name: &str) -> rusqlite::Result<IterationRecord> {
    let number_of: u32 = row.get(0)?;
    let run = optional_uuid(row, 1)?.map(RunId);
    let cause = row.get_ref(5)?.as_str_or_null()?.map(parse_enum);
    let outcome = row.get_ref(14)?.as_str_or_null()?.map(parse_enum);
    let is_done = row.get_ref(9)?.as_str_or_null()? == Some("done");
    let cost = if run.is_some() && is_done {
        Cost {
            micro_dollars: optional_number(row, 10)?,
            input_tokens: number(row, 11)?,
            output_tokens: number(row, 12)?,
            calls: row.get(13)?,
        }
    } else {
        Cost::default()
    };
    Ok(IterationRecord {
        iteration: number_of,
        session_key: payload::session_key(name, number_of),
        run_id: run,
        prompt: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
        // The text of a run that has not ended is not its answer yet.
        response: row.get::<_, Option<String>>(8)?.filter(|_| is_done),
        success: row.get(4)?,
        outcome: outcome.transpose()?,
        cause: cause.transpose()?,
        message: row.get(6)?,
        denied_calls: row.get(15)?,
        failed_calls: row.get(16)?,
        cost,
        started_at: number(row, 2)?,
        ended_at: optional_number(row, 3)?,
    })
}

fn bare(found: LoopRow) -> Loop {
    Loop {
        state: LoopState::default(),
        name: found.name,
        config: found.config,
        persistent: hob_wire::rooms::loops::LoopMemory {
            revision: found.persistent,
            ..Default::default()
        },
        working: hob_wire::rooms::loops::LoopMemory {
            revision: found.working,
            ..Default::default()
        },
        created_at: found.created_at,
        updated_at: found.updated_at,
    }
}

fn state(found: &LoopRow) -> LoopState {
    let iteration = found.iteration;
    LoopState {
        running: found.mode != LoopMode::Idle,
        phase: match (found.mode, found.next_at) {
            (LoopMode::Idle, _) => LoopPhase::Idle,
            (_, Some(_)) => LoopPhase::Sleep,
            (_, None) => LoopPhase::Prompt,
        },
        iteration,
        since_start: found.since_start,
        session_key: (iteration > 0).then(|| payload::session_key(&found.name, iteration)),
        run_id: None,
        next_at: found.next_at,
        last_response: None,
        monitor: found.monitor.clone(),
        errors: found.errors,
        last_error: found.last_error.clone(),
        outcome: None,
        stopped: found.stopped,
        cost: found.cost,
    }
}
