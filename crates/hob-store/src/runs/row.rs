//! A run's row and its queries.

use super::types::{RunRow, RunSummary};
use crate::checksums::damage::damaged_row_error;
use crate::checksums::{RUN_TASKS, RUNS};
use crate::error::{QueryError, StoreError};
use crate::value::{enum_name, int, number, optional_number, parse_enum, parse_json, uuid};
use hob_wire::rooms::agent::{Cost, RunState};
use hob_wire::{RunId, SessionId};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Params, Row};
use std::sync::LazyLock;

/// The columns of [`read`], in its order.
pub(crate) static COLUMNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{SHOWN}, {}, {}, r.row_id",
        RUNS.checksum_state_sql("r"),
        RUN_TASKS.checksum_state_sql("t")
    )
});

/// The columns of [`summary`] alone.
pub(crate) const SUMMARY: &str = "SELECT r.state, r.step, r.attempt, r.resumed, r.text, r.success,
    r.cause, r.message, r.micro_dollars, r.input_tokens, r.output_tokens, r.calls, r.model, r.notes,
    r.started_at, r.ended_at FROM runs r WHERE r.row_id = ?1";

const SHOWN: &str = "r.id, s.id, s.key, t.task, t.limits, r.queued_at, r.journal_len,
    r.first_message, r.last_message, r.state, r.step, r.attempt, r.resumed, r.text, r.success,
    r.cause, r.message, r.micro_dollars, r.input_tokens, r.output_tokens, r.calls, r.model, r.notes,
    r.started_at, r.ended_at, r.parent";

/// The tables of [`COLUMNS`], in this order. Runs of deleted sessions are not shown.
pub(crate) const TABLES: &str = "runs r CROSS JOIN sessions s ON s.row_id = r.session
    CROSS JOIN run_tasks t ON t.run = r.row_id";

pub(crate) fn find(sql: &Connection, run: RunId) -> Result<Option<RunRow>, QueryError> {
    one(sql, &by_id(), [&run.0.as_bytes()[..]])
}

/// Returns the one run that a query of [`COLUMNS`] finds.
pub(crate) fn one(
    sql: &Connection,
    query: &str,
    params: impl Params,
) -> Result<Option<RunRow>, QueryError> {
    let mut select = sql.prepare_cached(query)?;
    let mut rows = select.query(params)?;
    rows.next()?.map(|row| read(sql, row)).transpose()
}

pub(crate) fn by_id() -> String {
    format!("SELECT {} FROM {TABLES} WHERE r.id = ?1", *COLUMNS)
}

/// Reads a run; refuses one whose row or task is damaged.
pub(crate) fn read(sql: &Connection, row: &Row<'_>) -> Result<RunRow, QueryError> {
    let row_id: i64 = row.get(28)?;
    for (table, column) in [(&RUNS, 26), (&RUN_TASKS, 27)] {
        if !table.is_whole(sql, row, column, (row_id, 0))? {
            return Err(damaged_row_error(table.damaged_at(sql, [row_id])?));
        }
    }
    Ok(from_row(row)?)
}

/// The part of a run that a step needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunHead {
    pub(crate) row_id: i64,
    pub(crate) state: RunState,
    pub(crate) journal_len: u64,
    pub(crate) first_message: Option<u64>,
    pub(crate) last_message: Option<u64>,
    pub(crate) session: SessionId,
    /// The row of the session that pays, when it is another one.
    pub(crate) payer: Option<i64>,
}

/// Reads a run's head; refuses a damaged one, which must not get a new checksum.
pub(crate) fn head(sql: &Connection, run: RunId) -> Result<Option<RunHead>, QueryError> {
    let mut select = sql.prepare_cached(&HEAD)?;
    let mut rows = select.query([&run.0.as_bytes()[..]])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let row_id: i64 = row.get(0)?;
    if !RUNS.is_whole(sql, row, 7, (row_id, 0))? {
        return Err(damaged_row_error(RUNS.damaged_at(sql, [row_id])?));
    }
    Ok(Some(head_from_row(row)?))
}

fn head_from_row(row: &Row<'_>) -> rusqlite::Result<RunHead> {
    Ok(RunHead {
        row_id: row.get(0)?,
        state: parse_state(row.get_ref(1)?.as_str()?)?,
        journal_len: number(row, 2)?,
        first_message: optional_number(row, 3)?,
        last_message: optional_number(row, 4)?,
        session: SessionId(uuid(row, 5)?),
        payer: row.get(6)?,
    })
}

// `CROSS JOIN` makes SQLite begin with the run, whose id is unique.
pub(crate) static HEAD: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT r.row_id, r.state, r.journal_len, r.first_message, r.last_message, s.id, r.payer, {}
         FROM runs r CROSS JOIN sessions s ON s.row_id = r.session WHERE r.id = ?1",
        RUNS.checksum_state_sql("r")
    )
});

