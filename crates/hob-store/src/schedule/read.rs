//! Reads of jobs and slots.

use super::jobs::missing;
use super::types::{JobRow, SlotRow};
use crate::checksums::JOBS;
use crate::checksums::damage::{ScanPage, WithDamage};
use crate::error::QueryError;
use crate::value::{int, number, optional_number, optional_uuid};
use hob_wire::RunId;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::cron::{CronHistoryResult, JobDefinition, JobSlot, SlotOrigin, SlotState};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Selects a slot with its job, for `slot_row`.
pub(super) const SLOT: &str = "SELECT s.number, j.id, j.name, s.due_at, s.origin, s.state,
     s.reason, s.stands_for, s.session_key, s.run, s.exit_code, s.output, s.cost, s.attempt,
     s.started_at, s.ended_at, s.key, s.begin_at, s.task, s.denied_calls, s.failed_calls
     FROM slots s JOIN jobs j ON j.row_id = s.job";

const ORIGINS: [(SlotOrigin, &str); 3] = [
    (SlotOrigin::Schedule, "schedule"),
    (SlotOrigin::Manual, "manual"),
    (SlotOrigin::Webhook, "webhook"),
];

const STATES: [(SlotState, &str); 9] = [
    (SlotState::Due, "due"),
    (SlotState::Running, "running"),
    (SlotState::Ran, "ran"),
    (SlotState::RanWithDenials, "ran_with_denials"),
    (SlotState::RanWithFailures, "ran_with_failures"),
    (SlotState::Failed, "failed"),
    (SlotState::Skipped, "skipped"),
    (SlotState::Missed, "missed"),
    (SlotState::Stopped, "stopped"),
];

pub(super) fn origin_name(origin: SlotOrigin) -> &'static str {
    let mut names = ORIGINS.iter();
    names
        .find(|(one, _)| *one == origin)
        .map_or("", |(_, name)| name)
}

pub(super) fn state_name(state: SlotState) -> &'static str {
    let mut names = STATES.iter();
    names
        .find(|(one, _)| *one == state)
        .map_or("", |(_, name)| name)
}

/// The filter of a history.
#[derive(Debug)]
pub(super) struct SlotFilter {
    /// The job's id.
    pub(super) job: Option<String>,
    pub(super) state: Option<SlotState>,
    pub(super) before: Option<u64>,
    pub(super) rows: usize,
}

/// Returns jobs in the order they were added, after a row, and the last row read, if there was one.
pub(super) fn jobs(
    sql: &Connection,
    after: i64,
    rows: usize,
) -> Result<WithDamage<ScanPage<JobRow>>, QueryError> {
    let mut select = sql.prepare_cached(&JOB)?;
    let mut rows = select.query((after, int(rows as u64)))?;
    let mut page = WithDamage::<ScanPage<JobRow>>::default();
    while let Some(row) = rows.next()? {
        let row_id: i64 = row.get(9)?;
        // Set for a damaged row too, or the next page would read it again.
        page.rows.1 = Some(row_id);
        if JOBS.is_whole(sql, row, 10, (row_id, 0))? {
            page.rows.0.push(job_row(row)?);
        } else {
            page.damaged.push(JOBS.damaged_at(sql, [row_id])?);
        }
    }
    Ok(page)
}

static JOB: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT j.id, j.terms, j.enabled, j.cursor, j.failures, j.problem, j.nonce, j.created_at,
         j.updated_at, j.row_id, {} FROM jobs j WHERE j.row_id > ?1 ORDER BY j.row_id LIMIT ?2",
        JOBS.checksum_state_sql("j")
    )
});

fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let terms = serde_json::from_str(row.get_ref(1)?.as_str()?);
    let mut terms: JobDefinition = terms.map_err(|error| FromSqlError::Other(Box::new(error)))?;
    // Jobs of earlier versions have their own list. Only the stored rules count.
    terms.grants.clear();
    Ok(JobRow {
        id: row.get(0)?,
        terms,
        enabled: row.get(2)?,
        cursor_ms: number(row, 3)?,
        failures: row.get(4)?,
        problem: row.get(5)?,
        nonce: row.get(6)?,
        created_at: number(row, 7)?,
        updated_at: number(row, 8)?,
    })
}

