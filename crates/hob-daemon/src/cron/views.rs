//! Slots as they are opened, and jobs as callers see them.

use super::book::Job;
use super::terms;
use hob_kit::failpoint;
use hob_store::{NewSlot, SlotEnd};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{
    CommandWork, HEARTBEAT, Job as JobView, JobTerms, Slot, SlotOrigin, SlotState, Work,
};
use jiff::Timestamp;

/// Times that a job shows ahead.
const NEXT_SHOWN: usize = 3;

/// A time that has come.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) at_ms: u64,
    pub(super) origin: SlotOrigin,
    /// What makes it one slot, where that is not its time.
    pub(super) mark: String,
}

/// A slot to be opened that is to be run at its time.
pub(super) fn new_slot(terms: &JobTerms, due: &Due, own_task: Option<String>) -> NewSlot {
    let name = &terms.name;
    let (key, session_key) = match due.origin {
        SlotOrigin::Schedule => {
            let at = moment(due.at_ms);
            // Fault test 17: what makes a time one slot is its key.
            let key = if failpoint::broken(17) {
                format!("{at}{}", due.mark)
            } else {
                at.clone()
            };
            (key, format!("cron:{name}:{at}"))
        }
        SlotOrigin::Manual => {
            let kind = terms::kind(terms);
            let at = moment(due.at_ms);
            (
                format!("run-{}", due.mark),
                format!("{kind}:{name}:{at}-{}", tail(&due.mark)),
            )
        }
        SlotOrigin::Webhook => (
            format!("call-{}", due.mark),
            format!("webhook:{name}:{}-{}", due.at_ms, tail(&due.mark)),
        ),
    };
    NewSlot {
        key,
        same_within_ms: None,
        due_ms: due.at_ms,
        begin_ms: due.at_ms,
        origin: due.origin,
        state: SlotState::Due,
        reason: None,
        stands_for: 0,
        session_key: Some(session_key),
        task: own_task.clone().unwrap_or_else(|| task(&terms.work)),
        own_task,
    }
}

/// A short piece of a mark that is fit for a session's key.
fn tail(mark: &str) -> String {
    const TAIL_CHARS: usize = 8;
    let plain: Vec<char> = mark.chars().filter(char::is_ascii_alphanumeric).collect();
    plain[plain.len().saturating_sub(TAIL_CHARS)..]
        .iter()
        .collect()
}

/// What is to be done, as events say it.
pub(super) fn task(work: &Work) -> String {
    match work {
        Work::Agent(agent) => agent.task.clone(),
        Work::Loop { name } => name.clone(),
        Work::Command(CommandWork { command, .. }) => command.clone(),
        Work::Heartbeat(_) => HEARTBEAT.to_owned(),
    }
}

/// A moment as session keys name it.
pub(super) fn moment(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok();
    let at = at.and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| at_ms.to_string(), |at| at.to_string())
}

/// The end of a slot that was never begun.
pub(super) fn skipped(number: u64, why: &str) -> SlotEnd {
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

/// A job as callers see it.
pub(super) fn job(job: &Job, last: Option<Slot>, now_ms: u64) -> JobView {
    let row = &job.row;
    let calendar = job.ruled.calendar.counted_from(row.cursor_ms);
    let hours = job.ruled.policy.hours.as_ref();
    let next = if row.enabled {
        calendar.next_few(now_ms.max(row.cursor_ms), hours, NEXT_SHOWN)
    } else {
        Vec::new()
    };
    let mut about = calendar.about(&row.terms.schedule);
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
        active: job.active(),
        failures: row.failures,
        problem: row.problem.clone(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