fn from_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let session_id = SessionId(uuid(row, 1)?);
    let key: Option<String> = row.get(2)?;
    Ok(RunRow {
        id: RunId(uuid(row, 0)?),
        parent: parent(row, 25)?,
        session_id,
        session_key: key.unwrap_or_else(|| session_id.to_string()),
        task: row.get(3)?,
        limits: parse_json(row.get_ref(4)?.as_str()?)?,
        queued_at: number(row, 5)?,
        journal_len: number(row, 6)?,
        first_message: optional_number(row, 7)?,
        last_message: optional_number(row, 8)?,
        summary: summary(row, 9)?,
    })
}

fn parent(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<RunId>> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => Ok(Some(RunId(uuid(row, column)?))),
    }
}

/// Reads a summary whose sixteen columns begin at `first`, in the order of [`COLUMNS`].
pub(crate) fn summary(row: &Row<'_>, first: usize) -> rusqlite::Result<RunSummary> {
    let at = |column: usize| first + column;
    let cause = row.get_ref(at(6))?.as_str_or_null()?.map(parse_enum);
    Ok(RunSummary {
        state: parse_state(row.get_ref(at(0))?.as_str()?)?,
        step: small(row, at(1))?,
        attempt: small(row, at(2))?,
        resumed: small(row, at(3))?,
        text: row.get(at(4))?,
        success: row.get(at(5))?,
        cause: cause.transpose()?,
        message: row.get(at(7))?,
        cost: Cost {
            micro_dollars: optional_number(row, at(8))?,
            input_tokens: number(row, at(9))?,
            output_tokens: number(row, at(10))?,
            calls: small(row, at(11))?,
        },
        model: row.get(at(12))?,
        notes: parse_json(row.get_ref(at(13))?.as_str()?)?,
        started_at: optional_number(row, at(14))?,
        ended_at: optional_number(row, at(15))?,
    })
}

/// The columns that a step changes.
#[derive(Debug)]
pub(crate) struct RunUpdate<'a> {
    pub(crate) row_id: i64,
    pub(crate) journal_len: u64,
    pub(crate) first_message: Option<u64>,
    pub(crate) last_message: Option<u64>,
    pub(crate) summary: &'a RunSummary,
    /// JSON text.
    pub(crate) notes: &'a str,
}

pub(crate) fn update(sql: &Connection, update: &RunUpdate<'_>) -> rusqlite::Result<()> {
    let summary = update.summary;
    let cost = &summary.cost;
    let changed = sql.prepare_cached(UPDATE)?.execute(rusqlite::params![
        update.row_id,
        int(update.journal_len),
        update.first_message.map(int),
        update.last_message.map(int),
        state_name(summary.state),
        summary.step,
        summary.attempt,
        summary.resumed,
        summary.text,
        summary.success,
        summary.cause.as_ref().map(enum_name).transpose()?,
        summary.message,
        cost.micro_dollars.map(int),
        int(cost.input_tokens),
        int(cost.output_tokens),
        cost.calls,
        summary.model,
        update.notes,
        summary.started_at.map(int),
        summary.ended_at.map(int),
    ])?;
    // A missing row must not pass as a written step.
    if changed == 1 {
        // The checksum covers the new values, so it is written after them.
        RUNS.write_checksum(sql, [update.row_id])
    } else {
        Err(rusqlite::Error::QueryReturnedNoRows)
    }
}

pub(crate) const UPDATE: &str = "UPDATE runs SET journal_len = ?2, first_message = ?3,
    last_message = ?4, state = ?5, step = ?6, attempt = ?7, resumed = ?8, text = ?9, success = ?10,
    cause = ?11, message = ?12, micro_dollars = ?13, input_tokens = ?14, output_tokens = ?15,
    calls = ?16, model = ?17, notes = ?18, started_at = ?19, ended_at = ?20 WHERE row_id = ?1";

pub(crate) fn missing(run: RunId) -> StoreError {
    StoreError::NotFound(format!("There is no run '{run}'."))
}

const STATES: [(RunState, &str); 6] = [
    (RunState::Queued, "queued"),
    (RunState::Running, "running"),
    (RunState::Waiting, "waiting"),
    (RunState::InDoubt, "in-doubt"),
    (RunState::Paused, "paused"),
    (RunState::Done, "done"),
];

pub(crate) fn state_name(state: RunState) -> &'static str {
    let found = STATES.iter().find(|(known, _)| *known == state);
    found.map_or("done", |(_, word)| word)
}

pub(crate) fn parse_state(word: &str) -> rusqlite::Result<RunState> {
    let found = STATES.iter().find(|(_, known)| *known == word);
    let found = found.ok_or(FromSqlError::InvalidType)?;
    Ok(found.0)
}

fn small(row: &Row<'_>, column: usize) -> rusqlite::Result<u32> {
    row.get(column)
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
