//! The timer: looks at the clock, decides what is due, and takes slots up.
//!
//! Invariants: it sleeps by monotonic time and never longer than [`LOOK_EVERY`], so that a clock
//! that was set or a machine that slept is noticed; a decision is on disk before a slot of it is
//! taken up.

use super::Shared;
use super::recovery;
use super::views::{self, Due};
use super::work;
use hob_core::schedule::{Decision, Fate, GRACE_MS, Tick, decide};
use hob_kit::failpoint;
use hob_store::{NewSlot, Opening, SlotRow};
use hob_wire::rooms::cron::{Missed, SlotOrigin, SlotState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep between two looks at the clock.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Jobs decided at once: their slots are one transaction.
const DECIDED_MAX: usize = 256;
/// When a decision that could not be written is made again.
const AGAIN_MS: u64 = 1_000;
/// How far the clock must go back to be noticed as set; less is its own unsteadiness.
const SET_BACK_MS: u64 = 1_000;

/// Reads the jobs, takes up what was left, then keeps them until the daemon stops.
pub(super) async fn keep(shared: Arc<Shared>) {
    recovery::recover(&shared).await;
    // Before anything is decided: what goes on is at work, not waiting.
    work::take_up(&shared);
    let mut settings = shared.parts.settings.clone();
    let mut latest_ms = shared.now_ms();
    loop {
        let now_ms = shared.now_ms();
        if now_ms + SET_BACK_MS < latest_ms {
            shared.book().plan_all(now_ms);
        }
        latest_ms = now_ms;
        shared.decide_due().await;
        work::take_up(&shared);
        let pause = shared.pause();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.poke.notified() => {}
            changed = settings.changed() => {
                // Without a sender there are no new settings, and the daemon is about to end.
                if changed.is_err() {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                recovery::settle_heartbeat(&shared).await;
            }
        }
    }
}

impl Shared {
    /// How long there is nothing to do.
    fn pause(&self) -> Duration {
        let (due_ms, begin_ms) = self.book().next();
        let now_ms = self.now_ms();
        let monotonic_ms = self.parts.clock.monotonic_ms();
        let until = |at: Option<u64>, now: u64| {
            let wait = at.map(|at| Duration::from_millis(at.saturating_sub(now)));
            wait.unwrap_or(LOOK_EVERY)
        };
        until(due_ms, now_ms)
            .min(until(begin_ms, monotonic_ms))
            .min(LOOK_EVERY)
    }

    /// Decides what has come due and writes it, some jobs at a time.
    async fn decide_due(&self) {
        let now_ms = self.now_ms();
        let crowd = self.book().due_before(now_ms.saturating_sub(GRACE_MS));
        loop {
            let _turn = self.pen.lock().await;
            let decisions = self.decisions(now_ms, crowd);
            if decisions.is_empty() {
                return;
            }
            let openings = self.openings(&decisions);
            match self.parts.store.open_slots(openings).await {
                Ok(opened) => {
                    failpoint::reach("cron.slots.after");
                    let new = opened.into_iter().filter(|opened| !opened.duplicate);
                    let rows: Vec<SlotRow> = new.map(|opened| opened.row).collect();
                    let relived = self.relived(&decisions, &rows);
                    self.opened(&decisions, rows);
                    self.shift(relived, now_ms).await;
                }
                Err(error) => {
                    tracing::warn!("what is due could not be written: {error}");
                    let mut book = self.book();
                    for (id, _) in &decisions {
                        book.postpone(id, now_ms + AGAIN_MS);
                    }
                    return;
                }
            }
            // Others have their turn between two parts of a large crowd.
            tokio::task::yield_now().await;
        }
    }

    fn decisions(&self, now_ms: u64, crowd: u64) -> Vec<(String, Decision)> {
        let mut book = self.book();
        let mut decisions = Vec::new();
        for id in book.due(now_ms, DECIDED_MAX) {
            let Some(job) = book.get_mut(&id) else {
                continue;
            };
            let tick = Tick {
                now_ms,
                dice: self.parts.dice.u64(),
                crowd,
            };
            let (mut standing, mut policy) = (job.standing(), job.ruled.policy);
            if failpoint::broken(17) {
                standing.cursor_ms = standing.cursor_ms.min(now_ms.saturating_sub(1));
            }
            if failpoint::broken(18) {
                policy.missed = Missed::All;
            }
            match decide(&job.ruled.calendar, &policy, &standing, tick) {
                Some(decision) => decisions.push((id, decision)),
                None => book.plan(&id, now_ms),
            }
        }
        decisions
    }

    fn openings(&self, decisions: &[(String, Decision)]) -> Vec<Opening> {
        let book = self.book();
        let opening = |(id, decision): &(String, Decision)| {
            let job = book.find(id)?;
            let terms = &job.row.terms;
            let slots = decision.slots.iter().map(|planned| {
                let (state, reason) = match &planned.fate {
                    Fate::Run => (SlotState::Due, None),
                    Fate::Skipped(why) => (SlotState::Skipped, Some(why.clone())),
                    Fate::Missed(why) => (SlotState::Missed, Some(why.clone())),
                };
                let due = Due {
                    at_ms: planned.due_ms,
                    origin: SlotOrigin::Schedule,
                    mark: self.parts.clock.monotonic_ms().to_string(),
                };
                NewSlot {
                    begin_ms: planned.begin_ms,
                    state,
                    reason,
                    stands_for: planned.stands_for,
                    ..views::new_slot(terms, &due, None)
                }
            });
            Some(Opening {
                job: id.clone(),
                cursor_ms: Some(decision.cursor_ms),
                slots: slots.collect(),
            })
        };
        decisions.iter().filter_map(opening).collect()
    }

    /// Jobs by a period whose times have all run already: the clock was put back.
    fn relived(&self, decisions: &[(String, Decision)], new: &[SlotRow]) -> Vec<String> {
        let book = self.book();
        let is_relived = |(id, decision): &&(String, Decision)| {
            let is_counted = book
                .find(id)
                .is_some_and(|job| job.ruled.calendar.is_counted());
            let has_new = new.iter().any(|row| row.slot.task_id == *id);
            is_counted && !has_new && !decision.slots.is_empty()
        };
        let relived = decisions.iter().filter(is_relived);
        relived.map(|(id, _)| id.clone()).collect()
    }

    /// Lets these jobs count from now, so that they go on and no time is run twice. What cannot be
    /// written is found again at their next time.
    async fn shift(&self, ids: Vec<String>, now_ms: u64) {
        if ids.is_empty() {
            return;
        }
        let opening = |id: &String| Opening {
            job: id.clone(),
            cursor_ms: Some(now_ms),
            slots: Vec::new(),
        };
        let openings = ids.iter().map(opening).collect();
        if let Err(error) = self.parts.store.open_slots(openings).await {
            tracing::warn!(
                "jobs wait for their old time, since this could not be written: {error}"
            );
            return;
        }
        let mut book = self.book();
        for id in ids {
            if let Some(job) = book.get_mut(&id) {
                job.row.cursor_ms = now_ms;
            }
            book.plan(&id, now_ms);
        }
    }

    /// Takes what was written into the book.
    fn opened(&self, decisions: &[(String, Decision)], rows: Vec<SlotRow>) {
        let (now_ms, monotonic_ms) = (self.now_ms(), self.parts.clock.monotonic_ms());
        let mut of_job: BTreeMap<String, Vec<SlotRow>> = BTreeMap::new();
        for row in rows {
            let id = row.slot.task_id.clone();
            of_job.entry(id).or_default().push(row);
        }
        let mut replaced = Vec::new();
        {
            let mut book = self.book();
            for (id, decision) in decisions {
                let Some(job) = book.get_mut(id) else {
                    continue;
                };
                job.row.cursor_ms = decision.cursor_ms;
                if decision.replaces {
                    job.stop();
                    replaced.extend(job.clear_waiting());
                }
                let rows = of_job.remove(id).unwrap_or_default();
                for row in rows
                    .into_iter()
                    .filter(|row| row.slot.state == SlotState::Due)
                {
                    let wait_ms = row.begin_ms.saturating_sub(now_ms);
                    job.wait(row, monotonic_ms + wait_ms);
                }
                book.plan(id, now_ms);
            }
        }
        self.replaced(replaced);
    }

    /// Ends slots that waited and whose place a later one took.
    pub(super) fn replaced(&self, slots: Vec<SlotRow>) {
        self.end_waiting(slots, "a later one took its place");
    }

    /// Ends slots that waited and are not begun any more.
    pub(super) fn end_waiting(&self, slots: Vec<SlotRow>, why: &'static str) {
        if slots.is_empty() {
            return;
        }
        let store = self.parts.store.clone();
        self.parts.tasks.spawn("cron waiting slots", async move {
            for row in slots {
                let end = views::skipped(row.slot.number, why);
                if let Err(error) = store.end_slot(end).await {
                    tracing::warn!(slot = row.slot.number, "a slot has no outcome yet: {error}");
                }
            }
        });
    }
}
