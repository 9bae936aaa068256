//! From what a person says to what a job is.
//!
//! Invariant: a job that was taken can be read again at every start: its schedule, zone and hours
//! are parsed here once before they are kept.

use super::settings;
use crate::errand::Errand;
use hob_core::schedule::{Calendar, Hours, Policy, WINDOW_MS};
use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use hob_wire::rooms::cron::{
    AgentWork, CommandWork, FAILURES_MAX, JobTerms, Overlap, UpdateJobParams, Work,
};
use hob_wire::{ErrorCode, WireError};
use jiff::tz::TimeZone;

const NAME_BYTES_MAX: usize = 64;
const DESCRIPTION_BYTES_MAX: usize = 1_024;
const TASK_BYTES_MAX: usize = 256 * 1_024;
const JITTER_MS_MAX: u64 = 24 * 3_600_000;
const WINDOW_MS_MAX: u64 = 366 * 24 * 3_600_000;
const TOOLS_MAX: usize = 256;
/// How long a command may take, unless told.
pub(super) const COMMAND_MS: u64 = 10 * 60 * 1_000;

/// What the machine needs of a job.
#[derive(Clone, Debug)]
pub(super) struct Ruled {
    pub(super) calendar: Calendar,
    pub(super) policy: Policy,
}

/// The terms of a job that does not exist yet.
pub(super) fn blank() -> JobTerms {
    JobTerms {
        failures_max: FAILURES_MAX,
        ..JobTerms::default()
    }
}

/// Changes terms by what was said; `is_new` where there is nothing to keep.
pub(super) fn change(
    terms: &mut JobTerms,
    said: UpdateJobParams,
    is_new: bool,
) -> Result<(), WireError> {
    let was_hook = is_webhook(&terms.schedule);
    if let Some(name) = &said.name {
        check_name(name)?;
        terms.name.clone_from(name);
    }
    if let Some(schedule) = &said.schedule {
        schedule.trim().clone_into(&mut terms.schedule);
    }
    terms.work = work(&terms.work, &said, is_new)?;
    text(&mut terms.zone, said.zone);
    text(&mut terms.description, said.description);
    text(&mut terms.active_hours, said.active_hours);
    let overlap_is_new = is_new || was_hook != is_webhook(&terms.schedule);
    terms.overlap = match said.overlap {
        Some(overlap) => overlap,
        // Each call carries something of its own, so that none is dropped unless somebody says so.
        None if overlap_is_new && is_webhook(&terms.schedule) => Overlap::Queue,
        None if overlap_is_new => Overlap::default(),
        None => terms.overlap,
    };
    terms.missed = said.missed.unwrap_or(terms.missed);
    terms.window_ms = said.window_ms.or(terms.window_ms);
    terms.jitter_ms = said.jitter_ms.unwrap_or(terms.jitter_ms);
    terms.failures_max = said.failures_max.unwrap_or(terms.failures_max);
    if let Some(grants) = said.grants {
        terms.grants = grants.into_iter().map(Into::into).collect();
    }
    if let Some(notify) = said.notify {
        terms.notify = Some(notify.into())
            .filter(|to: &hob_wire::rooms::cron::NotifyView| !to.session_key.is_empty());
    }
    check(terms)
}

/// Reads what decides when a job is due.
pub(super) fn read(
    terms: &JobTerms,
    house: &TimeZone,
    created_at: u64,
) -> Result<Ruled, WireError> {
    let zone = match &terms.zone {
        Some(name) => settings::zone(name).map_err(wrong)?,
        None => house.clone(),
    };
    let calendar = Calendar::parse(&terms.schedule, zone, created_at).map_err(wrong)?;
    let hours = terms.active_hours.as_deref().map(Hours::parse);
    Ok(Ruled {
        calendar,
        policy: Policy {
            missed: terms.missed,
            overlap: terms.overlap,
            window_ms: terms.window_ms.unwrap_or(WINDOW_MS),
            jitter_ms: terms.jitter_ms,
            hours: hours.transpose().map_err(wrong)?,
            failures_max: terms.failures_max,
        },
    })
}

/// Refuses a schedule that names no time from now on.
pub(super) fn check_ahead(ruled: &Ruled, now_ms: u64) -> Result<(), WireError> {
    let calendar = &ruled.calendar;
    if calendar.once_ms().is_some_and(|at_ms| at_ms <= now_ms) {
        return Err(wrong("This time has passed already.".to_owned()));
    }
    let next = calendar.next_within(now_ms, ruled.policy.hours.as_ref());
    if !calendar.is_webhook() && next.is_none() {
        let message = "This job would never be due within its active hours.";
        return Err(wrong(message.to_owned()));
    }
    Ok(())
}

pub(super) fn is_webhook(schedule: &str) -> bool {
    schedule.trim().eq_ignore_ascii_case("webhook")
}

/// The kinds that sessions of jobs have.
pub(super) const KINDS: [&str; 2] = ["cron", "webhook"];

/// The kind of the sessions of its runs.
pub(super) fn kind(terms: &JobTerms) -> &'static str {
    if is_webhook(&terms.schedule) {
        "webhook"
    } else {
        "cron"
    }
}

/// The command of a job that has one.
pub(super) fn errand(work: &Work) -> Option<Errand> {
    match work {
        Work::Command(command) => Some(Errand {
            command: command.command.clone(),
            workspace: command.workspace.clone(),
            network: command.network,
            timeout_ms: Some(command.timeout_ms.unwrap_or(COMMAND_MS)),
        }),
        Work::Agent(_) | Work::Loop { .. } | Work::Heartbeat(_) => None,
    }
}

