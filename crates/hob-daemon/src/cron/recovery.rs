//! Loads the jobs at the start and continues unfinished slots; keeps the heartbeat job in line
//! with the settings.
//!
//! Invariants: each slot without an outcome is continued or gets one; a start grants nothing.

use super::CronContext;
use super::job_table::JobTable;
use super::settings;
use super::terms;
use hob_core::schedule::{FailureStreak, SlotRecovery, WorkRepeatability, recover as recovered};
use hob_store::{JobRow, SlotEnd, SlotRow, StoreError};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{CronChange, HEARTBEAT, JobWork, SlotState};
use std::sync::Arc;
use std::time::Duration;

/// Time between two attempts to load the jobs.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The longest time that a recovered slot still waits to begin.
const WAIT_MS_MAX: u64 = 60_000;

/// Loads the jobs and the unfinished slots; retries until it succeeds.
pub(super) async fn recover(context: &Arc<CronContext>) {
    loop {
        match load_jobs(context).await {
            Ok(()) => break,
            Err(error) => {
                tracing::error!("the jobs cannot be loaded, trying again: {error}");
                tokio::time::sleep(RETRY_AFTER).await;
            }
        }
    }
    sync_heartbeat(context).await;
    context.is_ready.send_replace(true);
}

async fn load_jobs(context: &Arc<CronContext>) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    let mut table = JobTable::default();
    for row in context.deps.store.all_jobs().await?.rows {
        match terms::parse_timing(&row.terms, &context.zone, row.created_at) {
            Ok(timing) => table.upsert(row, timing, now_ms),
            // For example because the machine no longer knows the job's time zone.
            Err(error) => {
                let name = &row.terms.name;
                tracing::error!(name, "a job cannot be loaded and does not run: {error}");
            }
        }
    }
    let monotonic_ms = context.deps.clock.monotonic_ms();
    for slot in context.deps.store.live_slots().await? {
        let id = slot.slot.task_id.clone();
        let Some(job) = table.get_mut(&id) else {
            // Its job could not be loaded; the slot waits for a start that can load it.
            continue;
        };
        let tribe = match job.row.terms.work {
            JobWork::Command(_) => WorkRepeatability::Opaque,
            JobWork::Agent(_) | JobWork::Loop { .. } | JobWork::Heartbeat(_) => {
                WorkRepeatability::Keyed
            }
        };
        let had_begun = slot.slot.state == SlotState::Running;
        match recovered(tribe, had_begun) {
            SlotRecovery::Begin => {
                let wait_ms = slot.begin_ms.saturating_sub(now_ms).min(WAIT_MS_MAX);
                // A slot that had begun is asked for again at once: its key leads to the same run.
                let wait_ms = if had_begun { 0 } else { wait_ms };
                job.push_waiting(slot, monotonic_ms + wait_ms);
            }
            SlotRecovery::Fail(why) => fail_interrupted(context, &mut job.row, &slot, why).await?,
        }
        table.reschedule(&id, now_ms);
    }
    // Built aside and swapped in as a whole, because a failed load starts again from scratch.
    *context.jobs() = table;
    Ok(())
}

/// Stores the failure of a slot that must not run again.
async fn fail_interrupted(
    context: &CronContext,
    job: &mut JobRow,
    slot: &SlotRow,
    why: &str,
) -> Result<(), StoreError> {
    // The same terms were parsed when the job was loaded, so this does not fail.
    let Ok(timing) = terms::parse_timing(&job.terms, &context.zone, job.created_at) else {
        return Ok(());
    };
    let (streak, given_up) = FailureStreak(job.failures).after(false, &timing.policy);
    let given_up = given_up.then(|| super::outcome::give_up_message(streak.0, why));
    let end = SlotEnd {
        number: slot.slot.number,
        state: SlotState::Failed,
        reason: Some(why.to_owned()),
        run: None,
        exit_code: None,
        output: None,
        cost: Cost::default(),
        denied_calls: 0,
        failed_calls: 0,
        failures: Some(streak.0),
        given_up: given_up.clone(),
    };
    context.deps.store.end_slot(end).await?;
    job.failures = streak.0;
    if given_up.is_some() {
        job.enabled = false;
        job.problem = given_up;
    }
    Ok(())
}

/// Creates, changes or removes the heartbeat job as the settings say.
pub(super) async fn sync_heartbeat(context: &CronContext) {
    let wanted = settings::heartbeat_terms(&context.settings());
    let _guard = context.write_lock.lock().await;
    let now_ms = context.now_ms();
    let kept = context.jobs().find(HEARTBEAT).map(|job| job.row.clone());
    let settled = match (wanted, kept) {
        (None, None) => Ok(()),
        // A user's own job that happens to have this name is left alone.
        (None, Some(row)) if !matches!(row.terms.work, JobWork::Heartbeat(_)) => Ok(()),
        (None, Some(row)) => {
            let removed = context.deps.store.remove_job(&row.id, Vec::new()).await;
            removed.map(|()| context.jobs().remove(&row.id))
        }
        (Some(terms), Some(row)) if row.terms == terms && row.enabled => Ok(()),
        (Some(terms), kept) => {
            let is_new = kept.is_none();
            let row = JobRow {
                terms,
                enabled: true,
                cursor_ms: now_ms,
                failures: 0,
                problem: None,
                updated_at: now_ms,
                ..kept.unwrap_or_else(|| context.new_row(now_ms))
            };
            let Ok(timing) = terms::parse_timing(&row.terms, &context.zone, row.created_at) else {
                return;
            };
            let store = &context.deps.store;
            let written = if is_new {
                store.add_job(row.clone(), Vec::new()).await
            } else {
                store
                    .update_job(row.clone(), Vec::new(), CronChange::Updated, true)
                    .await
            };
            written.map(|()| context.jobs().upsert(row, timing, now_ms))
        }
    };
    if let Err(error) = settled {
        tracing::warn!("the heartbeat job could not be stored: {error}");
    }
}
