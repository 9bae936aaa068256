//! New slots, and jobs as callers see them.

use super::job_table::ScheduledJob;
use super::terms;
use hob_store::{NewSlot, SlotEnd};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{
    CommandWork, CronJob as JobView, HEARTBEAT, JobDefinition, JobSlot, JobWork, SlotOrigin,
    SlotState,
};
use jiff::Timestamp;

/// Upcoming times shown of a job.
const NEXT_SHOWN: usize = 3;

/// The reason why a slot is opened.
#[derive(Debug)]
pub(super) struct SlotTrigger {
    pub(super) at_ms: u64,
    pub(super) origin: SlotOrigin,
    /// The key that identifies the slot, where its time does not.
    pub(super) dedup_key: String,
}

/// Builds a new slot that is to run at its time.
pub(super) fn new_slot(
    terms: &JobDefinition,
    trigger: &SlotTrigger,
    own_task: Option<String>,
) -> NewSlot {
    let name = &terms.name;
    let (key, session_key) = match trigger.origin {
        SlotOrigin::Schedule => {
            let at = format_time(trigger.at_ms);
            let session_key = format!("cron:{name}:{at}");
            (at, session_key)
        }
        SlotOrigin::Manual => {
            let kind = terms::session_kind(terms);
            let at = format_time(trigger.at_ms);
            (
                format!("run-{}", trigger.dedup_key),
                format!("{kind}:{name}:{at}-{}", key_suffix(&trigger.dedup_key)),
            )
        }
        SlotOrigin::Webhook => (
            format!("call-{}", trigger.dedup_key),
            format!(
                "webhook:{name}:{}-{}",
                trigger.at_ms,
                key_suffix(&trigger.dedup_key)
            ),
        ),
    };
    NewSlot {
        key,
        same_within_ms: None,
        due_ms: trigger.at_ms,
        begin_ms: trigger.at_ms,
        origin: trigger.origin,
        state: SlotState::Due,
        reason: None,
        stands_for: 0,
        session_key: Some(session_key),
        task: own_task
            .clone()
            .unwrap_or_else(|| describe_work(&terms.work)),
        own_task,
    }
}

/// Returns the end of a dedup key, reduced to characters that fit a session key.
fn key_suffix(dedup_key: &str) -> String {
    const TAIL_CHARS: usize = 8;
    let plain: Vec<char> = dedup_key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    plain[plain.len().saturating_sub(TAIL_CHARS)..]
        .iter()
        .collect()
}

/// Describes a job's work for events.
pub(super) fn describe_work(work: &JobWork) -> String {
    match work {
        JobWork::Agent(agent) => agent.task.clone(),
        JobWork::Loop { name } => name.clone(),
        JobWork::Command(CommandWork { command, .. }) => command.clone(),
        JobWork::Heartbeat(_) => HEARTBEAT.to_owned(),
    }
}

/// Formats a time as in session keys.
pub(super) fn format_time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok();
    let at = at.and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| at_ms.to_string(), |at| at.to_string())
}

/// Builds the end of a slot that never began.
pub(super) fn skipped_end(number: u64, why: &str) -> SlotEnd {
    SlotEnd {
        number,
        state: SlotState::Skipped,
        reason: Some(why.to_owned()),
        run: None,
        exit_code: None,
        output: None,
        cost: Cost::default(),
        denied_calls: 0,
        failed_calls: 0,
        failures: None,
        given_up: None,
    }
}

/// Builds the view of a job for callers.
pub(super) fn job_view(job: &ScheduledJob, last: Option<JobSlot>, now_ms: u64) -> JobView {
    let row = &job.row;
    let calendar = job.timing.calendar.anchored_at(row.cursor_ms);
    let hours = job.timing.policy.hours.as_ref();
    let next = if row.enabled {
        calendar.next_few(now_ms.max(row.cursor_ms), hours, NEXT_SHOWN)
    } else {
        Vec::new()
    };
    let mut about = calendar.describe(&row.terms.schedule);
    if let Some(zone) = &row.terms.zone {
        about = format!("{about} ({zone})");
    }
    if let Some(hours) = &row.terms.active_hours {
        about = format!("{about}, only {hours}");
    }
    JobView {
        id: row.id.clone(),
        terms: row.terms.clone(),
        enabled: row.enabled,
        next,
        about,
        last,
        active: job.active_slots(),
        failures: row.failures,
        problem: row.problem.clone(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
