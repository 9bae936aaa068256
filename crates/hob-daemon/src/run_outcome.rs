//! Waits for the end of an unattended run of a loop or a job.
//!
//! Invariants: a run that waits for a person is ended, because nobody is there; a run to stop gets
//! the abort until it ends; cost and denials of its children count.

use hob_bus::Caller;
use hob_core::unattended::{CallOutcome, CallReport, EndedCall, WorkOwner, summarize_calls};
use hob_store::{Store, StoreError};
use hob_wire::rooms::agent::{
    Abort, AgentWaitParams, CallView, Cost, RunEndCause, RunSelector, RunState, RunView, Status,
    ToolCallState, Wait,
};
use hob_wire::schedule::{ToolGrantView, WorkOutcome};
use hob_wire::{ContentPart, ErrorCode, RunId, WireError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longest single wait for a run. After it the state is checked, so that a run that waits for a
/// person is noticed.
const WAIT_SLICE_MS: u64 = 10_000;
/// Reason for ending a run with a call in doubt.
const IN_DOUBT: &str =
    "It was interrupted during a call, and nobody is there to say if that call happened.";
/// Reason for ending a run that waits for money.
const OUT_OF_MONEY: &str = "A budget was used up, and nobody is there to allow more.";
/// Most descendants whose calls are read.
const DESCENDANTS_MAX: usize = 64;
/// Wait before a failed call of the agent is retried.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Wait before a run that has not ended is aborted again.
const ABORT_RETRY_DELAY: Duration = Duration::from_secs(5);

/// The outcome of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunOutcome {
    pub(crate) success: bool,
    pub(crate) cause: Option<RunEndCause>,
    /// The reason of a failure.
    pub(crate) message: Option<String>,
    pub(crate) text: String,
    /// Cost including its children.
    pub(crate) cost: Cost,
    /// Report on its calls; used for a run that answered.
    pub(crate) calls: CallReport,
}

impl RunOutcome {
    pub(crate) fn failed(message: String) -> RunOutcome {
        RunOutcome {
            message: Some(message),
            ..RunOutcome::default()
        }
    }

    /// The outcome as one word.
    pub(crate) fn outcome(&self) -> WorkOutcome {
        match self.cause {
            _ if self.success => self.calls.outcome,
            Some(RunEndCause::Aborted) => WorkOutcome::Stopped,
            _ => WorkOutcome::Failed,
        }
    }

    /// True if it answered and none of its calls was denied or failed at the end.
    pub(crate) fn is_clean(&self) -> bool {
        self.outcome() == WorkOutcome::Ran
    }

    /// The reason of a failure, or a note about an answer.
    pub(crate) fn note(&self) -> Option<&str> {
        self.message.as_deref().or(self.calls.note.as_deref())
    }
}

/// Waits for one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunWaiter<'w> {
    pub(crate) caller: &'w Caller,
    pub(crate) store: &'w Store,
    pub(crate) run_id: RunId,
    /// The loop or job that the run belongs to.
    pub(crate) owner: WorkOwner<'w>,
}

