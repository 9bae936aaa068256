//! Checks and merges the definition of a job.
//!
//! Invariant: an accepted job can be loaded at every start, because its schedule, zone and hours
//! are parsed here before they are stored.

use super::settings;
use crate::scheduled_command::ScheduledCommand;
use hob_core::schedule::{ActiveHours, Calendar, JobPolicy, WINDOW_MS};
use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use hob_wire::rooms::cron::{
    AgentWork, CommandWork, CronUpdateParams, FAILURES_MAX, JobDefinition, JobWork, OverlapPolicy,
};
use hob_wire::{ErrorCode, WireError};
use jiff::tz::TimeZone;

const NAME_BYTES_MAX: usize = 64;
const TITLE_BYTES_MAX: usize = 256;
const DESCRIPTION_BYTES_MAX: usize = 1_024;
const TASK_BYTES_MAX: usize = 256 * 1_024;
const JITTER_MS_MAX: u64 = 24 * 3_600_000;
const WINDOW_MS_MAX: u64 = 366 * 24 * 3_600_000;
const TOOLS_MAX: usize = 256;
/// The default timeout of a command.
pub(super) const COMMAND_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

/// The parsed schedule and policy of a job.
#[derive(Clone, Debug)]
pub(super) struct JobTiming {
    pub(super) calendar: Calendar,
    pub(super) policy: JobPolicy,
}

/// Returns the definition that a new job starts from.
pub(super) fn blank() -> JobDefinition {
    JobDefinition {
        failures_max: FAILURES_MAX,
        ..JobDefinition::default()
    }
}

/// Applies a change to a definition. `is_new` means that there is nothing to keep.
pub(super) fn apply_change(
    terms: &mut JobDefinition,
    change: CronUpdateParams,
    is_new: bool,
) -> Result<(), WireError> {
    let was_hook = is_webhook(&terms.schedule);
    if let Some(name) = &change.name {
        check_name(name)?;
        terms.name.clone_from(name);
    }
    if let Some(schedule) = &change.schedule {
        schedule.trim().clone_into(&mut terms.schedule);
    }
    terms.work = merge_work(&terms.work, &change, is_new)?;
    set_text(&mut terms.zone, change.zone);
    set_text(&mut terms.title, change.title);
    set_text(&mut terms.description, change.description);
    set_text(&mut terms.active_hours, change.active_hours);
    let overlap_is_new = is_new || was_hook != is_webhook(&terms.schedule);
    terms.overlap = match change.overlap {
        Some(overlap) => overlap,
        // Every call has its own content, so by default none is skipped.
        None if overlap_is_new && is_webhook(&terms.schedule) => OverlapPolicy::Queue,
        None if overlap_is_new => OverlapPolicy::default(),
        None => terms.overlap,
    };
    terms.missed = change.missed.unwrap_or(terms.missed);
    terms.window_ms = change.window_ms.or(terms.window_ms);
    terms.jitter_ms = change.jitter_ms.unwrap_or(terms.jitter_ms);
    terms.failures_max = change.failures_max.unwrap_or(terms.failures_max);
    if let Some(grants) = change.grants {
        terms.grants = grants.into_iter().map(Into::into).collect();
    }
    // An empty session key switches the notices off.
    if let Some(notify) = change.notify {
        terms.notify = Some(notify.into())
            .filter(|to: &hob_wire::rooms::cron::NotifyTargetView| !to.session_key.is_empty());
    }
    check_terms(terms)
}

/// Parses what decides when a job is due.
pub(super) fn parse_timing(
    terms: &JobDefinition,
    default_zone: &TimeZone,
    created_at: u64,
) -> Result<JobTiming, WireError> {
    let zone = match &terms.zone {
        Some(name) => settings::parse_zone(name).map_err(invalid)?,
        None => default_zone.clone(),
    };
    let calendar = Calendar::parse(&terms.schedule, zone, created_at).map_err(invalid)?;
    let hours = terms.active_hours.as_deref().map(ActiveHours::parse);
    Ok(JobTiming {
        calendar,
        policy: JobPolicy {
            missed: terms.missed,
            overlap: terms.overlap,
            window_ms: terms.window_ms.unwrap_or(WINDOW_MS),
            jitter_ms: terms.jitter_ms,
            hours: hours.transpose().map_err(invalid)?,
            failures_max: terms.failures_max,
        },
    })
}

