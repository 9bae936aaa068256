//! What a former daemon left, and the job that the settings make.
//!
//! Invariants: each slot without an outcome is taken up again or has one written; a start grants
//! nothing.

use super::Shared;
use super::book::Book;
use super::settings;
use super::terms;
use hob_core::schedule::{Recovery, Streak, Tribe, recover as recovered};
use hob_kit::failpoint;
use hob_store::{JobRow, SlotEnd, SlotRow, StoreError};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{CronChange, HEARTBEAT, SlotState, Work};
use std::sync::Arc;
use std::time::Duration;

/// Between two tries to read the jobs.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The longest a slot still waits for its beginning after a start.
const WAIT_MS_MAX: u64 = 60_000;

/// Reads the jobs and the slots under way.
pub(super) async fn recover(shared: &Arc<Shared>) {
    loop {
        match read(shared).await {
            Ok(()) => break,
            Err(error) => {
                tracing::error!("the jobs cannot be read, trying again: {error}");
                tokio::time::sleep(AGAIN_AFTER).await;
            }
        }
    }
    settle_heartbeat(shared).await;
    shared.is_ready.send_replace(true);
}

async fn read(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let now_ms = shared.now_ms();
    let mut book = Book::default();
    for row in shared.parts.store.all_jobs().await?.rows {
        match terms::read(&row.terms, &shared.zone, row.created_at) {
            Ok(ruled) => book.put(row, ruled, now_ms),
            // A zone that this machine does not know any more, for one.
            Err(error) => {
                let name = &row.terms.name;
                tracing::error!(name, "a job is left out: {error}");
            }
        }
    }
    let monotonic_ms = shared.parts.clock.monotonic_ms();
    for slot in shared.parts.store.live_slots().await? {
        if failpoint::broken(13) {
            break;
        }
        let id = slot.slot.task_id.clone();
        let Some(job) = book.get_mut(&id) else {
            continue;
        };
        let tribe = match job.row.terms.work {
            Work::Command(_) => Tribe::Opaque,
            Work::Agent(_) | Work::Loop { .. } | Work::Heartbeat(_) => Tribe::Keyed,
        };
        let had_begun = slot.slot.state == SlotState::Running;
        match recovered(tribe, had_begun) {
            Recovery::Begin => {
                let wait_ms = slot.begin_ms.saturating_sub(now_ms).min(WAIT_MS_MAX);
                let wait_ms = if had_begun { 0 } else { wait_ms };
                job.wait(slot, monotonic_ms + wait_ms);
            }
            Recovery::Fail(why) => cut_off(shared, &mut job.row, &slot, why).await?,
        }
        book.plan(&id, now_ms);
    }
    *shared.book() = book;
    Ok(())
}

/// Writes the outcome of a slot that is not begun again.
async fn cut_off(
    shared: &Shared,
    job: &mut JobRow,
    slot: &SlotRow,
    why: &str,
) -> Result<(), StoreError> {
    let Ok(ruled) = terms::read(&job.terms, &shared.zone, job.created_at) else {
        return Ok(());
    };
    let (streak, given_up) = Streak(job.failures).after(false, &ruled.policy);
    let given_up = given_up.then(|| super::ending::problem(streak.0, why));
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
    shared.parts.store.end_slot(end).await?;
    job.failures = streak.0;
    if given_up.is_some() {
        job.enabled = false;
        job.problem = given_up;
    }
    Ok(())
}

/// Makes the heartbeat what the settings say.
pub(super) async fn settle_heartbeat(shared: &Shared) {
    let wanted = settings::heartbeat(&shared.settings());
    let _turn = shared.pen.lock().await;
    let now_ms = shared.now_ms();
    let kept = shared.book().find(HEARTBEAT).map(|job| job.row.clone());
    let settled = match (wanted, kept) {
        (None, None) => Ok(()),
        (None, Some(row)) if !matches!(row.terms.work, Work::Heartbeat(_)) => Ok(()),
        (None, Some(row)) => {
            let removed = shared.parts.store.remove_job(&row.id, Vec::new()).await;
            removed.map(|()| shared.book().remove(&row.id))
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
                ..kept.unwrap_or_else(|| shared.new_row(now_ms))
            };
            let Ok(ruled) = terms::read(&row.terms, &shared.zone, row.created_at) else {
                return;
            };
            let store = &shared.parts.store;
            let written = if is_new {
                store.add_job(row.clone(), Vec::new()).await
            } else {
                store
                    .update_job(row.clone(), Vec::new(), CronChange::Updated, true)
                    .await
            };
            written.map(|()| shared.book().put(row, ruled, now_ms))
        }
    };
    if let Err(error) = settled {
        tracing::warn!("the heartbeat could not be kept: {error}");
    }
}
