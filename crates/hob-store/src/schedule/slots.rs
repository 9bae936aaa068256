//! The commands of a slot: open, begin, end.

use super::jobs::{find_whole, log_job_change};
use super::read::{self, SLOT};
use super::types::{NewSlot, SlotEnd, SlotOpenResult, SlotOpening, SlotRow};
use crate::batch::WriteBatch;
use crate::checksums::JOBS;
use crate::error::QueryError;
use crate::store::to_json;
use crate::value::{int, number};
use hob_wire::RunId;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{
    CronChange, CronSlot, CronTrigger, CronTriggerPayload, JobSlot, SlotState,
};
use rusqlite::OptionalExtension;

/// Stored slots of one job.
const KEPT_MAX: u64 = 1_000;
/// The time for which they are stored; the last one stays.
const AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Old slots of a job are deleted when its slots pass a multiple of this in the numbers that all
/// jobs share. So a job has at most this many slots too many, however many jobs there are.
const TRIM_EVERY: u64 = 50;
/// Slots of one job deleted at once; the next trim continues.
const TRIM_STEP: u64 = 2_000;
/// The bytes of a slot's output in its event.
const EVENT_OUTPUT_BYTES_MAX: usize = 1_024;

/// The job of a slot.
struct SlotJob {
    row: i64,
    id: String,
    name: String,
}

