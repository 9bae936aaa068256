//! Ending things: what is under way is told to stop, and what had happened is written down.
//!
//! Invariant: nothing that hob's own stop causes becomes an outcome of a run.

use super::answers::{ended, unused};
use super::draft::{Draft, spoken};
use super::driver::{Done, Driver, Todo};
use super::hands::{Asked, Ran};
use super::journal::Entry;
use super::story::{Story, told};
use futures_util::StreamExt;
use futures_util::future::join_all;
use hob_core::turn::{Event, Phase};
use hob_store::{LedgerWrite, NewMessage};
use hob_wire::rooms::agent::CallView;
use hob_wire::rooms::tool::Probed;
use hob_wire::work::Cause;
use hob_wire::work::Effect as EffectClass;
use hob_wire::{Content, Part, Role, Usage};
use std::time::Duration;

/// How long tools have to end once they are told to; the whole of stopping stays below a second.
pub(super) const STOP_WAIT: Duration = Duration::from_millis(800);
/// Said of words that were added to a run which ended before its next step.
const UNSEEN_WORDS: &str = "Words that were added to the run came too late for its last step. They are kept in the conversation; the next run sees them.";
/// Stands behind an answer that was cut off.
const CUT_MARK: &str = "\n[The answer was stopped here.]";

impl Driver {
    /// Whether hob is stopping: nothing new begins, and what fails may fail because of that.
    pub(super) fn is_draining(&self) -> bool {
        self.shared.parts.tasks.is_draining()
    }

    /// Whether something under way would be lost if the run were left now.
    pub(super) fn has_work_under_way(&self) -> bool {
        let begun = |todo: &Todo| matches!(todo, Todo::Run(_) | Todo::Probe(_));
        !self.running.is_empty() || self.answer.is_some() || self.todo.iter().any(begun)
    }

    /// Whether an outcome may be the work of hob's own stop. It is never written down then: the
    /// next start finds out by itself. What was done is an outcome all the same, and so is the
    /// failure of a call that nobody may repeat, as long as its room is at work.
    pub(super) fn may_come_from_stop(&self, done: &Done) -> bool {
        let tasks = &self.shared.parts.tasks;
        if !tasks.is_draining() {
            return false;
        }
        match done {
            Done::Asked { asked, .. } => {
                matches!(asked, Asked::Unreachable(_) | Asked::Impossible { .. })
            }
            Done::Ran { call, ran } => match ran {
                Ran::Unanswered(_) => true,
                Ran::Answered(result) => {
                    result.is_error && (tasks.is_stopping() || !self.is_opaque(call))
                }
            },
            Done::Probed { probed, .. } => matches!(probed, Probed::Unknown { .. }),
        }
    }

    /// Forgets an outcome that the stop may have caused.
    pub(super) fn leave_to_next_start(&mut self, done: &Done) {
        match done {
            Done::Asked { call, .. } => self.asking.remove(call),
            Done::Ran { call, .. } | Done::Probed { call, .. } => self.running.remove(call),
        };
    }

    /// Notes in the journal that an orderly stop leaves the run, so that its next start is no try
    /// in vain and the time until then is not the run's. Without the note the run goes on all the
    /// same, as after a crash.
    pub(super) async fn note_left(&mut self) {
        let turn = &self.story.turn;
        if *turn.phase() == Phase::Queued || turn.only_waits_for_a_person() {
            return;
        }
        let mut story = self.story.clone();
        let entry = Entry::new(Event::Left { at: self.at() });
        story.take(&entry, &mut Vec::new());
        match self.write(&Draft::of(entry), &story, None).await {
            Ok(()) => self.story = story,
            Err(error) => tracing::debug!(run = %self.row.id, "its stop is not noted: {error}"),
        }
    }

    fn is_opaque(&self, id: &str) -> bool {
        let mut calls = self.story.turn.calls().iter();
        let call = calls.find(|call| call.spec.id == id);
        call.is_none_or(|call| call.spec.effect == EffectClass::Opaque)
    }

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
        // Whoever said them was told that they are taken: the session keeps them for its next run.
        draft
            .messages
            .extend(story.unseen_words().iter().map(spoken));
        if !story.unseen_words().is_empty() {
            draft.notes.push(UNSEEN_WORDS.to_owned());
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