pub(super) fn wrong(message: String) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}

/// What the job does now: another kind of work if one was named, else the same one, changed.
fn work(present: &Work, said: &UpdateJobParams, is_new: bool) -> Result<Work, WireError> {
    let named = [&said.task, &said.loop_name, &said.command];
    let named = named.into_iter().flatten().count();
    if named > 1 || (is_new && named == 0) {
        let message = "Give exactly one of `task`, `loop` and `command`.";
        return Err(wrong(message.to_owned()));
    }
    let mut work = match (&said.task, &said.loop_name, &said.command, present) {
        (Some(task), _, _, Work::Agent(agent)) => Work::Agent(AgentWork {
            task: task.clone(),
            ..agent.clone()
        }),
        (Some(task), _, _, _) => Work::Agent(AgentWork {
            task: task.clone(),
            ..AgentWork::default()
        }),
        (_, Some(name), _, _) => Work::Loop { name: name.clone() },
        (_, _, Some(line), Work::Command(command)) => Work::Command(CommandWork {
            command: line.clone(),
            ..command.clone()
        }),
        (_, _, Some(line), _) => Work::Command(CommandWork {
            command: line.clone(),
            ..CommandWork::default()
        }),
        _ => present.clone(),
    };
    match &mut work {
        Work::Agent(agent) => {
            text(&mut agent.model, said.model.clone());
            text(&mut agent.workspace, said.workspace.clone());
            agent.budget = said.budget.map(Into::into).or(agent.budget);
            agent.tools = said.tools.clone().or_else(|| agent.tools.clone());
            only(
                said.network.is_none() && said.timeout_ms.is_none(),
                "`network` and `timeoutMs`",
                "command",
            )?;
        }
        Work::Command(command) => {
            text(&mut command.workspace, said.workspace.clone());
            command.network = said.network.unwrap_or(command.network);
            command.timeout_ms = said.timeout_ms.or(command.timeout_ms);
            let none = said.model.is_none() && said.budget.is_none() && said.tools.is_none();
            only(none, "`model`, `budget` and `tools`", "task")?;
        }
        Work::Loop { .. } | Work::Heartbeat(_) => {
            let none = said.model.is_none()
                && said.budget.is_none()
                && said.tools.is_none()
                && said.workspace.is_none()
                && said.network.is_none()
                && said.timeout_ms.is_none();
            only(
                none,
                "`model`, `budget`, `tools`, `workspace`, `network` and `timeoutMs`",
                "task or command",
            )?;
        }
    }
    Ok(work)
}

fn only(holds: bool, fields: &str, kind: &str) -> Result<(), WireError> {
    if holds {
        return Ok(());
    }
    Err(wrong(format!("{fields} go with a {kind} only.")))
}

/// What was said, if anything; an empty text goes back to the default.
fn text(field: &mut Option<String>, said: Option<String>) {
    if let Some(said) = said {
        *field = Some(said.trim().to_owned()).filter(|text| !text.is_empty());
    }
}

fn check(terms: &JobTerms) -> Result<(), WireError> {
    let at_most = |what: &str, bytes: usize, max: usize| {
        if bytes > max {
            return Err(wrong(format!(
                "{what} has {bytes} bytes; at most {max} are taken."
            )));
        }
        Ok(())
    };
    if let Some(description) = &terms.description {
        at_most("`description`", description.len(), DESCRIPTION_BYTES_MAX)?;
    }
    if terms.jitter_ms > JITTER_MS_MAX {
        return Err(wrong("`jitterMs` is at most a day.".to_owned()));
    }
    if terms
        .window_ms
        .is_some_and(|window| window == 0 || window > WINDOW_MS_MAX)
    {
        return Err(wrong("`windowMs` is between 1 ms and a year.".to_owned()));
    }
    if let Some(notify) = &terms.notify {
        let key = &notify.session_key;
        if key.len() > SESSION_KEY_BYTES_MAX || key.chars().any(char::is_control) {
            return Err(wrong("`notify` names no session.".to_owned()));
        }
    }
    match &terms.work {
        Work::Agent(agent) => {
            at_most("`task`", agent.task.len(), TASK_BYTES_MAX)?;
            if agent.task.trim().is_empty() {
                return Err(wrong("`task` is empty; say what is to be done.".to_owned()));
            }
            if agent
                .tools
                .as_ref()
                .is_some_and(|tools| tools.len() > TOOLS_MAX)
            {
                return Err(wrong(format!("At most {TOOLS_MAX} tools are named.")));
            }
            if agent
                .workspace
                .as_ref()
                .is_some_and(|path| !path.starts_with('/'))
            {
                return Err(wrong(
                    "`workspace` is the whole path of a folder.".to_owned(),
                ));
            }
        }
        Work::Loop { name } => check_name(name)?,
        Work::Command(_) => {
            let errand = errand(&terms.work);
            errand
                .map_or(Ok(()), |errand| errand.check())
                .map_err(wrong)?;
        }
        Work::Heartbeat(_) => {}
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), WireError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edge = name.starts_with('-') || name.ends_with('-');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || edge || !name.chars().all(allowed) {
        return Err(wrong(format!(
            "A name is 1 to {NAME_BYTES_MAX} lower-case letters, digits and dashes, such as daily-report."
        )));
    }
    Ok(())
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
