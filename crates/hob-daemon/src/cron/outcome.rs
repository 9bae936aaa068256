//! The outcome of a slot: written with what it makes of its job, then told.
//!
//! Invariant: an outcome that cannot be written is written later; meanwhile the job has no other
//! slot at work.

use super::Shared;
use super::book::Started;
use super::views::moment;
use super::work::Outcome;
use crate::notice;
use hob_core::schedule::{Streak, heartbeat};
use hob_kit::failpoint;
use hob_store::SlotEnd;
use hob_wire::rooms::cron::{SlotState, Work};
use std::time::Duration;

/// Between two tries to write an outcome.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Why a job is disabled by hob itself.
pub(super) fn problem(failures: u32, why: &str) -> String {
    let why = ended(why);
    format!(
        "It failed {failures} times in a row; the last time: {why} Enable it when that is mended."
    )
}

/// Words with their full stop.
fn ended(why: &str) -> String {
    format!("{}.", why.trim_end_matches('.'))
}

impl Shared {
    pub(super) async fn finish(&self, started: &Started, outcome: Outcome) {
        let (id, number) = (&started.job.id, started.slot.slot.number);
        let (failures, given_up) = self.judge(id, &outcome);
        let end = SlotEnd {
            number,
            state: outcome.state,
            reason: outcome.reason.clone(),
            run: outcome.run,
            exit_code: outcome.exit_code,
            output: outcome.output.clone(),
            cost: outcome.cost,
            denied_calls: outcome.denied_calls,
            failed_calls: outcome.failed_calls,
            failures,
            given_up: given_up.clone(),
        };
        failpoint::reach("cron.slot.end");
        while let Err(error) = self.parts.store.end_slot(end.clone()).await {
            tracing::warn!(slot = number, "an outcome cannot be written yet: {error}");
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        {
            let now_ms = self.now_ms();
            let mut book = self.book();
            if let Some(job) = book.get_mut(id) {
                job.row.failures = failures.unwrap_or(job.row.failures);
                if given_up.is_some() {
                    job.row.enabled = false;
                    job.row.problem = given_up;
                }
            }
            book.over(id, number, now_ms);
        }
        self.poke.notify_one();
        self.tell(started, &outcome).await;
    }

    /// Failures in a row after this outcome, and why the job is given up, if it is.
    fn judge(&self, id: &str, outcome: &Outcome) -> (Option<u32>, Option<String>) {
        let success = match outcome.state {
            // A model that answered ends a row of failures, whatever was denied to it.
            SlotState::Ran | SlotState::RanWithDenials | SlotState::RanWithFailures => true,
            // A ceiling is no fault of the job: it runs again when the ceiling allows it.
            SlotState::Failed if !outcome.is_unaffordable => false,
            _ => return (None, None),
        };
        let mut book = self.book();
        let Some(job) = book.get_mut(id) else {
            return (None, None);
        };
        let (streak, given_up) = Streak(job.row.failures).after(success, &job.ruled.policy);
        let given_up = given_up && job.row.enabled && !failpoint::broken(20);
        let why = outcome.reason.as_deref().unwrap_or("it failed");
        (Some(streak.0), given_up.then(|| problem(streak.0, why)))
    }

    /// Tells the session that wants to hear of it.
    async fn tell(&self, started: &Started, outcome: &Outcome) {
        let terms = &started.job.terms;
        let Some(notify) = &terms.notify else { return };
        let is_clean = outcome.state == SlotState::Ran;
        let is_worth = match outcome.state {
            SlotState::Ran => !notify.failures_only,
            SlotState::RanWithDenials | SlotState::RanWithFailures | SlotState::Failed => true,
            _ => false,
        };
        let answer = outcome.output.as_deref().unwrap_or_default();
        let is_quiet = matches!(terms.work, Work::Heartbeat(_)) && heartbeat::is_quiet(answer);
        if !is_worth || (is_quiet && is_clean) {
            return;
        }
        let slot = &started.slot.slot;
        let of = format!("The job '{}' of {}", terms.name, moment(slot.due_at));
        let head = match (&outcome.reason, outcome.state) {
            (Some(why), SlotState::Failed) => format!("{of} failed: {}", ended(why)),
            // A command stands at its end, which a full stop would spoil.
            (Some(why), _) => format!("{of}: {why}"),
            (None, _) => format!("{of}:"),
        };
        let text = match answer {
            "" => head,
            answer => format!("{head}\n\n{answer}"),
        };
        let key = format!("cron:told:{}", slot.number);
        let told = notice::tell(&self.caller, notify, &key, &text).await;
        if let Err(error) = told {
            let name = &terms.name;
            tracing::warn!(name, "the outcome of a job could not be told: {error}");
        }
    }
}
