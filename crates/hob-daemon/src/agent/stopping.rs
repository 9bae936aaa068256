//! Ending things: what is under way is told to stop, and what had happened is written down.

use super::answers::{ended, unused};
use super::draft::Draft;
use super::driver::{Done, Driver};
use super::journal::Entry;
use super::story::{Story, told};
use futures_util::StreamExt;
use futures_util::future::join_all;
use hob_core::turn::Phase;
use hob_store::{LedgerWrite, NewMessage};
use hob_wire::rooms::agent::CallView;
use hob_wire::work::Cause;
use hob_wire::work::Effect as EffectClass;
use hob_wire::{Content, Part, Role, Usage};
use std::time::Duration;

/// How long tools have to end once they are told to; the whole of stopping stays below a second.
const STOP_WAIT: Duration = Duration::from_millis(800);
/// Stands behind an answer that was cut off.
const CUT_MARK: &str = "\n[The answer was stopped here.]";

impl Driver {
    /// Stops the model call and every tool under way; gives what the tools still said.
    pub(super) async fn stop_all(&mut self) -> Vec<Entry> {
        // Dropping the call closes its connection.
        self.answer = None;
        self.todo.clear();
        let hands = self.hands.clone();
        let cancels = self.running.iter().map(|call| hands.cancel(call.clone()));
        let cancels = join_all(cancels);
        let has_questions = !self.asking.is_empty();
        let withdraw = async {
            if has_questions {
                hands.withdraw().await;
            }
        };
        let at = self.at();
        let mut entries = Vec::new();
        let mut running = self.running.clone();
        let work = &mut self.work;
        let outcomes = async {
            while !running.is_empty() {
                match work.next().await {
                    Some(Done::Ran { call, ran }) => {
                        running.remove(&call);
                        let mut entry = ended(call, ran, at);
                        let result = entry.with.result.as_ref();
                        entry.with.stopped = result.is_some_and(|result| result.is_error);
                        entries.push(entry);
                    }
                    Some(Done::Probed { call, .. }) => {
                        running.remove(&call);
                    }
                    Some(Done::Asked { .. }) => {}
                    None => return,
                }
            }
        };
        let all = async { tokio::join!(cancels, withdraw, outcomes) };
        // Whoever does not stop in time is left behind; its outcome is not known.
        let _ = tokio::time::timeout(STOP_WAIT, all).await;
        self.running.clear();
        self.asking.clear();
        self.tickets.clear();
        self.work = futures_util::stream::FuturesUnordered::new();
        entries
    }

    /// Adds to the last write of a run what its end means.
    pub(super) fn close(&self, draft: &mut Draft, story: &Story, cause: Cause) {
        self.close_model_call(draft, cause);
        for view in story.open_calls() {
            let text = self.fate(view, story);
            let result = Part::ToolResult(told(&view.call.id, text, true));
            let content = Content::Parts(vec![result]);
            draft.messages.push(NewMessage::new(Role::Tool, content));
        }
        draft.notes.extend(self.happened(story, cause));
        if draft.message.is_none() {
            draft.message = sentence(cause);
        }
        if cause == Cause::Answered {
            draft.message = None;
        }
    }

    /// What was said and spent by a model call that does not come to its end.
    fn close_model_call(&self, draft: &mut Draft, cause: Cause) {
        if let Some(call) = &self.call {
            if Driver::was_sent(call) {
                let call_key = call.key.clone();
                draft.ledger.push(LedgerWrite::Unknown { call_key });
                draft.cost = Some(self.cost_with(Usage::default(), call.order.reserved));
            } else {
                draft.ledger.push(unused(call));
            }
        }
        let in_model = *self.story.turn.phase() == Phase::Model;
        let text = self.now.voice().text();
        if in_model && cause != Cause::Answered && !text.is_empty() && draft.text.is_none() {
            let said = Content::Text(format!("{text}{CUT_MARK}"));
            draft.messages.push(NewMessage::new(Role::Assistant, said));
            draft.text = Some(text);
        }
    }

    /// What the conversation is told of a call without a result.
    fn fate(&self, view: &CallView, story: &Story) -> &'static str {
        let began = story.began.contains_key(&view.call.id);
        match (began, self.effect_of(view)) {
            (false, _) => "This call was not begun: the run ended before.",
            (true, Some(EffectClass::Pure)) => "This call was stopped; it changes nothing.",
            (true, _) => {
                "This call was begun and the run ended before its outcome was known. It may have happened."
            }
        }
    }

    fn effect_of(&self, view: &CallView) -> Option<EffectClass> {
        let calls = self.story.turn.calls().iter();
        let mut same = calls.filter(|call| call.spec.id == view.call.id);
        same.next().map(|call| call.spec.effect)
    }

    /// What a person should know of a run that was ended before its time.
    fn happened(&self, story: &Story, cause: Cause) -> Vec<String> {
        if cause == Cause::Answered {
            return Vec::new();
        }
        let finished: Vec<&str> = story
            .calls
            .iter()
            .filter(|view| view.state == hob_wire::rooms::agent::CallState::Done)
            .map(|view| view.call.name.as_str())
            .collect();
        let mut notes = Vec::new();
        if !finished.is_empty() {
            let names = finished.join(", ");
            notes.push(format!(
                "These calls had ended before the run did: {names}."
            ));
        }
        for view in story.open_calls() {
            let began = story.began.contains_key(&view.call.id);
            if began && self.effect_of(view) != Some(EffectClass::Pure) {
                notes.push(format!(
                    "'{}' had begun; whether it happened is not known.",
                    view.call.name
                ));
            }
        }
        notes
    }
}

/// Why a run ended, when nobody said more.
pub(crate) fn sentence(cause: Cause) -> Option<String> {
    let text = match cause {
        Cause::Answered => return None,
        Cause::Aborted => "The run was stopped.",
        Cause::StepLimit => {
            "The run used up its steps. Give it a larger budget, or a smaller task."
        }
        Cause::TokenLimit => {
            "The run used up its tokens. Give it a larger budget, or a smaller task."
        }
        Cause::MoneyLimit => {
            "The run used up its money. Give it a larger budget, or a smaller task."
        }
        Cause::TimeLimit => "The run used up its time.",
        Cause::Budget => "A budget was used up, and nobody was there to allow more.",
        Cause::ErrorStreak => "Too many tool calls failed or were denied in a row.",
        Cause::RepeatedCall => "The model asked for the very same call again and again.",
        Cause::ModelFailed => "No model could answer.",
        Cause::Denied => "A permission the run needs was denied.",
        Cause::GivenUp => "A person gave up on a call in doubt.",
        Cause::Parked => "The run was taken up several times without finishing a step.",
    };
    Some(text.to_owned())
}
