//! Reads of runs: one, a session's latest, a listing, the unfinished ones, and counts. Every page
//! is bounded by rows and bytes, and holds at least one row if there is any.

use super::costs;
use super::journal::StoredValue;
use super::row::{COLUMNS, TABLES, one, read, state_name};
use super::types::{RunPage, RunRow, RunStats};
use crate::checksums::RUN_TASKS;
use crate::checksums::damage::{WithDamage, damaged_row_error};
use crate::error::{QueryError, StoreError};
use crate::sessions::row::{find_head, missing};
use crate::value::{int, number, uuid};
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::agent::RunState;
use rusqlite::{Connection, OptionalExtension, ToSql};
use std::sync::LazyLock;

/// The filter of a listing.
#[derive(Clone, Debug)]
pub(crate) struct RunFilter {
    pub(crate) session: Option<SessionRef>,
    pub(crate) state: Option<RunState>,
    pub(crate) rows_max: usize,
    pub(crate) before: Option<RunId>,
}

pub(crate) fn list(sql: &Connection, filter: &RunFilter) -> Result<RunPage, QueryError> {
    let session = match &filter.session {
        None => None,
        Some(session) => {
            let head = find_head(sql, session)?;
            Some(head.ok_or_else(|| missing(session))?.row_id)
        }
    };
    let before = match filter.before {
        None => i64::MAX,
        Some(run) => row_before(sql, run)?,
    };
    let state = filter.state.map(state_name);
    // One row more than asked for shows whether there is another page.
    let rows_max = int(filter.rows_max as u64 + 1);
    let mut select = sql.prepare_cached(&listing(session.is_some(), filter.state))?;
    let mut given: Vec<&dyn ToSql> = vec![&before, &rows_max];
    given.extend(session.as_ref().map(|session| session as &dyn ToSql));
    given.extend(state.as_ref().map(|state| state as &dyn ToSql));
    let mut rows = select.query(&given[..])?;
    let mut page = RunPage::default();
    let (mut bytes, mut taken, mut last) = (0, 0, None);
    while let Some(row) = rows.next()? {
        // The id of a damaged row may be unreadable. The cursor then stays at the row before.
        let id = uuid(row, 0).ok().map(RunId);
        let run = match read(sql, row) {
            Err(QueryError::Refused(StoreError::DamagedRow(damaged))) => Err(*damaged),
            run => Ok(run?),
        };
        bytes += 1_024;
        bytes += run
            .as_ref()
            .map_or(0, |run| run.task.len() + run.summary.text.len());
        let full = taken >= filter.rows_max || bytes > PAGE_BYTES_MAX;
        if full && taken > 0 {
            page.next = last;
            return Ok(page);
        }
        (taken, last) = (taken + 1, id.or(last));
        match run {
            Ok(run) => page.runs.push(run),
            Err(damaged) => page.damaged.push(damaged),
        }
    }
    Ok(page)
}

/// Returns the query of a listing: `?1` the row before which it begins, `?2` its rows, then session
/// and state if given.
pub(crate) fn listing(of_session: bool, state: Option<RunState>) -> String {
    let session = if of_session { "r.session = ?3 AND" } else { "" };
    let number = if of_session { 4 } else { 3 };
    let state = match state {
        None => String::new(),
        // Nearly all runs are done, so the listing skips few others. `+` keeps SQLite from the
        // index of states.
        Some(RunState::Done) => format!("+r.state = ?{number} AND"),
        Some(_) if of_session => format!("+r.state = ?{number} AND r.state <> 'done' AND"),
        Some(_) => format!("r.state = ?{number} AND r.state <> 'done' AND"),
    };
    format!(
        "SELECT {} FROM {TABLES} WHERE {session} {state} r.row_id < ?1
         ORDER BY r.row_id DESC LIMIT ?2",
        *COLUMNS
    )
}

/// Returns the row of a run, before which a listing begins. A deleted run is placed by its id,
/// which contains the time it was made.
fn row_before(sql: &Connection, run: RunId) -> rusqlite::Result<i64> {
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
    // The listing takes rows below this number, so the next older run is included.
    Ok(older.map_or(0, |older| older + 1))
}

pub(crate) const OLDER: &str = "SELECT row_id FROM runs WHERE id < ?1 ORDER BY id DESC LIMIT 1";