pub(super) fn open(
    batch: &mut WriteBatch<'_>,
    openings: &[SlotOpening],
) -> Result<Vec<SlotOpenResult>, QueryError> {
    let mut opened = Vec::new();
    for opening in openings {
        let found: Option<(i64, String)> = batch
            .sql
            .prepare_cached("SELECT row_id, name FROM jobs WHERE id = ?1")?
            .query_row([&opening.job], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        // The job was removed meanwhile and has no slots any more.
        let Some((row, name)) = found else {
            continue;
        };
        let job = SlotJob {
            row,
            id: opening.job.clone(),
            name,
        };
        // Before the cursor moves: its new checksum would hide the damage.
        JOBS.refuse_damaged(batch.sql, [row], (row, 0))?;
        if let Some(cursor_ms) = opening.cursor_ms {
            batch
                .sql
                .prepare_cached("UPDATE jobs SET cursor = ?2 WHERE row_id = ?1")?
                .execute((row, int(cursor_ms)))?;
            JOBS.write_checksum(batch.sql, [row])?;
        }
        for slot in &opening.slots {
            opened.push(open_one(batch, &job, slot)?);
        }
    }
    Ok(opened)
}

fn open_one(
    batch: &mut WriteBatch<'_>,
    job: &SlotJob,
    new: &NewSlot,
) -> Result<SlotOpenResult, QueryError> {
    // After a crash the same due time is decided again. The first slot stands.
    if let Some(row) = find_duplicate(batch, job, new)? {
        return Ok(SlotOpenResult {
            row,
            duplicate: true,
        });
    }
    // A call that may come again later gets a new key each time.
    let key = match new.same_within_ms {
        Some(_) => format!("{}@{}", new.key, batch.now_ms),
        None => new.key.clone(),
    };
    let is_over = new.state != SlotState::Due;
    let ended_at = is_over.then_some(int(batch.now_ms));
    let inserted = batch.sql.prepare_cached(INSERT)?.insert(rusqlite::params![
        job.row,
        key,
        int(new.due_ms),
        int(new.begin_ms),
        read::origin_name(new.origin),
        read::state_name(new.state),
        new.reason,
        int(new.stands_for),
        new.session_key,
        new.own_task,
        ended_at,
    ])?;
    let slot = JobSlot {
        number: crate::value::uint(inserted),
        task_id: job.id.clone(),
        name: job.name.clone(),
        due_at: new.due_ms,
        origin: new.origin,
        state: new.state,
        reason: new.reason.clone(),
        stands_for: new.stands_for,
        session_key: new.session_key.clone(),
        run_id: None,
        exit_code: None,
        output: None,
        cost: Cost::default(),
        denied_calls: 0,
        failed_calls: 0,
        attempt: 0,
        started_at: None,
        ended_at: is_over.then_some(batch.now_ms),
    };
    announce_slot(batch, &slot, new)?;
    if is_trim_due(batch, job.row, slot.number)? {
        trim(batch, job.row)?;
    }
    Ok(SlotOpenResult {
        row: SlotRow {
            slot,
            key,
            begin_ms: new.begin_ms,
            own_task: new.own_task.clone(),
        },
        duplicate: false,
    })
}

/// Logs the event of an opened slot: due now, or decided already.
fn announce_slot(
    batch: &mut WriteBatch<'_>,
    slot: &JobSlot,
    new: &NewSlot,
) -> Result<(), QueryError> {
    if slot.state != SlotState::Due {
        batch.log_topic::<CronSlot>(slot)?;
        return Ok(());
    }
    let trigger = CronTriggerPayload {
        task_id: slot.task_id.clone(),
        task: new.task.clone(),
        session_key: new.session_key.clone().unwrap_or_default(),
        name: slot.name.clone(),
        slot: slot.number,
        due_at: new.due_ms,
    };
    batch.log_topic::<CronTrigger>(&trigger)?;
    Ok(())
}

/// Returns the existing slot for this opening, if there is one.
fn find_duplicate(
    batch: &WriteBatch<'_>,
    job: &SlotJob,
    new: &NewSlot,
) -> Result<Option<SlotRow>, QueryError> {
    let Some(within_ms) = new.same_within_ms else {
        let found = format!("{SLOT} WHERE s.job = ?1 AND s.key = ?2");
        let mut select = batch.sql.prepare_cached(&found)?;
        let row = select.query_row((job.row, &new.key), read::slot_row);
        return Ok(row.optional()?);
    };
    // `@` is the character before `A`: keys with this prefix lie between these two.
    let (from, to) = (format!("{}@", new.key), format!("{}A", new.key));
    let since = batch.now_ms.saturating_sub(within_ms);
    let found = format!(
        "{SLOT} WHERE s.job = ?1 AND s.key >= ?2 AND s.key < ?3 AND s.due_at >= ?4
         ORDER BY s.number DESC LIMIT 1"
    );
    let mut select = batch.sql.prepare_cached(&found)?;
    let row = select.query_row((job.row, from, to, int(since)), read::slot_row);
    Ok(row.optional()?)
}

/// True if a multiple of [`TRIM_EVERY`] lies between the job's slot before this one and this one.
fn is_trim_due(batch: &WriteBatch<'_>, job: i64, slot: u64) -> Result<bool, QueryError> {
    let former: Option<u64> = batch
        .sql
        .prepare_cached(
            "SELECT number FROM slots WHERE job = ?1 AND number < ?2 ORDER BY number DESC LIMIT 1",
        )?
        .query_row((job, int(slot)), |row| number(row, 0))
        .optional()?;
    Ok(former.is_some_and(|former| former / TRIM_EVERY < slot / TRIM_EVERY))
}

/// Deletes old slots of a job.
fn trim(batch: &WriteBatch<'_>, job: i64) -> Result<(), QueryError> {
    let beyond: Option<i64> = batch
        .sql
        .prepare_cached(
            "SELECT number FROM slots WHERE job = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2",
        )?
        .query_row((job, int(KEPT_MAX)), |row| row.get(0))
        .optional()?;
    batch
        .sql
        .prepare_cached(
            "DELETE FROM slots WHERE number IN
             (SELECT number FROM slots WHERE job = ?1 AND state NOT IN ('due', 'running')
              AND (number <= ?2 OR due_at < ?3)
              AND number < (SELECT max(number) FROM slots WHERE job = ?1)
              ORDER BY number LIMIT ?4)",
        )?
        .execute((
            job,
            beyond.unwrap_or(0),
            int(batch.now_ms.saturating_sub(AGE_MS_MAX)),
            int(TRIM_STEP),
        ))?;
    Ok(())
}

pub(super) fn begin(
    batch: &mut WriteBatch<'_>,
    slot: u64,
    run: Option<RunId>,
) -> Result<(), QueryError> {
    let run = run.map(|run| run.0.as_bytes().to_vec());
    batch
        .sql
        .prepare_cached(
            // A slot that has ended meanwhile stays as it is. A second attempt keeps the time of
            // the first.
            "UPDATE slots SET state = 'running', attempt = attempt + 1, run = ifnull(?2, run),
             started_at = ifnull(started_at, ?3)
             WHERE number = ?1 AND state IN ('due', 'running')",
        )?
        .execute((int(slot), run, int(batch.now_ms)))?;
    Ok(())
}

pub(super) fn end(batch: &mut WriteBatch<'_>, end: &SlotEnd) -> Result<(), QueryError> {
    let run = end.run.map(|run| run.0.as_bytes().to_vec());
    let cost = (end.cost != Cost::default()).then(|| to_json(&end.cost));
    let changed_rows = batch.sql.prepare_cached(END)?.execute(rusqlite::params![
        int(end.number),
        read::state_name(end.state),
        end.reason,
        run,
        end.exit_code,
        end.output,
        cost.transpose()?,
        int(batch.now_ms),
        end.denied_calls,
        end.failed_calls,
    ])?;
    // The slot was removed with its job, or has its outcome already.
    if changed_rows == 0 {
        return Ok(());
    }
    let found = format!("{SLOT} WHERE s.number = ?1");
    let mut select = batch.sql.prepare_cached(&found)?;
    let mut slot = select.query_row([int(end.number)], read::slot_row)?.slot;
    drop(select);
    // Every subscriber gets the event, so it carries only the beginning; the row has all of it.
    if let Some(output) = &mut slot.output {
        output.truncate(output.floor_char_boundary(EVENT_OUTPUT_BYTES_MAX));
    }
    batch.log_topic::<CronSlot>(&slot)?;
    // The job's row stays as it is, so it needs no check and no new checksum.
    if end.failures.is_none() && end.given_up.is_none() {
        return Ok(());
    }
    let Some(job) = find_whole(batch, &slot.task_id)? else {
        return Ok(());
    };
    if let Some(failures) = end.failures {
        batch
            .sql
            .prepare_cached("UPDATE jobs SET failures = ?2 WHERE id = ?1")?
            .execute((&slot.task_id, failures))?;
    }
    if let Some(problem) = &end.given_up {
        batch
            .sql
            .prepare_cached(
                "UPDATE jobs SET enabled = 0, problem = ?2, updated_at = ?3 WHERE id = ?1",
            )?
            .execute((&slot.task_id, problem, int(batch.now_ms)))?;
        log_job_change(batch, &slot.task_id, &slot.name, CronChange::Disabled)?;
    }
    Ok(JOBS.write_checksum(batch.sql, [job])?)
}

const INSERT: &str = "INSERT INTO slots
     (job, key, due_at, begin_at, origin, state, reason, stands_for, session_key, task, ended_at,
      attempt)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0)";
const END: &str = "UPDATE slots SET state = ?2, reason = ?3, run = ifnull(?4, run),
     exit_code = ?5, output = ?6, cost = ?7, ended_at = ?8, denied_calls = ?9, failed_calls = ?10
     WHERE number = ?1 AND state IN ('due', 'running')";
