//! Jobs in the words of Pryx's tasks, and back. Pure.
//!
//! Invariants: the schedule is passed on as it is written, so that hob's own parser decides. What a
//! job of hob's cannot do is refused by name before anything is stored.

use crate::pryx::timestamp;
use hob_wire::rooms::cron::{
    CronAddParams, CronJob, CronUpdateParams, JobSlot, JobWork, SlotState,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The beginning of a schedule that waits for an event.
const EVENT_SCHEDULE: &str = "event:";
/// Maximum bytes of a job's name that is made of a task's.
const NAME_BYTES_MAX: usize = 64;

/// A task to create, or the changes of one.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PryxTaskFields {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    cron_expression: Option<String>,
    #[serde(default)]
    task_type: Option<String>,
    #[serde(default)]
    payload: Option<String>,
    #[serde(default)]
    timezone: Option<String>,
    #[serde(default)]
    enabled: Option<bool>,
}

impl PryxTaskFields {
    /// The job to add, or the reason why there can be none.
    pub(crate) fn into_job(self) -> Result<CronAddParams, TaskRefusal> {
        self.check()?;
        let missing = |field: &str| TaskRefusal::Wrong(format!("A task needs '{field}'."));
        let title = self.name.ok_or_else(|| missing("name"))?;
        let name = job_name(&title).ok_or_else(|| missing("name"))?;
        // A name that hob cannot use is kept where a person finds it.
        let description = self.description.filter(|text| !text.is_empty());
        let description = description.or((title != name).then_some(title));
        Ok(CronAddParams {
            name,
            schedule: self
                .cron_expression
                .ok_or_else(|| missing("cron_expression"))?,
            task: Some(self.payload.ok_or_else(|| missing("payload"))?),
            description,
            zone: self.timezone.filter(|zone| !zone.is_empty()),
            enabled: self.enabled,
            ..CronAddParams::default()
        })
    }

    /// The change of a job, or the reason why there can be none.
    pub(crate) fn into_change(self, id: String) -> Result<CronUpdateParams, TaskRefusal> {
        self.check()?;
        Ok(CronUpdateParams {
            id,
            name: self.name.as_deref().and_then(job_name),
            schedule: self.cron_expression,
            task: self.payload,
            description: self.description,
            zone: self.timezone,
            enabled: self.enabled,
            ..CronUpdateParams::default()
        })
    }

    fn check(&self) -> Result<(), TaskRefusal> {
        match self.task_type.as_deref() {
            None | Some("message" | "reminder") => {}
            Some("workflow" | "webhook") => {
                return Err(TaskRefusal::Absent(
                    "hob runs tasks of the types 'message' and 'reminder' only: their payload is what the agent is asked.",
                ));
            }
            Some(_) => {
                let why = "A task is of the type 'message' or 'reminder'.";
                return Err(TaskRefusal::Wrong(why.to_owned()));
            }
        }
        match &self.cron_expression {
            Some(line) => check_schedule(line),
            None => Ok(()),
        }
    }
}

/// Refuses what is a schedule to Pryx and none to hob.
pub(crate) fn check_schedule(line: &str) -> Result<(), TaskRefusal> {
    if line.trim_start().starts_with(EVENT_SCHEDULE) {
        return Err(TaskRefusal::Absent(
            "hob has no tasks that wait for an event; give a schedule such as '0 9 * * *' or '@every 10m'.",
        ));
    }
    Ok(())
}

/// The reason why a task cannot be a job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TaskRefusal {
    /// The request is wrong.
    Wrong(String),
    /// hob does not have it.
    Absent(&'static str),
}

pub(crate) fn task_json(job: &CronJob) -> Value {
    let (task_type, payload) = match &job.terms.work {
        JobWork::Agent(work) => ("message", work.task.as_str()),
        JobWork::Loop { name } => ("loop", name.as_str()),
        JobWork::Command(work) => ("command", work.command.as_str()),
        JobWork::Heartbeat(_) => ("heartbeat", ""),
    };
    let last = job.last.as_ref();
    json!({
        "id": job.id,
        "name": job.terms.name,
        "description": job.terms.description.as_deref().unwrap_or_default(),
        "cron_expression": job.terms.schedule,
        "task_type": task_type,
        "payload": payload,
        "timezone": job.terms.zone.as_deref().unwrap_or_default(),
        "enabled": job.enabled,
        "last_run_at": last.and_then(|slot| slot.started_at).map(timestamp::from_ms),
        "last_run_status": last.map(|slot| slot_status(slot.state)),
        "next_run_at": job.next.first().copied().map(timestamp::from_ms),
        "problem": job.problem,
        "created_at": timestamp::from_ms(job.created_at),
        "updated_at": timestamp::from_ms(job.updated_at),
    })
}

pub(crate) fn slot_json(slot: &JobSlot) -> Value {
    json!({
        "id": slot.number.to_string(),
        "task_id": slot.task_id,
        "started_at": timestamp::from_ms(slot.started_at.unwrap_or(slot.due_at)),
        "completed_at": slot.ended_at.map(timestamp::from_ms),
        "status": slot_status(slot.state),
        "error": slot.reason,
        "output": slot.output,
        "session_id": slot.session_key,
    })
}

fn slot_status(state: SlotState) -> &'static str {
    match state {
        SlotState::Due => "pending",
        SlotState::Running => "running",
        SlotState::Ran => "completed",
        SlotState::RanWithDenials => "completed_with_denials",
        SlotState::RanWithFailures => "completed_with_failures",
        SlotState::Failed => "failed",
        SlotState::Skipped => "skipped",
        SlotState::Missed => "missed",
        SlotState::Stopped => "cancelled",
    }
}

/// Makes a job's name of a task's: lower-case letters, digits and single dashes. `None` if nothing
/// is left.
fn job_name(title: &str) -> Option<String> {
    let mut name = String::new();
    for c in title.chars() {
        if name.len() >= NAME_BYTES_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
#[path = "task_translate_tests.rs"]
mod tests;
