//! The end of a run of a loop or a job, which nobody watches.
//!
//! Invariants: a run that waits for a person is given up, because nobody is there; one that is
//! stopped is told so until it ends; what its children cost, and what was denied to them, counts.

use hob_bus::Caller;
use hob_core::unattended::{CallFate, CallReport, EndedCall, WorkOwner, report};
use hob_store::{Store, StoreError};
use hob_wire::rooms::agent::{
    Abort, CallState, CallView, Cause, Cost, RunSelector, RunState, RunView, Status, Wait,
    WaitParams,
};
use hob_wire::schedule::{GrantView, WorkOutcome};
use hob_wire::{ErrorCode, Part, RunId, WireError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long one wait for a run takes at the most: so soon it is noticed that a run waits for a
/// person.
const WAIT_MS: u64 = 10_000;
/// Why a run is given up that a crash cut off in the middle of a call.
const IN_DOUBT: &str = "It was cut off in the middle of a call, and nobody is there to say whether that call happened.";
/// Why a run is given up that waits for money.
const OUT_OF_MONEY: &str = "A budget was used up, and nobody is there to allow more.";
/// Runs below one whose calls are looked at.
const BELOW_MAX: usize = 64;
/// Before the agent is asked again after it could not answer.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a stopped run may take to end before it is told again.
const ABORT_AGAIN: Duration = Duration::from_secs(5);

/// How a run went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) success: bool,
    pub(crate) cause: Option<Cause>,
    /// Why it failed.
    pub(crate) message: Option<String>,
    pub(crate) text: String,
    /// With what its children cost.
    pub(crate) cost: Cost,
    /// What its calls make of it; of a run that answered.
    pub(crate) calls: CallReport,
}

impl Answer {
    pub(crate) fn failed(message: String) -> Answer {
        Answer {
            message: Some(message),
            ..Answer::default()
        }
    }

    /// How the work went, in a word.
    pub(crate) fn outcome(&self) -> WorkOutcome {
        match self.cause {
            _ if self.success => self.calls.outcome,
            Some(Cause::Aborted) => WorkOutcome::Stopped,
            _ => WorkOutcome::Failed,
        }
    }

    /// Whether it answered, and nothing it tried was denied or failed at the end.
    pub(crate) fn is_clean(&self) -> bool {
        self.outcome() == WorkOutcome::Ran
    }

    /// Why it failed, or what a person should know of an answer.
    pub(crate) fn note(&self) -> Option<&str> {
        self.message.as_deref().or(self.calls.note.as_deref())
    }
}

/// Who waits, and for which run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited<'w> {
    pub(crate) caller: &'w Caller,
    pub(crate) store: &'w Store,
    pub(crate) run: RunId,
    /// Whose work it is.
    pub(crate) owner: WorkOwner<'w>,
}

