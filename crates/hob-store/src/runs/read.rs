//! Reading runs: one, a session's latest, a listing, those that have not ended, and counts. Every
//! page is bounded by rows and by bytes, and holds at least one row if there is any.

use super::costs;
use super::journal::Stored;
use super::row::{COLUMNS, TABLES, from_row, state_word};
use super::words::{RunPage, RunRow, RunStats};
use crate::error::Trouble;
use crate::sessions::row::{find_head, missing};
use crate::value::{int, number};
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::agent::RunState;
use rusqlite::{Connection, OptionalExtension, ToSql};

/// Which runs a listing shows.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) session: Option<SessionRef>,
    pub(crate) state: Option<RunState>,
    pub(crate) rows_max: usize,
    pub(crate) before: Option<RunId>,
}

pub(crate) fn list(sql: &Connection, filter: &Filter) -> Result<RunPage, Trouble> {
    let session = match &filter.session {
        None => None,
        Some(session) => {
            let head = find_head(sql, session)?;
            Some(head.ok_or_else(|| missing(session))?.row_id)
        }
    };
    let before = match filter.before {
        None => i64::MAX,
        Some(run) => place(sql, run)?,
    };
    let state = filter.state.map(state_word);
    let rows_max = int(filter.rows_max as u64 + 1);
    let mut select = sql.prepare_cached(&listing(session.is_some(), filter.state))?;
    let mut given: Vec<&dyn ToSql> = vec![&before, &rows_max];
    given.extend(session.as_ref().map(|session| session as &dyn ToSql));
    given.extend(state.as_ref().map(|state| state as &dyn ToSql));
    let mut rows = select.query(&given[..])?;
    let mut runs: Vec<RunRow> = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let run = from_row(row)?;
        bytes += 1_024 + run.task.len() + run.summary.text.len();
        let full = runs.len() >= filter.rows_max || bytes > PAGE_BYTES_MAX;
        if full && !runs.is_empty() {
            let next = runs.last().map(|last| last.id);
            return Ok(RunPage { runs, next });
        }
        runs.push(run);
    }
    Ok(RunPage { runs, next: None })
}

/// The query of a listing: `?1` the place before which it begins, `?2` its rows, then the session
/// and the state if they are given.
pub(crate) fn listing(of_session: bool, state: Option<RunState>) -> String {
    let session = if of_session { "r.session = ?3 AND" } else { "" };
    let number = if of_session { 4 } else { 3 };
    let state = match state {
        None => String::new(),
        // Nearly all are done: the listing meets few others on its way.
        Some(RunState::Done) => format!("+r.state = ?{number} AND"),
        Some(_) if of_session => format!("+r.state = ?{number} AND r.state <> 'done' AND"),
        Some(_) => format!("r.state = ?{number} AND r.state <> 'done' AND"),
    };
    format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE {session} {state} r.row_id < ?1
         ORDER BY r.row_id DESC LIMIT ?2"
    )
}

/// Where a run stands in the order of acceptance. One that is gone stands where its id, which
/// holds the time it was made, would.
fn place(sql: &Connection, run: RunId) -> rusqlite::Result<i64> {
    let id = &run.0.as_bytes()[..];
    let found = sql
        .prepare_cached("SELECT row_id FROM runs WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    if let Some(place) = found {
        return Ok(place);
    }
    let older: Option<i64> = sql
        .prepare_cached(OLDER)?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(older.map_or(0, |older| older + 1))
}

pub(crate) const OLDER: &str = "SELECT row_id FROM runs WHERE id < ?1 ORDER BY id DESC LIMIT 1";

/// The run under way in a session, or else its latest.
pub(crate) fn latest(sql: &Connection, session: &SessionRef) -> Result<Option<RunRow>, Trouble> {
    let head = find_head(sql, session)?.ok_or_else(|| missing(session))?;
    for query in [under_way(), newest()] {
        let found = sql
            .prepare_cached(&query)?
            .query_row([head.row_id], from_row)
            .optional()?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

pub(crate) fn under_way() -> String {
    format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE r.session = ?1 AND r.state <> 'done'
         AND +r.state <> 'queued' LIMIT 1"
    )
}

pub(crate) fn newest() -> String {
    format!("SELECT {COLUMNS} FROM {TABLES} WHERE r.session = ?1 ORDER BY r.row_id DESC LIMIT 1")
}

/// The first run of a session that has not ended, in the order they were accepted.
pub(crate) fn next(sql: &Connection, session: &SessionRef) -> Result<Option<RunRow>, Trouble> {
    let head = find_head(sql, session)?.ok_or_else(|| missing(session))?;
    let mut select = sql.prepare_cached(&first_live())?;
    Ok(select.query_row([head.row_id], from_row).optional()?)
}

pub(crate) fn first_live() -> String {
    format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE r.session = ?1 AND r.state <> 'done'
         ORDER BY r.row_id LIMIT 1"
    )
}

/// The rows of all that have not ended, in the order they were accepted.
pub(crate) fn unfinished(sql: &Connection) -> Result<Vec<i64>, Trouble> {
    let mut select = sql.prepare_cached(UNFINISHED)?;
    let rows = select.query_map([], |row| row.get(0))?;
    let mut rows = rows.collect::<Result<Vec<i64>, _>>()?;
    rows.sort_unstable();
    Ok(rows)
}

pub(crate) const UNFINISHED: &str =
    "SELECT row_id FROM runs INDEXED BY runs_state WHERE state <> 'done'";

/// The runs at these rows; those that are gone are left out.
pub(crate) fn at_rows(sql: &Connection, rows: &[i64]) -> Result<Vec<RunRow>, Trouble> {
    let mut select = sql.prepare_cached(&at_row())?;
    let mut runs = Vec::with_capacity(rows.len());
    for row in rows {
        runs.extend(select.query_row([row], from_row).optional()?);
    }
    Ok(runs)
}

pub(crate) fn at_row() -> String {
    format!("SELECT {COLUMNS} FROM {TABLES} WHERE r.row_id = ?1")
}

/// Where a run's parameters are.
pub(crate) fn params(sql: &Connection, run: RunId) -> Result<Option<Stored>, Trouble> {
    let mut select = sql.prepare_cached(PARAMS)?;
    let found = select.query_row([&run.0.as_bytes()[..]], |row| Stored::from_row(row, 0));
    Ok(found.optional()?)
}

pub(crate) const PARAMS: &str = "SELECT t.params, t.params_blob FROM runs r
    CROSS JOIN sessions s ON s.row_id = r.session CROSS JOIN run_tasks t ON t.run = r.row_id
    WHERE r.id = ?1";

pub(crate) fn stats(sql: &Connection) -> Result<RunStats, Trouble> {
    let mut stats = RunStats {
        cost: costs::all(sql)?,
        ..RunStats::default()
    };
    let runs = sql
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'runs'")?
        .query_row([], |row| number(row, 0));
    stats.runs = runs.optional()?.unwrap_or(0);
    let mut select = sql.prepare_cached(LIVE_STATES)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (state, count) = (row.get::<_, String>(0)?, number(row, 1)?);
        match state.as_str() {
            "queued" => stats.queued += count,
            "waiting" | "in-doubt" | "paused" => {
                stats.active += count;
                stats.waiting += count;
            }
            _ => stats.active += count,
        }
    }
    Ok(stats)
}

pub(crate) const LIVE_STATES: &str = "SELECT state, count(*) FROM runs INDEXED BY runs_state
    WHERE state <> 'done' GROUP BY state";

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