/// Refuses a schedule that has no time in the future.
pub(super) fn check_future(timing: &JobTiming, now_ms: u64) -> Result<(), WireError> {
    let calendar = &timing.calendar;
    if calendar.once_ms().is_some_and(|at_ms| at_ms <= now_ms) {
        return Err(invalid("This time has already passed.".to_owned()));
    }
    let next = calendar.next_within(now_ms, timing.policy.hours.as_ref());
    if !calendar.is_webhook() && next.is_none() {
        let message = "This job would never be due within its active hours.";
        return Err(invalid(message.to_owned()));
    }
    Ok(())
}

pub(super) fn is_webhook(schedule: &str) -> bool {
    schedule.trim().eq_ignore_ascii_case("webhook")
}

/// The kinds of the sessions of jobs.
pub(super) const SESSION_KINDS: [&str; 2] = ["cron", "webhook"];

/// Returns the kind of the sessions of a job's runs.
pub(super) fn session_kind(terms: &JobDefinition) -> &'static str {
    if is_webhook(&terms.schedule) {
        "webhook"
    } else {
        "cron"
    }
}

/// Returns the command of a job that runs one.
pub(super) fn scheduled_command(work: &JobWork) -> Option<ScheduledCommand> {
    match work {
        JobWork::Command(command) => Some(ScheduledCommand {
            command: command.command.clone(),
            workspace: command.workspace.clone(),
            network: command.network,
            timeout_ms: Some(command.timeout_ms.unwrap_or(COMMAND_TIMEOUT_MS)),
        }),
        JobWork::Agent(_) | JobWork::Loop { .. } | JobWork::Heartbeat(_) => None,
    }
}

pub(super) fn invalid(message: String) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}

/// Returns the job's work after a change: another kind if the change names one, else the present
/// one with its fields changed.
fn merge_work(
    present: &JobWork,
    change: &CronUpdateParams,
    is_new: bool,
) -> Result<JobWork, WireError> {
    let named = [&change.task, &change.loop_name, &change.command];
    let named = named.into_iter().flatten().count();
    if named > 1 || (is_new && named == 0) {
        let message = "Give exactly one of `task`, `loop` and `command`.";
        return Err(invalid(message.to_owned()));
    }
    let mut work = match (&change.task, &change.loop_name, &change.command, present) {
        (Some(task), _, _, JobWork::Agent(agent)) => JobWork::Agent(AgentWork {
            task: task.clone(),
            ..agent.clone()
        }),
        (Some(task), _, _, _) => JobWork::Agent(AgentWork {
            task: task.clone(),
            ..AgentWork::default()
        }),
        (_, Some(name), _, _) => JobWork::Loop { name: name.clone() },
        (_, _, Some(line), JobWork::Command(command)) => JobWork::Command(CommandWork {
            command: line.clone(),
            ..command.clone()
        }),
        (_, _, Some(line), _) => JobWork::Command(CommandWork {
            command: line.clone(),
            ..CommandWork::default()
        }),
        _ => present.clone(),
    };
    match &mut work {
        JobWork::Agent(agent) => {
            set_text(&mut agent.model, change.model.clone());
            set_text(&mut agent.workspace, change.workspace.clone());
            agent.budget = change.budget.map(Into::into).or(agent.budget);
            agent.tools = change.tools.clone().or_else(|| agent.tools.clone());
            require_kind(
                change.network.is_none() && change.timeout_ms.is_none(),
                "`network` and `timeoutMs`",
                "command",
            )?;
        }
        JobWork::Command(command) => {
            set_text(&mut command.workspace, change.workspace.clone());
            command.network = change.network.unwrap_or(command.network);
            command.timeout_ms = change.timeout_ms.or(command.timeout_ms);
            let none = change.model.is_none() && change.budget.is_none() && change.tools.is_none();
            require_kind(none, "`model`, `budget` and `tools`", "task")?;
        }
        JobWork::Loop { .. } | JobWork::Heartbeat(_) => {
            let none = change.model.is_none()
                && change.budget.is_none()
                && change.tools.is_none()
                && change.workspace.is_none()
                && change.network.is_none()
                && change.timeout_ms.is_none();
            require_kind(
                none,
                "`model`, `budget`, `tools`, `workspace`, `network` and `timeoutMs`",
                "task or command",
            )?;
        }
    }
    Ok(work)
}

