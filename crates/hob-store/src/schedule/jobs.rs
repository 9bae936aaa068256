//! Adding, changing and removing jobs.

use super::words::JobRow;
use crate::batch::Batch;
use crate::checksums::JOBS;
use crate::checksums::damage::stored_text;
use crate::error::{StoreError, Trouble};
use crate::judgements::{RuleChange, granted};
use crate::store::to_json;
use crate::value::int;
use hob_wire::limits::MESSAGE_BYTES_MAX;
use hob_wire::rooms::cron::{CronChange, CronChanged, CronChangedPayload};
use rusqlite::OptionalExtension;

/// Jobs of a house.
const JOBS_MAX: u64 = 20_000;

/// Refuses what is out of bounds; answers how much there is to write.
pub(super) fn check(job: &JobRow, rules: &[RuleChange]) -> Result<usize, StoreError> {
    let bytes = terms(job)?.len();
    if bytes > MESSAGE_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "A job takes at most {MESSAGE_BYTES_MAX} bytes."
        )));
    }
    Ok(bytes + granted::check(rules)?)
}

/// The terms as they are kept: without what the job was granted, which the rules say.
fn terms(job: &JobRow) -> Result<String, StoreError> {
    if job.terms.grants.is_empty() {
        return to_json(&job.terms);
    }
    let mut kept = job.terms.clone();
    kept.grants.clear();
    to_json(&kept)
}

pub(super) fn insert(
    batch: &mut Batch<'_>,
    job: &JobRow,
    rules: &[RuleChange],
) -> Result<(), Trouble> {
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
        terms(job)?,
        job.enabled,
        int(job.cursor_ms),
        job.failures,
        &job.problem,
        &job.nonce,
        int(job.created_at),
        int(job.updated_at),
    ))?;
    JOBS.seal(batch.sql, [batch.sql.last_insert_rowid()])?;
    granted::apply(batch, rules)?;
    tell(batch, job, CronChange::Added)
}

/// Keeps what a person says of a job. The cursor and the failures are the slots' business, unless
/// the job begins anew.
pub(super) fn update(
    batch: &mut Batch<'_>,
    job: &JobRow,
    rules: &[RuleChange],
    change: Change,
) -> Result<(), Trouble> {
    check_name(batch, job)?;
    let Some(row) = whole(batch, &job.id)? else {
        return Err(missing(&job.terms.name).into());
    };
    batch.sql.prepare_cached(UPDATE)?.execute((
        &job.id,
        &job.terms.name,
        terms(job)?,
        job.enabled,
        &job.nonce,
        int(job.updated_at),
    ))?;
    if change.anew {
        batch
            .sql
            .prepare_cached(
                "UPDATE jobs SET cursor = ?2, failures = 0, problem = NULL WHERE id = ?1",
            )?
            .execute((&job.id, int(job.cursor_ms)))?;
    }
    JOBS.seal(batch.sql, [row])?;
    granted::apply(batch, rules)?;
    tell(batch, job, change.told)
}

/// A change of a job as its event tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) told: CronChange,
    /// Its cursor is the row's from now on, and its failures are forgotten.
    pub(super) anew: bool,
}

pub(super) fn remove(batch: &mut Batch<'_>, id: &str, rules: &[RuleChange]) -> Result<(), Trouble> {
    // A damaged one is known by its name only, and not to be found by an index.
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
    JOBS.despite_damage(batch.sql, || {
        let delete = "DELETE FROM jobs WHERE row_id = ?1";
        batch.sql.prepare_cached(delete)?.execute([row])
    })?;
    granted::apply(batch, rules)?;
    changed(batch, &id, &name, CronChange::Removed)
}

pub(super) fn missing(name: &str) -> StoreError {
    StoreError::NotFound(format!("There is no job '{name}'."))
}

/// The row of the job with this id, which is about to be changed; refuses a damaged one.
pub(super) fn whole(batch: &Batch<'_>, id: &str) -> Result<Option<i64>, Trouble> {
    let row: Option<i64> = batch
        .sql
        .prepare_cached("SELECT row_id FROM jobs WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    if let Some(row) = row {
        JOBS.check(batch.sql, [row], (row, 0))?;
    }
    Ok(row)
}

fn check_name(batch: &Batch<'_>, job: &JobRow) -> Result<(), Trouble> {
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

fn tell(batch: &mut Batch<'_>, job: &JobRow, change: CronChange) -> Result<(), Trouble> {
    changed(batch, &job.id, &job.terms.name, change)
}

/// Logs that a job was changed.
pub(super) fn changed(
    batch: &mut Batch<'_>,
    id: &str,
    name: &str,
    change: CronChange,
) -> Result<(), Trouble> {
    let payload = CronChangedPayload {
        id: id.to_owned(),
        name: name.to_owned(),
        change,
    };
    Ok(batch.tell::<CronChanged>(&payload)?)
}

const INSERT: &str = "INSERT INTO jobs
     (id, name, terms, enabled, cursor, failures, problem, nonce, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const UPDATE: &str = "UPDATE jobs SET name = ?2, terms = ?3, enabled = ?4, nonce = ?5,
     updated_at = ?6 WHERE id = ?1";