pub(super) fn live(sql: &Connection, after: u64, rows: usize) -> Result<Vec<SlotRow>, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{SLOT} WHERE s.state IN ('due', 'running') AND s.number > ?1
         ORDER BY s.number LIMIT ?2"
    ))?;
    let found = select.query_map((int(after), int(rows as u64)), slot_row)?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn history(
    sql: &Connection,
    filter: &SlotFilter,
) -> Result<CronHistoryResult, QueryError> {
    let job: Option<i64> = match &filter.job {
        None => None,
        Some(id) => {
            let mut find = sql.prepare_cached("SELECT row_id FROM jobs WHERE id = ?1")?;
            let found = find.query_row([id], |row| row.get(0)).optional()?;
            Some(found.ok_or_else(|| missing(id))?)
        }
    };
    // A condition that is optional in the SQL would keep SQLite from using the index by job.
    let of_job = if job.is_some() {
        "s.job = ?1"
    } else {
        "?1 IS NULL"
    };
    let mut select = sql.prepare_cached(&format!(
        "{SLOT} WHERE {of_job} AND (?2 IS NULL OR s.state = ?2) AND s.number < ?3
         ORDER BY s.number DESC LIMIT ?4"
    ))?;
    let mut rows = select.query((
        job,
        filter.state.map(state_name),
        int(filter.before.unwrap_or(u64::MAX)),
        int(filter.rows as u64 + 1),
    ))?;
    let (mut slots, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        if slots.len() >= filter.rows || bytes >= PAGE_BYTES_MAX {
            return Ok(CronHistoryResult { slots, more: true });
        }
        let slot = slot_row(row)?.slot;
        bytes += slot.output.as_ref().map_or(0, String::len);
        slots.push(slot);
    }
    Ok(CronHistoryResult { slots, more: false })
}

pub(super) fn last(
    sql: &Connection,
    jobs: &[String],
) -> Result<BTreeMap<String, JobSlot>, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{SLOT} WHERE s.number = (SELECT max(o.number) FROM slots o
            WHERE o.job = (SELECT row_id FROM jobs WHERE id = ?1)
            AND o.state NOT IN ('due', 'running'))"
    ))?;
    let mut found = BTreeMap::new();
    for job in jobs {
        if let Some(row) = select.query_row([job], slot_row).optional()? {
            found.insert(job.clone(), row.slot);
        }
    }
    Ok(found)
}

pub(super) fn slot_row(row: &Row<'_>) -> rusqlite::Result<SlotRow> {
    let unknown = |word: &str| FromSqlError::Other(format!("'{word}' is unknown").into());
    let origin = row.get_ref(4)?.as_str()?;
    let state = row.get_ref(5)?.as_str()?;
    let origin = ORIGINS.iter().find(|(_, name)| *name == origin);
    let state_known = STATES.iter().find(|(_, name)| *name == state);
    let cost = match row.get_ref(12)?.as_str_or_null()? {
        None => Ok(None),
        Some(json) => serde_json::from_str(json).map(Some),
    };
    let cost = cost.map_err(|error| FromSqlError::Other(Box::new(error)))?;
    Ok(SlotRow {
        slot: JobSlot {
            number: number(row, 0)?,
            task_id: row.get(1)?,
            name: row.get(2)?,
            due_at: number(row, 3)?,
            origin: origin.ok_or_else(|| unknown("origin"))?.0,
            state: state_known.ok_or_else(|| unknown(state))?.0,
            reason: row.get(6)?,
            stands_for: number(row, 7)?,
            session_key: row.get(8)?,
            run_id: optional_uuid(row, 9)?.map(RunId),
            exit_code: row.get(10)?,
            output: row.get(11)?,
            cost: cost.unwrap_or_default(),
            denied_calls: row.get(19)?,
            failed_calls: row.get(20)?,
            attempt: row.get(13)?,
            started_at: optional_number(row, 14)?,
            ended_at: optional_number(row, 15)?,
        },
        key: row.get(16)?,
        begin_ms: number(row, 17)?,
        own_task: row.get(18)?,
    })
}
