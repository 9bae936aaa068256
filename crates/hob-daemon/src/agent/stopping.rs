//! Stopping: work in progress is cancelled, and what had happened is recorded.
//!
//! Invariant: no effect of hob's own stop becomes a recorded outcome of a run.

use super::driver::{FinishedWork, RunDriver, SlotWork};
use super::journal::JournalEntry;
use super::model_results::zero_cost_settlement;
use super::replayed_run::{ReplayedRun, text_result};
use super::step_draft::{StepDraft, steering_message};
use super::tool_client::{ExecutionOutcome, PermissionOutcome};
use super::tool_results::tool_ended_entry;
use futures_util::StreamExt;
use futures_util::future::join_all;
use hob_core::turn::{TurnEvent, TurnPhase};
use hob_store::{LedgerWrite, NewMessage};
use hob_wire::rooms::agent::CallView;
use hob_wire::rooms::tool::ToolProbeResult;
use hob_wire::work::Idempotency as EffectClass;
use hob_wire::work::RunEndCause;
use hob_wire::{ContentPart, MessageContent, Role, TokenUsage};
use std::time::Duration;

/// Time for tools to end after a cancel; the whole stop stays below a second.
pub(super) const STOP_WAIT: Duration = Duration::from_millis(800);
/// Note about steering text that came after the last step.
const UNSEEN_STEERING: &str = "Text added to the run came too late for its last step. It is in the conversation, and the next run sees it.";
/// Appended to an answer that was cut off.
const CUT_MARK: &str = "\n[The answer was stopped here.]";

impl RunDriver {
    /// True if hob is stopping: nothing new begins, and the stop itself may cause failures.
    pub(super) fn is_draining(&self) -> bool {
        self.shared.deps.tasks.is_draining()
    }

    /// True if leaving the run now would lose work in progress.
    pub(super) fn has_work_under_way(&self) -> bool {
        let begun = |todo: &SlotWork| matches!(todo, SlotWork::Run(_) | SlotWork::Probe(_));
        !self.running.is_empty() || self.model_reply.is_some() || self.slot_work.iter().any(begun)
    }

    /// True if hob's own stop may have caused this outcome. Then it is not recorded, and the next
    /// start finds out by itself. A success is always recorded, and so is the failure of a call
    /// that must not be repeated, as long as its room is still served.
    pub(super) fn may_come_from_stop(&self, done: &FinishedWork) -> bool {
        let tasks = &self.shared.deps.tasks;
        if !tasks.is_draining() {
            return false;
        }
        match done {
            FinishedWork::Permission { outcome, .. } => {
                matches!(
                    outcome,
                    PermissionOutcome::Unreachable(_) | PermissionOutcome::Impossible { .. }
                )
            }
            FinishedWork::Execution { call, outcome } => match outcome {
                ExecutionOutcome::Unanswered(_) => true,
                ExecutionOutcome::Answered(result) => {
                    result.is_error && (tasks.is_stopping() || !self.is_opaque(call))
                }
            },
            FinishedWork::Probe { probed, .. } => matches!(probed, ToolProbeResult::Unknown { .. }),
        }
    }

    /// Discards an outcome that the stop may have caused.
    pub(super) fn discard_outcome(&mut self, done: &FinishedWork) {
        match done {
            FinishedWork::Permission { call, .. } => self.asking.remove(call),
            FinishedWork::Execution { call, .. } | FinishedWork::Probe { call, .. } => {
                self.running.remove(call)
            }
        };
    }

    /// Records that an orderly stop leaves the run, so that the next start does not count as a
    /// restart without progress and the time until then is not the run's. Without this entry the
    /// run resumes as after a crash.
    pub(super) async fn record_left(&mut self) {
        let turn = &self.replayed.turn;
        if *turn.phase() == TurnPhase::Queued || turn.only_waits_for_person() {
            return;
        }
        let mut replayed = self.replayed.clone();
        let entry = JournalEntry::new(TurnEvent::Left { at: self.now_ms() });
        replayed.apply(&entry, &mut Vec::new());
        match self
            .write_step(&StepDraft::of(entry), &replayed, None)
            .await
        {
            Ok(()) => self.replayed = replayed,
            Err(error) => {
                tracing::debug!(run = %self.row.id, "the stop of the run was not recorded: {error}");
            }
        }
    }

    fn is_opaque(&self, id: &str) -> bool {
        let mut calls = self.replayed.turn.calls().iter();
        let call = calls.find(|call| call.spec.id == id);
        call.is_none_or(|call| call.spec.effect == EffectClass::Opaque)
    }

    /// Stops the model call and every tool; returns the entries of what the tools still reported.
    pub(super) async fn stop_all(&mut self) -> Vec<JournalEntry> {
        // Dropping the future closes the connection to the provider.
        self.model_reply = None;
        self.slot_work.clear();
        let tool_client = self.tool_client.clone();
        let cancels = self
            .running
            .iter()
            .map(|call| tool_client.cancel(call.clone()));
        let cancels = join_all(cancels);
        let has_questions = !self.asking.is_empty();
        let withdraw = async {
            if has_questions {
                tool_client.withdraw().await;
            }
        };
        let at = self.now_ms();
        let mut entries = Vec::new();
        let mut running = self.running.clone();
        let work = &mut self.in_flight;
        let outcomes = async {
            while !running.is_empty() {
                match work.next().await {
                    Some(FinishedWork::Execution { call, outcome }) => {
                        running.remove(&call);
                        let mut entry = tool_ended_entry(call, outcome, at);
                        let result = entry.data.result.as_ref();
                        entry.data.stopped = result.is_some_and(|result| result.is_error);
                        entries.push(entry);
                    }
                    Some(FinishedWork::Probe { call, .. }) => {
                        running.remove(&call);
                    }
                    Some(FinishedWork::Permission { .. }) => {}
                    None => return,
                }
            }
        };
        let all = async { tokio::join!(cancels, withdraw, outcomes) };
        // A tool that does not stop in time is abandoned; its outcome is unknown.
        let _ = tokio::time::timeout(STOP_WAIT, all).await;
        self.running.clear();
        self.asking.clear();
        self.tickets.clear();
        self.in_flight = futures_util::stream::FuturesUnordered::new();
        entries
    }

