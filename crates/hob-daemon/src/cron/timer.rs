//! The timer: watches the clock, decides what is due, and starts slots.
//!
//! Invariants: it sleeps in monotonic time and never longer than [`SLEEP_MAX`], so that it notices
//! a clock that was set and a machine that was suspended; a decision is on disk before its slots
//! start.

use super::CronContext;
use super::recovery;
use super::views::{self, SlotTrigger};
use super::work;
use hob_core::schedule::{ClockTick, DueDecision, GRACE_MS, SlotDecision, decide};
use hob_kit::failpoint;
use hob_store::{NewSlot, SlotOpening, SlotRow};
use hob_wire::rooms::cron::{SlotOrigin, SlotState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep between two checks of the clock.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// Jobs decided at once. Their slots are one transaction.
const JOBS_DECIDED_MAX: usize = 256;
/// Time until a decision that could not be stored is made again.
const RETRY_MS: u64 = 1_000;
/// A smaller step back of the clock is jitter, not a clock that was set.
const SET_BACK_MS: u64 = 1_000;

/// Loads the jobs, continues unfinished slots, then runs the timer until the daemon stops.
pub(super) async fn run_timer(context: Arc<CronContext>) {
    recovery::recover(&context).await;
    // Before anything is decided: a recovered slot must count as at work, or the overlap policy would
    // start another one.
    work::start_ready_slots(&context);
    let mut settings = context.deps.settings.clone();
    let mut latest_ms = context.now_ms();
    loop {
        let now_ms = context.now_ms();
        if now_ms + SET_BACK_MS < latest_ms {
            // A cursor that now lies in the future is noticed only when its job is scheduled again.
            context.jobs().reschedule_all(now_ms);
        }
        latest_ms = now_ms;
        context.decide_due().await;
        work::start_ready_slots(&context);
        let pause = context.sleep_time();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.wakeup.notified() => {}
            changed = settings.changed() => {
                // The sender is gone: the daemon is about to stop. Without the sleep this would spin.
                if changed.is_err() {
                    tokio::time::sleep(SLEEP_MAX).await;
                }
                recovery::sync_heartbeat(&context).await;
            }
        }
    }
}

impl CronContext {
    /// Returns the time until something is due, at most [`SLEEP_MAX`].
    fn sleep_time(&self) -> Duration {
        let (due_ms, begin_ms) = self.jobs().next_times();
        let now_ms = self.now_ms();
        let monotonic_ms = self.deps.clock.monotonic_ms();
        let until = |at: Option<u64>, now: u64| {
            let wait = at.map(|at| Duration::from_millis(at.saturating_sub(now)));
            wait.unwrap_or(SLEEP_MAX)
        };
        until(due_ms, now_ms)
            .min(until(begin_ms, monotonic_ms))
            .min(SLEEP_MAX)
    }

    /// Decides what is due and stores it, in batches of jobs.
    async fn decide_due(&self) {
        let now_ms = self.now_ms();
        // Counted once for all batches, because late jobs spread their starts over this number.
        let late_jobs = self
            .jobs()
            .count_due_before(now_ms.saturating_sub(GRACE_MS));
        loop {
            let _guard = self.write_lock.lock().await;
            let decisions = self.decide_batch(now_ms, late_jobs);
            if decisions.is_empty() {
                return;
            }
            let openings = self.slot_openings(&decisions);
            match self.deps.store.open_slots(openings).await {
                Ok(opened) => {
                    failpoint::reach("cron.slots.after");
                    // A duplicate key means that this time has run before, so the slot is not started again.
                    let new = opened.into_iter().filter(|opened| !opened.duplicate);
                    let rows: Vec<SlotRow> = new.map(|opened| opened.row).collect();
                    let relived = self.already_run(&decisions, &rows);
                    self.apply_opened(&decisions, rows);
                    self.recount_from_now(relived, now_ms).await;
                }
                Err(error) => {
                    tracing::warn!("due slots could not be stored: {error}");
                    // Still due, these jobs would otherwise be decided again at once.
                    let mut table = self.jobs();
                    for (id, _) in &decisions {
                        table.postpone(id, now_ms + RETRY_MS);
                    }
                    return;
                }
            }
            // The lock is released here, so requests get their turn between two batches.
            tokio::task::yield_now().await;
        }
    }

    fn decide_batch(&self, now_ms: u64, late_jobs: u64) -> Vec<(String, DueDecision)> {
        let mut table = self.jobs();
        let mut decisions = Vec::new();
        for id in table.due_jobs(now_ms, JOBS_DECIDED_MAX) {
            let Some(job) = table.get_mut(&id) else {
                continue;
            };
            let tick = ClockTick {
                now_ms,
                randomness: self.deps.randomness.u64(),
                late_jobs,
            };
            let (calendar, policy) = (&job.timing.calendar, &job.timing.policy);
            match decide(calendar, policy, &job.standing(), tick) {
                Some(decision) => decisions.push((id, decision)),
                None => table.reschedule(&id, now_ms),
            }
        }
        decisions
    }