impl RunWaiter<'_> {
    /// Waits for the end of the run; aborts it when `stop` is cancelled.
    pub(crate) async fn wait_for_end(
        &self,
        stop: &CancellationToken,
    ) -> Result<RunOutcome, WireError> {
        let over = tokio::select! {
            over = self.wait_until_settled() => Some(over?),
            () = stop.cancelled() => None,
        };
        let given_up = over.as_ref().and_then(|view| match view.state {
            RunState::Done => None,
            RunState::Paused => Some((RunEndCause::Budget, OUT_OF_MONEY)),
            _ => Some((RunEndCause::GivenUp, IN_DOUBT)),
        });
        let view = if let Some(view) = over.filter(|view| view.state == RunState::Done) {
            view
        } else {
            tokio::select! {
                ended = self.wait_until_done() => ended?,
                never = self.abort_until_dropped() => never,
            }
        };
        let below = match self.store.descendants_cost(&self.run_id).await {
            Ok(below) => below,
            // The run was deleted with its session meanwhile.
            Err(StoreError::NotFound(_)) => Cost::default(),
            Err(error) => return Err(error.into()),
        };
        let success = view.cause == Some(RunEndCause::Answered);
        let why = match (given_up, view.message) {
            (Some((_, why)), _) => why.to_owned(),
            (None, Some(why)) => why,
            (None, None) => "It ended without an answer.".to_owned(),
        };
        Ok(RunOutcome {
            success,
            cause: given_up.map(|(cause, _)| cause).or(view.cause),
            message: (!success).then_some(why),
            text: view.text,
            cost: add_costs(view.cost, below),
            calls: self.call_report(&view.calls).await,
        })
    }

    /// Reports on the calls of the run and its descendants.
    async fn call_report(&self, own: &[CallView]) -> CallReport {
        let mut below = Vec::new();
        // A run without calls started no children.
        if !own.is_empty() {
            below = self.calls_below().await;
        }
        let grants = |calls: &[CallView]| calls.iter().map(missing_grant).collect::<Vec<_>>();
        let (own_grants, below_grants) = (grants(own), grants(&below));
        let ended = |calls, grants| ended_calls(calls, grants);
        summarize_calls(
            self.owner,
            &ended(own, &own_grants),
            &ended(&below, &below_grants),
        )
    }

    /// The calls of all descendants.
    async fn calls_below(&self) -> Vec<CallView> {
        let mut calls = Vec::new();
        let mut parents = vec![self.run_id];
        let mut looked_at = 0;
        while let Some(parent) = parents.pop() {
            // An unreadable child does not change the outcome of its parent.
            for child in self.store.children(&parent).await.unwrap_or_default() {
                looked_at += 1;
                if looked_at > DESCENDANTS_MAX {
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

    /// Waits until the run has ended or waits for a person.
    async fn wait_until_settled(&self) -> Result<RunView, WireError> {
        let wait = AgentWaitParams {
            run_id: self.run_id,
            wait_ms: Some(WAIT_SLICE_MS),
        };
        loop {
            match self.caller.call::<Wait>(&wait).await {
                Ok(view) if is_settled(view.state) => return Ok(view),
                Ok(_) => {}
                // The run was deleted with its session.
                Err(error) if error.code == ErrorCode::NotFound => return Err(error),
                Err(_) => tokio::time::sleep(RETRY_DELAY).await,
            }
        }
    }

    /// Waits for the end of a run that is being aborted.
    async fn wait_until_done(&self) -> Result<RunView, WireError> {
        loop {
            let view = self.wait_until_settled().await?;
            if view.state == RunState::Done {
                return Ok(view);
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    /// Aborts the run repeatedly and never returns; the caller waits for the end in parallel.
    async fn abort_until_dropped<T>(&self) -> T {
        let selector = RunSelector {
            run_id: Some(self.run_id),
            session_key: None,
        };
        loop {
            let aborted = self.caller.call::<Abort>(&selector).await;
            // An accepted abort may take a while; a failed one is retried soon.
            tokio::time::sleep(if aborted.is_ok() {
                ABORT_RETRY_DELAY
            } else {
                RETRY_DELAY
            })
            .await;
        }
    }
}

/// True if a run has ended or waits for a person.
fn is_settled(state: RunState) -> bool {
    matches!(state, RunState::Done | RunState::InDoubt | RunState::Paused)
}

/// The grant that would have allowed a denied call.
fn missing_grant(call: &CallView) -> Option<ToolGrantView> {
    let terms = call.denial.as_ref()?.grant.as_ref()?;
    Some(ToolGrantView {
        tool: terms.tool.clone(),
        matches: terms.matches.clone(),
        path: terms.path.clone(),
        host: terms.host.clone(),
    })
}

fn ended_calls<'c>(
    calls: &'c [CallView],
    grants: &'c [Option<ToolGrantView>],
) -> Vec<EndedCall<'c>> {
    let ended = calls.iter().zip(grants).map(|(call, grant)| EndedCall {
        step: call.step,
        tool: &call.call.name,
        outcome: call_fate(call, grant.as_ref()),
    });
    ended.collect()
}

fn call_fate<'c>(call: &'c CallView, grant: Option<&'c ToolGrantView>) -> CallOutcome<'c> {
    if let Some(denial) = &call.denial {
        return CallOutcome::Denied {
            by: &denial.by,
            reason: &denial.reason,
            grant,
        };
    }
    let result = call.result.as_ref();
    let is_failed = result.is_some_and(|result| result.is_error);
    // Denied without a denial record: the call could never have run.
    if !is_failed && call.state != ToolCallState::Denied {
        return CallOutcome::Done;
    }
    let texts = result.into_iter().flat_map(|result| &result.content);
    let mut texts = texts.filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    CallOutcome::Failed(texts.next().unwrap_or_default())
}

/// The sum of two costs. An unknown price counts as zero if the other is known.
pub(crate) fn add_costs(one: Cost, other: Cost) -> Cost {
    // A side without calls says nothing about the price of the other.
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
#[path = "run_outcome_tests.rs"]
mod tests;
