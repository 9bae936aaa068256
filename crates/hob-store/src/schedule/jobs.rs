//! Adding, changing and removing jobs.

use super::types::JobRow;
use crate::audit::{RuleChange, granted_rules};
use crate::batch::WriteBatch;
use crate::checksums::JOBS;
use crate::checksums::damage::stored_text;
use crate::error::{QueryError, StoreError};
use crate::store::to_json;
use crate::value::int;
use hob_wire::limits::MESSAGE_BYTES_MAX;
use hob_wire::rooms::cron::{CronChange, CronChanged, CronChangedPayload};
use rusqlite::OptionalExtension;

/// Jobs of a home.
const JOBS_MAX: u64 = 20_000;

/// Refuses a job that is too large; returns the bytes to write.
pub(super) fn check(job: &JobRow, rules: &[RuleChange]) -> Result<usize, StoreError> {
    let bytes = terms_json(job)?.len();
    if bytes > MESSAGE_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "A job takes at most {MESSAGE_BYTES_MAX} bytes."
        )));
    }
    Ok(bytes + granted_rules::check(rules)?)
}

/// Encodes the terms without the grants, which the rules hold.
fn terms_json(job: &JobRow) -> Result<String, StoreError> {
    if job.terms.grants.is_empty() {
        return to_json(&job.terms);
    }
    let mut kept = job.terms.clone();
    kept.grants.clear();
    to_json(&kept)
}

pub(super) fn insert(
    batch: &mut WriteBatch<'_>,
    job: &JobRow,
    rules: &[RuleChange],
) -> Result<(), QueryError> {
    let kept: u64 = batch
        .sql
        .prepare_cached("SELECT count(*) FROM jobs")?
        .query_row([], |row| crate::value::number(row, 0))?;
    if kept >= JOBS_MAX {
        let message = format!("There are {JOBS_MAX} jobs already; remove some first.");
        return Err(StoreError::Conflict(message).into());
    }
    check_name(batch, job)?;
    batch.sql.prepare_cached(INSERT)?.execute((
        &job.id,
        &job.terms.name,
        terms_json(job)?,
        job.enabled,
        int(job.cursor_ms),
        job.failures,
        &job.problem,
        &job.nonce,
        int(job.created_at),
        int(job.updated_at),
    ))?;
    // The checksum covers the row id, which SQLite chooses at the insert.
    JOBS.write_checksum(batch.sql, [batch.sql.last_insert_rowid()])?;
    granted_rules::apply(batch, rules)?;
    log_change(batch, job, CronChange::Added)
}

/// Stores what a person changed of a job. The cursor and the failures belong to the slots, unless
/// the job is reset.
pub(super) fn update(
    batch: &mut WriteBatch<'_>,
    job: &JobRow,
    rules: &[RuleChange],
    change: JobUpdate,
) -> Result<(), QueryError> {
    check_name(batch, job)?;
    let Some(row) = find_whole(batch, &job.id)? else {
        return Err(missing(&job.terms.name).into());
    };
    batch.sql.prepare_cached(UPDATE)?.execute((
        &job.id,
        &job.terms.name,
        terms_json(job)?,
        job.enabled,
        &job.nonce,
        int(job.updated_at),
    ))?;
    if change.resets {
        batch
            .sql
            .prepare_cached(
                "UPDATE jobs SET cursor = ?2, failures = 0, problem = NULL WHERE id = ?1",
            )?
            .execute((&job.id, int(job.cursor_ms)))?;
    }
    // Once, after both updates: the checksum covers the columns of both.
    JOBS.write_checksum(batch.sql, [row])?;
    granted_rules::apply(batch, rules)?;
    log_change(batch, job, change.kind)
}

/// The kind of a job's change, for its event.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobUpdate {
    pub(super) kind: CronChange,
    /// Takes the cursor from the row, and clears the failures.
    pub(super) resets: bool,
}

pub(super) fn remove(
    batch: &mut WriteBatch<'_>,
    id: &str,
    rules: &[RuleChange],
) -> Result<(), QueryError> {
    // A damaged job may be known by its name only, and an index may not find it.
    let found: Option<(i64, String, String)> = batch
        .sql
        .prepare_cached("SELECT row_id, id, name FROM jobs WHERE +id = ?1 OR +name = ?1")?
        .query_row([id], |row| {
            let text = |column| Ok::<_, rusqlite::Error>(stored_text(row.get_ref(column)?));
            Ok((
                row.get(0)?,
                text(1)?.unwrap_or_default(),
                text(2)?.unwrap_or_default(),
            ))
        })
        .optional()?;
    let (row, id, name) = found.ok_or_else(|| missing(id))?;
    batch
        .sql
        .prepare_cached("DELETE FROM slots WHERE job = ?1")?
        .execute([row])?;
    // SQLite refuses to delete a row whose index entry does not match.
    JOBS.retry_after_reindex(batch.sql, || {
        let delete = "DELETE FROM jobs WHERE row_id = ?1";
        batch.sql.prepare_cached(delete)?.execute([row])
    })?;
    granted_rules::apply(batch, rules)?;
    log_job_change(batch, &id, &name, CronChange::Removed)
}

pub(super) fn missing(name: &str) -> StoreError {
    StoreError::NotFound(format!("There is no job '{name}'."))
}

/// Returns the row of the job with this id, which is about to be changed; refuses a damaged one.
pub(super) fn find_whole(batch: &WriteBatch<'_>, id: &str) -> Result<Option<i64>, QueryError> {
    let row: Option<i64> = batch
        .sql
        .prepare_cached("SELECT row_id FROM jobs WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    if let Some(row) = row {
        JOBS.refuse_damaged(batch.sql, [row], (row, 0))?;
    }
    Ok(row)
}

fn check_name(batch: &WriteBatch<'_>, job: &JobRow) -> Result<(), QueryError> {
    let taken = batch
        .sql
        .prepare_cached("SELECT 1 FROM jobs WHERE name = ?1 AND id <> ?2")?
        .exists((&job.terms.name, &job.id))?;
    if taken {
        let message = format!("There is a job '{}' already.", job.terms.name);
        return Err(StoreError::Conflict(message).into());
    }
    Ok(())
}

fn log_change(
    batch: &mut WriteBatch<'_>,
    job: &JobRow,
    change: CronChange,
) -> Result<(), QueryError> {
    log_job_change(batch, &job.id, &job.terms.name, change)
}

/// Logs a change of a job.
pub(super) fn log_job_change(
    batch: &mut WriteBatch<'_>,
    id: &str,
    name: &str,
    change: CronChange,
) -> Result<(), QueryError> {
    let payload = CronChangedPayload {
        id: id.to_owned(),
        name: name.to_owned(),
        change,
    };
    Ok(batch.log_topic::<CronChanged>(&payload)?)
}

const INSERT: &str = "INSERT INTO jobs
     (id, name, terms, enabled, cursor, failures, problem, nonce, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const UPDATE: &str = "UPDATE jobs SET name = ?2, terms = ?3, enabled = ?4, nonce = ?5,
     updated_at = ?6 WHERE id = ?1";
