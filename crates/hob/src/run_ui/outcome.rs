//! The outcome of following a run, and the exit status it means. Pure.

use super::lines;
use super::question::UserQuestion;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::rules;
use crate::render::text::{one_line, truncate};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::RunCompletedPayload;
use hob_wire::rooms::permission::PermissionDenial;
use hob_wire::work::RunEndCause;
use serde_json::json;
use std::collections::BTreeMap;

/// The `by` of denials made because nobody could be asked.
const BY_UNATTENDED: &str = "unattended";
/// The most columns of a call in a sentence.
const CALL_COLUMNS: usize = 100;
/// The most rules that are suggested; the run keeps every denial.
const GRANTS_MAX: usize = 8;

/// The outcome of a followed run.
#[derive(Clone, Debug, Default)]
pub struct FollowOutcome {
    /// The run's last event; `None` when the run continues without this client.
    pub completed: Option<RunCompletedPayload>,
    /// Descriptions of denied calls, by call id.
    pub refused: BTreeMap<String, String>,
    /// Questions that this client denied because nobody could answer.
    pub denied: Vec<String>,
    /// The question the run still waits for.
    pub waits: Option<WaitingQuestion>,
    /// The person stopped the run.
    pub interrupted: bool,
    pub took_ms: u64,
}

/// A question that stays open after the command ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingQuestion {
    /// The question in a sentence.
    pub sentence: String,
    /// The command that answers it.
    pub next: String,
}

impl WaitingQuestion {
    pub fn of(asked: &UserQuestion) -> WaitingQuestion {
        let run = asked.run();
        match asked {
            UserQuestion::Permission(question) => WaitingQuestion {
                sentence: format!(
                    "The run {run} asks: {}",
                    lines::sentence(&question.sentence)
                ),
                next: "`hob permission pending` shows the question.".to_owned(),
            },
            UserQuestion::Doubt(doubt) => WaitingQuestion {
                sentence: format!(
                    "The run waits: it is unknown whether its call of {} happened. {}",
                    one_line(&doubt.call.name),
                    lines::sentence(&doubt.known)
                ),
                next: resolve_advice(run, &doubt.call.id),
            },
            UserQuestion::Budget(paused) => WaitingQuestion {
                sentence: format!("The run waits: {}", lines::sentence(&paused.message)),
                next: format!("Allow it more with `hob run allow {run} --dollars 1`."),
            },
        }
    }
}

fn resolve_advice(run: RunId, call: &str) -> String {
    let call = crate::tree::help_text::quoted(&one_line(call));
    format!("Say what happened: `hob run resolve {run} {call} happened|did-not|give-up`.")
}

impl FollowOutcome {
    /// The result of a command that consists of this run.
    pub fn result(&self) -> Result<(), CommandFailure> {
        // A stop by the person wins over every other outcome.
        if self.interrupted {
            return Err(CommandFailure::quiet(ExitStatus::Interrupted));
        }
        if let Some(wait) = &self.waits {
            let failure =
                CommandFailure::new(ExitStatus::Waits, "RUN_WAITS", wait.sentence.clone());
            return Err(failure.next(wait.next.clone()));
        }
        if let Some(failure) = self.unattended() {
            return Err(failure);
        }
        match &self.completed {
            Some(completed) if !completed.success => Err(failure(completed)),
            _ => Ok(()),
        }
    }

    /// The failure for calls that were denied because nobody could be asked. It is reported even if
    /// the model answered without them.
    fn unattended(&self) -> Option<CommandFailure> {
        let denials = self.completed.iter().flat_map(|it| &it.denied);
        let denials: Vec<&PermissionDenial> = denials.filter(|it| it.by == BY_UNATTENDED).collect();
        let denied_calls = denials.iter().map(|denial| {
            let tool = one_line(&denial.tool);
            let call = self.refused.get(&denial.call_id).unwrap_or(&tool);
            format!("{} (tool {tool})", truncate(call, CALL_COLUMNS))
        });
        let denied_calls: Vec<String> = denied_calls.chain(self.denied.iter().cloned()).collect();
        let (first, others) = denied_calls.split_first()?;
        let more = match others.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let sentence =
            format!("Denied, because nobody is there to ask and no rule allows it: {first}{more}");
        let failure = CommandFailure::new(ExitStatus::Denied, "DENIED", sentence);
        let mut failure = failure.next(next_after(&denials));
        failure.details = Some(Box::new(json!({ "denied": denials })));
        Some(failure)
    }
}

/// The commands that store rules for the denied calls, without duplicates.
fn next_after(denials: &[&PermissionDenial]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for grant in denials.iter().filter_map(|denial| denial.grant.as_ref()) {
        let line = rules::add_line(grant);
        if !lines.contains(&line) && lines.len() < GRANTS_MAX {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return "On a terminal `hob ask` asks you instead.".to_owned();
    }
    format!(
        "On a terminal `hob ask` asks you instead. This allows it without asking:\n    {}",
        lines.join("\n    ")
    )
}

/// The failure of a run that ended without an answer.
pub fn failure(completed: &RunCompletedPayload) -> CommandFailure {
    let run = completed.run.run_id;
    let (exit, code) = match completed.cause {
        RunEndCause::Denied => (ExitStatus::Denied, "DENIED"),
        RunEndCause::ModelFailed => (ExitStatus::NoAnswer, "MODEL_FAILED"),
        RunEndCause::Aborted => (ExitStatus::NoAnswer, "ABORTED"),
        RunEndCause::RepeatedText => (ExitStatus::Repeated, "REPEATED"),
        _ => (ExitStatus::NoAnswer, "RUN_FAILED"),
    };
    let next = match completed.cause {
        RunEndCause::RepeatedText => "`hob onboard` offers a better model.".to_owned(),
        RunEndCause::ModelFailed => "`hob model list` shows which providers are ready.".to_owned(),
        RunEndCause::StepLimit
        | RunEndCause::TokenLimit
        | RunEndCause::MoneyLimit
        | RunEndCause::TimeLimit => format!(
            "Raise the limit with --budget-steps, -tokens, -dollars or -time; `hob run show {run}` \
             shows its progress."
        ),
        _ => format!("`hob run show {run}` shows its progress."),
    };
    CommandFailure::new(exit, code, lines::cause(completed)).next(next)
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