    /// Completes the last write of a run: open calls, unseen steering texts, notes and reason.
    pub(super) fn close_run(
        &self,
        draft: &mut StepDraft,
        replayed: &ReplayedRun,
        cause: RunEndCause,
    ) {
        self.close_model_call(draft, cause);
        for view in replayed.open_calls() {
            let text = self.open_call_text(view, replayed);
            let result = ContentPart::ToolResult(text_result(&view.call.id, text, true));
            let content = MessageContent::Parts(vec![result]);
            draft.messages.push(NewMessage::new(Role::Tool, content));
        }
        // Their sender was told that they were taken, so the session keeps them for the next run.
        draft
            .messages
            .extend(replayed.unseen_steering().iter().map(steering_message));
        if !replayed.unseen_steering().is_empty() {
            draft.notes.push(UNSEEN_STEERING.to_owned());
        }
        draft.notes.extend(self.end_notes(replayed, cause));
        if draft.message.is_none() {
            draft.message = cause_sentence(cause);
        }
        if cause == RunEndCause::Answered {
            draft.message = None;
        }
    }

    /// Records text and cost of a model call that was cut off.
    fn close_model_call(&self, draft: &mut StepDraft, cause: RunEndCause) {
        if let Some(call) = &self.pending_call {
            if RunDriver::was_sent(call) {
                let call_key = call.key.clone();
                draft.ledger.push(LedgerWrite::Unknown { call_key });
                draft.cost = Some(self.cost_with(TokenUsage::default(), call.model_call.reserved));
            } else {
                draft.ledger.push(zero_cost_settlement(call));
            }
        }
        let in_model = *self.replayed.turn.phase() == TurnPhase::Model;
        let text = self.live_view.deltas().text();
        if in_model && cause != RunEndCause::Answered && !text.is_empty() && draft.text.is_none() {
            let content = MessageContent::Text(format!("{text}{CUT_MARK}"));
            draft
                .messages
                .push(NewMessage::new(Role::Assistant, content));
            draft.text = Some(text);
        }
    }

    /// The text for the conversation about a call without a result.
    fn open_call_text(&self, view: &CallView, replayed: &ReplayedRun) -> &'static str {
        let began = replayed.began.contains_key(&view.call.id);
        match (began, self.effect_of(view)) {
            (false, _) => "This call did not start: the run ended first.",
            (true, Some(EffectClass::Pure)) => "This call was stopped. It changes nothing.",
            (true, _) => {
                "This call started, and the run ended before its outcome was known. It may have happened."
            }
        }
    }

    fn effect_of(&self, view: &CallView) -> Option<EffectClass> {
        let calls = self.replayed.turn.calls().iter();
        let mut same = calls.filter(|call| call.spec.id == view.call.id);
        same.next().map(|call| call.spec.effect)
    }

    /// Notes for the person about a run that was ended early.
    fn end_notes(&self, replayed: &ReplayedRun, cause: RunEndCause) -> Vec<String> {
        if cause == RunEndCause::Answered {
            return Vec::new();
        }
        let finished: Vec<&str> = replayed
            .calls
            .iter()
            .filter(|view| view.state == hob_wire::rooms::agent::ToolCallState::Done)
            .map(|view| view.call.name.as_str())
            .collect();
        let mut notes = Vec::new();
        if !finished.is_empty() {
            let names = finished.join(", ");
            notes.push(format!(
                "Calls that finished before the run ended: {names}."
            ));
        }
        for view in replayed.open_calls() {
            let began = replayed.began.contains_key(&view.call.id);
            if began && self.effect_of(view) != Some(EffectClass::Pure) {
                notes.push(format!(
                    "'{}' had started; it is not known if it took effect.",
                    view.call.name
                ));
            }
        }
        notes
    }
}

/// The standard sentence for a cause.
pub(crate) fn cause_sentence(cause: RunEndCause) -> Option<String> {
    let text = match cause {
        RunEndCause::Answered => return None,
        RunEndCause::Aborted => "The run was stopped.",
        RunEndCause::StepLimit => {
            "The run used up its steps. Give it a larger budget, or a smaller task."
        }
        RunEndCause::TokenLimit => {
            "The run used up its tokens. Give it a larger budget, or a smaller task."
        }
        RunEndCause::MoneyLimit => {
            "The run used up its money. Give it a larger budget, or a smaller task."
        }
        RunEndCause::TimeLimit => "The run used up its time.",
        RunEndCause::Budget => "A budget was used up, and nobody was there to allow more.",
        RunEndCause::ErrorStreak => "Too many tool calls failed or were denied in a row.",
        RunEndCause::RepeatedCall => "The model repeated the same call too often.",
        RunEndCause::RepeatedText => {
            "The model began to repeat itself, so its answer was ended there."
        }
        RunEndCause::ModelFailed => "No model could answer.",
        RunEndCause::Denied => "A permission the run needs was denied.",
        RunEndCause::GivenUp => "A person gave up on a call in doubt.",
        RunEndCause::Parked => "The run was resumed several times without finishing a step.",
    };
    Some(text.to_owned())
}
