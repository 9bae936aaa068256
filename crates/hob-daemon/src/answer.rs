//! The end of a run of a loop or a job, which nobody watches.
//!
//! Invariants: a run that waits for a person to say whether a call happened is given up, because
//! nobody is there; one that is stopped is told so until it ends; what its children cost counts.

use hob_bus::Caller;
use hob_store::{Store, StoreError};
use hob_wire::rooms::agent::{
    Abort, Cause, Cost, RunSelector, RunState, RunView, Wait, WaitParams,
};
use hob_wire::{ErrorCode, RunId, WireError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long one wait for a run takes at the most: so soon it is noticed that a run waits for a
/// person.
const WAIT_MS: u64 = 10_000;
/// Why a run is given up that a crash cut off in the middle of a call.
const IN_DOUBT: &str = "It was cut off in the middle of a call, and nobody is there to say whether that call happened.";
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
}

impl Answer {
    pub(crate) fn failed(message: String) -> Answer {
        Answer {
            message: Some(message),
            ..Answer::default()
        }
    }
}

/// Who waits, and for which run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited<'w> {
    pub(crate) caller: &'w Caller,
    pub(crate) store: &'w Store,
    pub(crate) run: RunId,
}

impl Awaited<'_> {
    /// Waits for the end of the run; ends it when it is to stop.
    pub(crate) async fn end(&self, stop: &CancellationToken) -> Result<Answer, WireError> {
        let over = tokio::select! {
            over = self.over() => Some(over?),
            () = stop.cancelled() => None,
        };
        let is_given_up = over
            .as_ref()
            .is_some_and(|view| view.state != RunState::Done);
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
        let why = match view.message {
            _ if is_given_up => IN_DOUBT.to_owned(),
            Some(why) => why,
            None => "It ended without an answer.".to_owned(),
        };
        Ok(Answer {
            success,
            cause: if is_given_up {
                Some(Cause::GivenUp)
            } else {
                view.cause
            },
            message: (!success).then_some(why),
            text: view.text,
            cost: sum(view.cost, below),
        })
    }

    /// Waits until the run is over, or would wait for ever.
    async fn over(&self) -> Result<RunView, WireError> {
        let wait = WaitParams {
            run_id: self.run,
            wait_ms: Some(WAIT_MS),
        };
        loop {
            match self.caller.call::<Wait>(&wait).await {
                Ok(view) if matches!(view.state, RunState::Done | RunState::InDoubt) => {
                    return Ok(view);
                }
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