impl Awaited<'_> {
    /// Waits for the end of the run; ends it when it is to stop.
    pub(crate) async fn end(&self, stop: &CancellationToken) -> Result<Answer, WireError> {
        let over = tokio::select! {
            over = self.over() => Some(over?),
            () = stop.cancelled() => None,
        };
        let given_up = over.as_ref().and_then(|view| match view.state {
            RunState::Done => None,
            RunState::Paused => Some((Cause::Budget, OUT_OF_MONEY)),
            _ => Some((Cause::GivenUp, IN_DOUBT)),
        });
        let view = if let Some(view) = over.filter(|view| view.state == RunState::Done) {
            view
        } else {
            tokio::select! {
                ended = self.ended() => ended?,
                never = self.abort() => never,
            }
        };
        let below = match self.store.family_cost(&self.run).await {
            Ok(below) => below,
            Err(StoreError::NotFound(_)) => Cost::default(),
            Err(error) => return Err(error.into()),
        };
        let success = view.cause == Some(Cause::Answered);
        let why = match (given_up, view.message) {
            (Some((_, why)), _) => why.to_owned(),
            (None, Some(why)) => why,
            (None, None) => "It ended without an answer.".to_owned(),
        };
        Ok(Answer {
            success,
            cause: given_up.map(|(cause, _)| cause).or(view.cause),
            message: (!success).then_some(why),
            text: view.text,
            cost: sum(view.cost, below),
            calls: self.report(&view.calls).await,
        })
    }

    /// What the calls of the run, and of those it started, make of its outcome.
    async fn report(&self, own: &[CallView]) -> CallReport {
        let mut below = Vec::new();
        // A run that called nothing started nothing.
        if !own.is_empty() {
            below = self.calls_below().await;
        }
        let grants = |calls: &[CallView]| calls.iter().map(granting).collect::<Vec<_>>();
        let (own_grants, below_grants) = (grants(own), grants(&below));
        let ended = |calls, grants| ended_calls(calls, grants);
        report(
            self.owner,
            &ended(own, &own_grants),
            &ended(&below, &below_grants),
        )
    }

    /// The calls of the runs that this one started, and of those below them.
    async fn calls_below(&self) -> Vec<CallView> {
        let mut calls = Vec::new();
        let mut parents = vec![self.run];
        let mut looked_at = 0;
        while let Some(parent) = parents.pop() {
            // What cannot be read of a child does not change how its parent went.
            for child in self.store.children(&parent).await.unwrap_or_default() {
                looked_at += 1;
                if looked_at > BELOW_MAX {
                    return calls;
                }
                let selector = RunSelector {
                    run_id: Some(child.id),
                    session_key: None,
                };
                if let Ok(view) = self.caller.call::<Status>(&selector).await {
                    calls.extend(view.calls);
                }
                parents.push(child.id);
            }
        }
        calls
    }

    /// Waits until the run is over, or would wait for ever.
    async fn over(&self) -> Result<RunView, WireError> {
        let wait = WaitParams {
            run_id: self.run,
            wait_ms: Some(WAIT_MS),
        };
        loop {
            match self.caller.call::<Wait>(&wait).await {
                Ok(view) if is_over(view.state) => return Ok(view),
                Ok(_) => {}
                // Its session was deleted, and it with it.
                Err(error) if error.code == ErrorCode::NotFound => return Err(error),
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// Waits until a run is over that was told to end.
    async fn ended(&self) -> Result<RunView, WireError> {
        loop {
            let view = self.over().await?;
            if view.state == RunState::Done {
                return Ok(view);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Tells the run to end, again and again; its end is seen by who waits for it.
    async fn abort<T>(&self) -> T {
        let selector = RunSelector {
            run_id: Some(self.run),
            session_key: None,
        };
        loop {
            let told = self.caller.call::<Abort>(&selector).await;
            tokio::time::sleep(if told.is_ok() { ABORT_AGAIN } else { AGAIN }).await;
        }
    }
}

/// Whether a run is over, or would wait for a person for ever.
fn is_over(state: RunState) -> bool {
    matches!(state, RunState::Done | RunState::InDoubt | RunState::Paused)
}

/// What would have allowed a call, as a grant.
fn granting(call: &CallView) -> Option<GrantView> {
    let terms = call.denial.as_ref()?.grant.as_ref()?;
    Some(GrantView {
        tool: terms.tool.clone(),
        matches: terms.matches.clone(),
        path: terms.path.clone(),
        host: terms.host.clone(),
    })
}

fn ended_calls<'c>(calls: &'c [CallView], grants: &'c [Option<GrantView>]) -> Vec<EndedCall<'c>> {
    let ended = calls.iter().zip(grants).map(|(call, grant)| EndedCall {
        step: call.step,
        tool: &call.call.name,
        fate: fate(call, grant.as_ref()),
    });
    ended.collect()
}

fn fate<'c>(call: &'c CallView, grant: Option<&'c GrantView>) -> CallFate<'c> {
    if let Some(denial) = &call.denial {
        return CallFate::Denied {
            by: &denial.by,
            reason: &denial.reason,
            grant,
        };
    }
    let result = call.result.as_ref();
    let is_failed = result.is_some_and(|result| result.is_error);
    // Refused without a denial: no call that could have been made.
    if !is_failed && call.state != CallState::Denied {
        return CallFate::Done;
    }
    let texts = result.into_iter().flat_map(|result| &result.content);
    let mut texts = texts.filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    CallFate::Failed(texts.next().unwrap_or_default())
}

/// The sum of two costs; the price is known as far as either is.
pub(crate) fn sum(one: Cost, other: Cost) -> Cost {
    // Nothing that was called says nothing about the price of what was.
    match (one.calls, other.calls) {
        (_, 0) => return one,
        (0, _) => return other,
        _ => {}
    }
    let money = match (one.micro_dollars, other.micro_dollars) {
        (None, other) => other,
        (one, None) => one,
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
    };
    Cost {
        micro_dollars: money,
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
        calls: one.calls.saturating_add(other.calls),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