/// Returns the active run of a session, or else its latest.
pub(crate) fn latest(sql: &Connection, session: &SessionRef) -> Result<Option<RunRow>, QueryError> {
    let head = find_head(sql, session)?.ok_or_else(|| missing(session))?;
    for query in [under_way(), newest()] {
        let found = one(sql, &query, [head.row_id])?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

pub(crate) fn under_way() -> String {
    format!(
        // `+` keeps SQLite from the index of states, so that it finds the run by its session.
        "SELECT {} FROM {TABLES} WHERE r.session = ?1 AND r.state <> 'done'
         AND +r.state <> 'queued' LIMIT 1",
        *COLUMNS
    )
}

pub(crate) fn newest() -> String {
    format!(
        "SELECT {} FROM {TABLES} WHERE r.session = ?1 ORDER BY r.row_id DESC LIMIT 1",
        *COLUMNS
    )
}

/// Returns the oldest run of a session that has not ended.
pub(crate) fn next(sql: &Connection, session: &SessionRef) -> Result<Option<RunRow>, QueryError> {
    let head = find_head(sql, session)?.ok_or_else(|| missing(session))?;
    one(sql, &first_live(), [head.row_id])
}

pub(crate) fn first_live() -> String {
    format!(
        "SELECT {} FROM {TABLES} WHERE r.session = ?1 AND r.state <> 'done'
         ORDER BY r.row_id LIMIT 1",
        *COLUMNS
    )
}

/// Returns the row ids of all unfinished runs, in the order of acceptance.
pub(crate) fn unfinished(sql: &Connection) -> Result<Vec<i64>, QueryError> {
    let mut select = sql.prepare_cached(UNFINISHED)?;
    let rows = select.query_map([], |row| row.get(0))?;
    let mut rows = rows.collect::<Result<Vec<i64>, _>>()?;
    // The index is ordered by state; row ids are in the order of acceptance.
    rows.sort_unstable();
    Ok(rows)
}

// The partial index holds only the live runs; a scan would read every run there ever was.
pub(crate) const UNFINISHED: &str =
    "SELECT row_id FROM runs INDEXED BY runs_state WHERE state <> 'done'";

/// Returns the runs at these rows, without deleted and damaged ones.
pub(crate) fn at_rows(
    sql: &Connection,
    rows: &[i64],
) -> Result<WithDamage<Vec<RunRow>>, QueryError> {
    let mut found = WithDamage::<Vec<RunRow>>::default();
    for row in rows {
        match one(sql, &at_row(), [row]) {
            Err(QueryError::Refused(StoreError::DamagedRow(row))) => found.damaged.push(*row),
            run => found.rows.extend(run?),
        }
    }
    Ok(found)
}

pub(crate) fn at_row() -> String {
    format!("SELECT {} FROM {TABLES} WHERE r.row_id = ?1", *COLUMNS)
}

/// Returns the place where a run's parameters are stored.
pub(crate) fn params(sql: &Connection, run: RunId) -> Result<Option<StoredValue>, QueryError> {
    let mut select = sql.prepare_cached(&PARAMS)?;
    let mut rows = select.query([&run.0.as_bytes()[..]])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let row_id: i64 = row.get(2)?;
    if !RUN_TASKS.is_whole(sql, row, 3, (row_id, 0))? {
        return Err(damaged_row_error(RUN_TASKS.damaged_at(sql, [row_id])?));
    }
    Ok(Some(StoredValue::from_row(row, 0)?))
}

pub(crate) static PARAMS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT t.params, t.params_blob, t.run, {} FROM runs r
         CROSS JOIN sessions s ON s.row_id = r.session CROSS JOIN run_tasks t ON t.run = r.row_id
         WHERE r.id = ?1",
        RUN_TASKS.checksum_state_sql("t")
    )
});

pub(crate) fn stats(sql: &Connection) -> Result<RunStats, QueryError> {
    let mut stats = RunStats {
        cost: costs::all(sql)?,
        ..RunStats::default()
    };
    // The sequence counts deleted runs too, and counting the rows would scan the table.
    let runs = sql
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'runs'")?
        .query_row([], |row| number(row, 0));
    stats.runs = runs.optional()?.unwrap_or(0);
    let mut select = sql.prepare_cached(LIVE_STATES)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (name, count) = (row.get::<_, String>(0)?, number(row, 1)?);
        match name.as_str() {
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