    fn slot_openings(&self, decisions: &[(String, DueDecision)]) -> Vec<SlotOpening> {
        let table = self.jobs();
        let opening = |(id, decision): &(String, DueDecision)| {
            let job = table.find(id)?;
            let terms = &job.row.terms;
            let slots = decision.slots.iter().map(|planned| {
                let (state, reason) = match &planned.decision {
                    SlotDecision::Run => (SlotState::Due, None),
                    SlotDecision::Skipped(why) => (SlotState::Skipped, Some(why.clone())),
                    SlotDecision::Missed(why) => (SlotState::Missed, Some(why.clone())),
                };
                let due = SlotTrigger {
                    at_ms: planned.due_ms,
                    origin: SlotOrigin::Schedule,
                    dedup_key: self.deps.clock.monotonic_ms().to_string(),
                };
                NewSlot {
                    begin_ms: planned.begin_ms,
                    state,
                    reason,
                    stands_for: planned.stands_for,
                    ..views::new_slot(terms, &due, None)
                }
            });
            Some(SlotOpening {
                job: id.clone(),
                cursor_ms: Some(decision.cursor_ms),
                slots: slots.collect(),
            })
        };
        decisions.iter().filter_map(opening).collect()
    }

    /// Returns interval jobs whose decided times have all run before: the clock was set back.
    fn already_run(&self, decisions: &[(String, DueDecision)], new: &[SlotRow]) -> Vec<String> {
        let table = self.jobs();
        let is_relived = |(id, decision): &&(String, DueDecision)| {
            let is_counted = table
                .find(id)
                .is_some_and(|job| job.timing.calendar.is_periodic());
            let has_new = new.iter().any(|row| row.slot.task_id == *id);
            is_counted && !has_new && !decision.slots.is_empty()
        };
        let relived = decisions.iter().filter(is_relived);
        relived.map(|(id, _)| id.clone()).collect()
    }

    /// Restarts the interval of these jobs now, so that they go on and no time runs twice. If this
    /// cannot be stored, it is detected again at their next time.
    async fn recount_from_now(&self, ids: Vec<String>, now_ms: u64) {
        if ids.is_empty() {
            return;
        }
        let opening = |id: &String| SlotOpening {
            job: id.clone(),
            cursor_ms: Some(now_ms),
            slots: Vec::new(),
        };
        let openings = ids.iter().map(opening).collect();
        if let Err(error) = self.deps.store.open_slots(openings).await {
            tracing::warn!(
                "jobs wait for their old time, because the new one could not be stored: {error}"
            );
            return;
        }
        let mut table = self.jobs();
        for id in ids {
            if let Some(job) = table.get_mut(&id) {
                job.row.cursor_ms = now_ms;
            }
            table.reschedule(&id, now_ms);
        }
    }

    /// Applies stored decisions to the table.
    fn apply_opened(&self, decisions: &[(String, DueDecision)], rows: Vec<SlotRow>) {
        let (now_ms, monotonic_ms) = (self.now_ms(), self.deps.clock.monotonic_ms());
        let mut of_job: BTreeMap<String, Vec<SlotRow>> = BTreeMap::new();
        for row in rows {
            let id = row.slot.task_id.clone();
            of_job.entry(id).or_default().push(row);
        }
        let mut replaced = Vec::new();
        {
            let mut table = self.jobs();
            for (id, decision) in decisions {
                let Some(job) = table.get_mut(id) else {
                    continue;
                };
                job.row.cursor_ms = decision.cursor_ms;
                if decision.replaces {
                    job.stop_current();
                    replaced.extend(job.clear_waiting());
                }
                let rows = of_job.remove(id).unwrap_or_default();
                for row in rows
                    .into_iter()
                    .filter(|row| row.slot.state == SlotState::Due)
                {
                    let wait_ms = row.begin_ms.saturating_sub(now_ms);
                    job.push_waiting(row, monotonic_ms + wait_ms);
                }
                table.reschedule(id, now_ms);
            }
        }
        self.skip_replaced(replaced);
    }

    /// Skips waiting slots that a later one replaced.
    pub(super) fn skip_replaced(&self, slots: Vec<SlotRow>) {
        self.skip_waiting(slots, "a later run replaced it");
    }

    /// Stores waiting slots as skipped.
    pub(super) fn skip_waiting(&self, slots: Vec<SlotRow>, why: &'static str) {
        if slots.is_empty() {
            return;
        }
        let store = self.deps.store.clone();
        // In a task of its own, because the callers hold the write lock.
        self.deps.tasks.spawn("cron waiting slots", async move {
            for row in slots {
                let end = views::skipped_end(row.slot.number, why);
                if let Err(error) = store.end_slot(end).await {
                    tracing::warn!(
                        slot = row.slot.number,
                        "a skipped slot could not be stored: {error}"
                    );
                }
            }
        });
    }
}