fn require_kind(holds: bool, fields: &str, kind: &str) -> Result<(), WireError> {
    if holds {
        return Ok(());
    }
    Err(invalid(format!("{fields} only apply to a {kind}.")))
}

/// Sets an optional text. An empty one resets it to the default.
fn set_text(field: &mut Option<String>, change: Option<String>) {
    if let Some(change) = change {
        *field = Some(change.trim().to_owned()).filter(|text| !text.is_empty());
    }
}

fn check_terms(terms: &JobDefinition) -> Result<(), WireError> {
    let at_most = |what: &str, bytes: usize, max: usize| {
        if bytes > max {
            return Err(invalid(format!(
                "{what} has {bytes} bytes; the limit is {max}."
            )));
        }
        Ok(())
    };
    if let Some(title) = &terms.title {
        at_most("`title`", title.len(), TITLE_BYTES_MAX)?;
        if title.chars().any(char::is_control) {
            return Err(invalid("`title` is one line of text.".to_owned()));
        }
    }
    if let Some(description) = &terms.description {
        at_most("`description`", description.len(), DESCRIPTION_BYTES_MAX)?;
    }
    if terms.jitter_ms > JITTER_MS_MAX {
        return Err(invalid("`jitterMs` is at most a day.".to_owned()));
    }
    if terms
        .window_ms
        .is_some_and(|window| window == 0 || window > WINDOW_MS_MAX)
    {
        return Err(invalid("`windowMs` is between 1 ms and a year.".to_owned()));
    }
    if let Some(notify) = &terms.notify {
        let key = &notify.session_key;
        if key.len() > SESSION_KEY_BYTES_MAX || key.chars().any(char::is_control) {
            return Err(invalid("`notify` is not a session key.".to_owned()));
        }
    }
    match &terms.work {
        JobWork::Agent(agent) => {
            at_most("`task`", agent.task.len(), TASK_BYTES_MAX)?;
            if agent.task.trim().is_empty() {
                return Err(invalid("`task` must not be empty.".to_owned()));
            }
            if agent
                .tools
                .as_ref()
                .is_some_and(|tools| tools.len() > TOOLS_MAX)
            {
                return Err(invalid(format!("`tools` has at most {TOOLS_MAX} names.")));
            }
            if agent
                .workspace
                .as_ref()
                .is_some_and(|path| !path.starts_with('/'))
            {
                return Err(invalid(
                    "`workspace` must be the absolute path of a folder.".to_owned(),
                ));
            }
        }
        JobWork::Loop { name } => check_name(name)?,
        JobWork::Command(_) => {
            let command = scheduled_command(&terms.work);
            command
                .map_or(Ok(()), |command| command.check())
                .map_err(invalid)?;
        }
        JobWork::Heartbeat(_) => {}
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), WireError> {
    // The name is part of session keys and of the webhook's address.
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edge = name.starts_with('-') || name.ends_with('-');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || edge || !name.chars().all(allowed) {
        return Err(invalid(format!(
            "A name is 1 to {NAME_BYTES_MAX} lower-case letters, digits and dashes, such as daily-report."
        )));
    }
    Ok(())
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
