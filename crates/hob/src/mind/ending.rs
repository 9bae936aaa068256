//! How following a run ended, and what that means for who asked. Pure.

use super::lines;
use super::question::Asked;
use crate::failure::{Exit, Failure};
use crate::render::words::one_line;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::RunCompletedPayload;
use hob_wire::work::Cause;

/// What became of a run that was followed.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Its last event; none when it goes on without us.
    pub completed: Option<RunCompletedPayload>,
    /// What was asked while nobody could answer, and so denied.
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
        if let Some(first) = self.denied.first() {
            let sentence = match self.denied.len() - 1 {
                0 => format!("Denied, since nobody is there to be asked: {first}"),
                more => {
                    format!("Denied, since nobody is there to be asked: {first} (and {more} more)")
                }
            };
            let failure = Failure::new(Exit::Denied, "DENIED", sentence);
            return Err(failure.next("On a terminal `hob ask` asks you instead."));
        }
        match &self.completed {
            Some(completed) if !completed.success => Err(failure(completed)),
            _ => Ok(()),
        }
    }
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
