//! Outcomes of slots: stored together with their effect on the job, then sent to a session.
//!
//! Invariant: storing an outcome is retried until it succeeds; meanwhile the job has no other slot
//! at work.

use super::CronContext;
use super::job_table::StartedSlot;
use super::views::format_time;
use super::work::SlotOutcome;
use crate::notice;
use hob_core::schedule::{FailureStreak, heartbeat};
use hob_kit::failpoint;
use hob_store::SlotEnd;
use hob_wire::rooms::cron::{JobWork, SlotState};
use std::time::Duration;

/// Time between two attempts to store an outcome.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Explains why hob disabled a job.
pub(super) fn give_up_message(failures: u32, why: &str) -> String {
    let why = with_full_stop(why);
    format!(
        "It failed {failures} times in a row; the last time: {why} Enable it when that is fixed."
    )
}

/// Ends a sentence with one full stop.
fn with_full_stop(why: &str) -> String {
    format!("{}.", why.trim_end_matches('.'))
}

impl CronContext {
    pub(super) async fn finish_slot(&self, started: &StartedSlot, outcome: SlotOutcome) {
        let (id, number) = (&started.job.id, started.slot.slot.number);
        let (failures, given_up) = self.failure_streak(id, &outcome);
        // The outcome, the failure count and the disabling are one write.
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
        while let Err(error) = self.deps.store.end_slot(end.clone()).await {
            tracing::warn!(slot = number, "an outcome cannot be stored yet: {error}");
            tokio::time::sleep(RETRY_AFTER).await;
        }
        {
            let now_ms = self.now_ms();
            let mut table = self.jobs();
            if let Some(job) = table.get_mut(id) {
                // None means that this outcome does not count, such as a skipped slot.
                job.row.failures = failures.unwrap_or(job.row.failures);
                if given_up.is_some() {
                    job.row.enabled = false;
                    job.row.problem = given_up;
                }
            }
            table.finish_slot(id, number, now_ms);
        }
        // The job's next slot may be waiting for this one.
        self.wakeup.notify_one();
        self.notify_session(started, &outcome).await;
    }

    /// Returns the failures in a row after this outcome, and the reason to disable the job, if any.
    fn failure_streak(&self, id: &str, outcome: &SlotOutcome) -> (Option<u32>, Option<String>) {
        let success = match outcome.state {
            // An answer ends a row of failures, even if calls were denied.
            SlotState::Ran | SlotState::RanWithDenials | SlotState::RanWithFailures => true,
            // A cost ceiling is not the job's fault. It runs again when the ceiling allows it.
            SlotState::Failed if !outcome.is_unaffordable => false,
            _ => return (None, None),
        };
        let mut table = self.jobs();
        let Some(job) = table.get_mut(id) else {
            return (None, None);
        };
        let (streak, given_up) = FailureStreak(job.row.failures).after(success, &job.timing.policy);
        let given_up = given_up && job.row.enabled;
        let why = outcome.reason.as_deref().unwrap_or("it failed");
        (
            Some(streak.0),
            given_up.then(|| give_up_message(streak.0, why)),
        )
    }

    /// Sends the outcome to the session that the job names.
    async fn notify_session(&self, started: &StartedSlot, outcome: &SlotOutcome) {
        let terms = &started.job.terms;
        let Some(notify) = &terms.notify else { return };
        let is_clean = outcome.state == SlotState::Ran;
        let is_worth = match outcome.state {
            SlotState::Ran => !notify.failures_only,
            SlotState::RanWithDenials | SlotState::RanWithFailures | SlotState::Failed => true,
            _ => false,
        };
        let answer = outcome.output.as_deref().unwrap_or_default();
        let is_quiet = matches!(terms.work, JobWork::Heartbeat(_)) && heartbeat::is_quiet(answer);
        if !is_worth || (is_quiet && is_clean) {
            return;
        }
        let slot = &started.slot.slot;
        let of = format!("The job '{}' of {}", terms.name, format_time(slot.due_at));
        let head = match (&outcome.reason, outcome.state) {
            (Some(why), SlotState::Failed) => format!("{of} failed: {}", with_full_stop(why)),
            // The reason may end with a command, so no full stop is added.
            (Some(why), _) => format!("{of}: {why}"),
            (None, _) => format!("{of}:"),
        };
        let text = match answer {
            "" => head,
            answer => format!("{head}\n\n{answer}"),
        };
        // The key makes a repeated notice after a restart the same message.
        let key = format!("cron:told:{}", slot.number);
        let sent = notice::post_notice(&self.caller, notify, &key, &text).await;
        if let Err(error) = sent {
            let name = &terms.name;
            tracing::warn!(
                name,
                "the outcome of a job could not be sent to its session: {error}"
            );
        }
    }
}
