//! How following a run ended, and what that means for who asked. Pure.

use super::lines;
use super::question::Asked;
use crate::failure::{Exit, Failure};
use crate::render::rules;
use crate::render::words::{cut, one_line};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::RunCompletedPayload;
use hob_wire::rooms::permission::Denial;
use hob_wire::work::Cause;
use serde_json::json;
use std::collections::BTreeMap;

/// Who decides when nobody can be asked.
const BY_UNATTENDED: &str = "unattended";
/// Columns that a call takes in a sentence.
const CALL_COLUMNS: usize = 100;
/// Rules that are named at the most; the run itself keeps every denial.
const GRANTS_MAX: usize = 8;

/// What became of a run that was followed.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Its last event; none when it goes on without us.
    pub completed: Option<RunCompletedPayload>,
    /// Calls that were not allowed, by their id, in a few words.
    pub refused: BTreeMap<String, String>,
    /// What was asked of us while nobody could answer, and so denied by us.
    pub denied: Vec<String>,
    /// What it still waits for.
    pub waits: Option<Wait>,
    /// A person stopped it.
    pub interrupted: bool,
    pub took_ms: u64,
}

/// A question that stays open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What is asked, in a sentence.
    pub sentence: String,
    /// The command that answers it.
    pub next: String,
}

impl Wait {
    pub fn of(asked: &Asked) -> Wait {
        let run = asked.run();
        match asked {
            Asked::Permission(question) => Wait {
                sentence: format!(
                    "The run {run} asks: {}",
                    lines::sentence(&question.sentence)
                ),
                next: "`hob permission pending` shows the question.".to_owned(),
            },
            Asked::Doubt(doubt) => Wait {
                sentence: format!(
                    "The run waits: nobody knows whether its call of {} happened. {}",
                    one_line(&doubt.call.name),
                    lines::sentence(&doubt.known)
                ),
                next: resolve_advice(run, &doubt.call.id),
            },
            Asked::Money(paused) => Wait {
                sentence: format!("The run waits: {}", lines::sentence(&paused.message)),
                next: format!("Allow it more with `hob run allow {run} --dollars 1`."),
            },
        }
    }
}

fn resolve_advice(run: RunId, call: &str) -> String {
    let call = crate::tree::text::quoted(&one_line(call));
    format!("Say what happened: `hob run resolve {run} {call} happened|did-not|give-up`.")
}

impl Ending {
    /// The result of a command whose one task this run was.
    pub fn result(&self) -> Result<(), Failure> {
        if self.interrupted {
            return Err(Failure::quiet(Exit::Interrupted));
        }
        if let Some(wait) = &self.waits {
            let failure = Failure::new(Exit::Waits, "RUN_WAITS", wait.sentence.clone());
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

    /// Calls that a person would have been asked about, had one been there: denied, even if the
    /// model found an answer without them.
    fn unattended(&self) -> Option<Failure> {
        let denials = self.completed.iter().flat_map(|it| &it.denied);
        let denials: Vec<&Denial> = denials.filter(|it| it.by == BY_UNATTENDED).collect();
        let told = denials.iter().map(|denial| {
            let tool = one_line(&denial.tool);
            let call = self.refused.get(&denial.call_id).unwrap_or(&tool);
            format!("{} (tool {tool})", cut(call, CALL_COLUMNS))
        });
        let told: Vec<String> = told.chain(self.denied.iter().cloned()).collect();
        let (first, others) = told.split_first()?;
        let more = match others.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let sentence = format!(
            "Denied, since nobody is there to be asked and no rule allows it: {first}{more}"
        );
        let failure = Failure::new(Exit::Denied, "DENIED", sentence);
        let mut failure = failure.next(next_after(&denials));
        failure.details = Some(Box::new(json!({ "denied": denials })));
        Some(failure)
    }
}

/// The commands that would allow what was denied, each once.
fn next_after(denials: &[&Denial]) -> String {
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

/// A run that ended without an answer.
pub fn failure(completed: &RunCompletedPayload) -> Failure {
    let run = completed.of.run_id;
    let (exit, code) = match completed.cause {
        Cause::Denied => (Exit::Denied, "DENIED"),
        Cause::ModelFailed => (Exit::NoAnswer, "MODEL_FAILED"),
        Cause::Aborted => (Exit::NoAnswer, "ABORTED"),
        _ => (Exit::NoAnswer, "RUN_FAILED"),
    };
    let next = match completed.cause {
        Cause::ModelFailed => "`hob model list` shows which providers are ready.".to_owned(),
        Cause::StepLimit | Cause::TokenLimit | Cause::MoneyLimit | Cause::TimeLimit => format!(
            "Give it more with --budget-steps, -tokens, -dollars or -time; `hob run show {run}` \
             shows how far it came."
        ),
        _ => format!("`hob run show {run}` shows how far it came."),
    };
    Failure::new(exit, code, lines::cause(completed)).next(next)
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
