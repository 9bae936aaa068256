//! What the next write of a run holds, and what follows from it. Pure: the events and messages
//! derive from the story before and the story after, so that each is told exactly once.

use super::journal::{Entry, Words};
use super::story::Story;
use hob_core::turn::{Event, Phase};
use hob_store::{LedgerWrite, NewMessage};
use hob_wire::rooms::agent::{
    CallState, CallView, Cost, Image, RunInDoubt, RunInDoubtPayload, RunOf, RunPaused,
    RunPausedPayload, RunStarted, RunStartedPayload, RunTool, RunToolPayload, ToolPhase,
};
use hob_wire::{Content, Part, Role, Topic};
use serde_json::Value;

/// The next write, as far as its cause knows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) entries: Vec<Entry>,
    /// In the conversation before the results of tools.
    pub(crate) messages: Vec<NewMessage>,
    /// In the conversation after everything else, if the run goes on.
    pub(crate) closing_words: Option<String>,
    pub(crate) ledger: Vec<LedgerWrite>,
    pub(crate) events: Vec<(&'static str, Value)>,
    pub(crate) notes: Vec<String>,
    /// The answer so far, if it changes.
    pub(crate) text: Option<String>,
    /// What the run cost so far, if that changes.
    pub(crate) cost: Option<Cost>,
    /// The cause in a sentence, should the run end with this.
    pub(crate) message: Option<String>,
}

impl Draft {
    pub(crate) fn of(entry: Entry) -> Self {
        Draft {
            entries: vec![entry],
            ..Draft::default()
        }
    }

    pub(crate) fn event<T: Topic>(&mut self, payload: &T::Payload) {
        // A payload that cannot be encoded is a fault of its type, found by any test of it.
        if let Ok(payload) = serde_json::to_value(payload) {
            self.events.push((T::SPEC.topic, payload));
        }
    }

    /// Adds what calls gave, and the words that are due, to the conversation.
    pub(crate) fn tell_model(&mut self, before: &Story, after: &Story) {
        for view in settled(before, after) {
            let result = view.result.clone().map(Part::ToolResult);
            let content = Content::Parts(result.into_iter().collect());
            self.messages.push(NewMessage::new(Role::Tool, content));
        }
        let words = after.due.iter().map(spoken);
        self.messages.extend(words);
        if after.cause().is_none()
            && let Some(words) = self.closing_words.take()
        {
            let content = Content::Text(words);
            self.messages.push(NewMessage::new(Role::User, content));
        }
    }

    /// Adds the events that follow from the entries, in the order things happened.
    pub(crate) fn tell_watchers(&mut self, of: &RunOf, before: &Story, after: &Story) {
        let told = std::mem::take(&mut self.events);
        let restarts = self
            .entries
            .iter()
            .any(|entry| matches!(entry.event, Event::Begin { .. } | Event::Restarted { .. }));
        if restarts && after.cause().is_none() {
            self.event::<RunStarted>(&RunStartedPayload {
                of: of.clone(),
                model: after.model.clone().unwrap_or_default(),
                resumed: after.resumed,
            });
        }
        self.events.extend(told);
        let fresh = |view: &&CallView| !before.began.contains_key(&view.call.id);
        let begun = |view: &&CallView| after.began.contains_key(&view.call.id);
        for view in after.calls.iter().filter(begun).filter(fresh) {
            self.event::<RunTool>(&tool(of, view, ToolPhase::Start));
        }
        for view in settled(before, after) {
            self.event::<RunTool>(&tool(of, view, ToolPhase::End));
        }
        for view in after.calls.iter().filter(|view| is_doubted(view)) {
            if before.call(&view.call.id).is_some_and(is_doubted) || after.cause().is_some() {
                continue;
            }
            self.event::<RunInDoubt>(&doubt(of, view, after));
        }
        let out_of_money = |entry: &Entry| matches!(entry.event, Event::OutOfMoney { .. });
        if *after.turn.phase() == Phase::Paused && self.entries.iter().any(out_of_money) {
            self.event::<RunPaused>(&RunPausedPayload {
                of: of.clone(),
                message: self.message.clone().unwrap_or_default(),
            });
        }
    }
}

/// A person's words as a message.
pub(crate) fn spoken(words: &Words) -> NewMessage {
    NewMessage::new(Role::User, content(&words.text, &words.images))
}

/// A text with pictures.
pub(crate) fn content(text: &str, images: &[Image]) -> Content {
    if images.is_empty() {
        return Content::from(text);
    }
    let words = Part::Text {
        text: text.to_owned(),
    };
    let pictures = images.iter().map(|image| Part::Image {
        mime_type: image.mime_type.clone(),
        data: image.data.clone(),
    });
    Content::Parts(std::iter::once(words).chain(pictures).collect())
}

/// Calls that have a result now and had none.
fn settled<'s>(before: &'s Story, after: &'s Story) -> impl Iterator<Item = &'s CallView> {
    let had = |view: &CallView| {
        let old = before.call(&view.call.id);
        old.is_some_and(|old| old.result.is_some())
    };
    let calls = after.calls.iter();
    calls.filter(move |view| view.result.is_some() && !had(view))
}

fn is_doubted(view: &CallView) -> bool {
    view.state == CallState::InDoubt
}

fn tool(of: &RunOf, view: &CallView, phase: ToolPhase) -> RunToolPayload {
    let ended = phase == ToolPhase::End;
    RunToolPayload {
        of: of.clone(),
        step: view.step,
        phase,
        call: view.call.clone(),
        denial: view.denial.clone().filter(|_| ended),
        result: view.result.clone().filter(|_| ended),
    }
}

fn doubt(of: &RunOf, view: &CallView, after: &Story) -> RunInDoubtPayload {
    let id = &view.call.id;
    let known = after.known.get(id).cloned();
    RunInDoubtPayload {
        of: of.clone(),
        step: view.step,
        call: view.call.clone(),
        began_at: after.began.get(id).copied().unwrap_or(0),
        known: known.unwrap_or_else(|| {
            format!(
                "'{}' was begun and no answer of it was recorded: hob stopped, or lost the tool, before it came. It may have happened, or not.",
                view.call.name
            )
        }),
    }
}
