//! The content of the next write of a run. Pure: messages and events derive from the state before
//! and the state after, so that each is emitted exactly once.

use super::journal::{JournalEntry, SteeringText};
use super::replayed_run::ReplayedRun;
use hob_core::transcript::CallOutcome;
use hob_core::turn::{TurnEvent, TurnPhase};
use hob_store::{LedgerWrite, NewMessage, StepOrigin};
use hob_wire::rooms::agent::{
    CallView, Cost, InlineImage, RunInDoubt, RunInDoubtPayload, RunPaused, RunPausedPayload,
    RunRef, RunStarted, RunStartedPayload, RunTool, RunToolPayload, ToolCallState, ToolPhase,
};
use hob_wire::{ContentPart, EventTopic, MessageContent, Role};
use serde_json::Value;

/// The next write, as far as its cause determines it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepDraft {
    pub(crate) entries: Vec<JournalEntry>,
    /// Messages before the tool results.
    pub(crate) messages: Vec<NewMessage>,
    /// Text of a last user message, added only if the run continues.
    pub(crate) closing_text: Option<String>,
    pub(crate) ledger: Vec<LedgerWrite>,
    pub(crate) events: Vec<(&'static str, Value)>,
    pub(crate) notes: Vec<String>,
    /// The new answer text, if it changes.
    pub(crate) text: Option<String>,
    /// The new total cost, if it changes.
    pub(crate) cost: Option<Cost>,
    /// The reason in a sentence, if the run ends or pauses with this write.
    pub(crate) message: Option<String>,
}

impl StepDraft {
    pub(crate) fn of(entry: JournalEntry) -> Self {
        StepDraft {
            entries: vec![entry],
            ..StepDraft::default()
        }
    }

    pub(crate) fn event<T: EventTopic>(&mut self, payload: &T::Payload) {
        // Encoding fails only if the payload type is wrong, which any test of it finds.
        if let Ok(payload) = serde_json::to_value(payload) {
            self.events.push((T::SPEC.topic, payload));
        }
    }

    /// Adds tool results, due steering texts and the closing message to the conversation.
    pub(crate) fn add_messages(&mut self, before: &ReplayedRun, after: &ReplayedRun) {
        for view in newly_settled(before, after) {
            let result = view.result.clone().map(ContentPart::ToolResult);
            let content = MessageContent::Parts(result.into_iter().collect());
            let origin = result_origin(before, view);
            let message = NewMessage::new(Role::Tool, content);
            self.messages.push(message.of_step(origin));
        }
        let texts = after.due_steering.iter().map(steering_message);
        self.messages.extend(texts);
        if after.cause().is_none()
            && let Some(text) = self.closing_text.take()
        {
            let content = MessageContent::Text(text);
            self.messages.push(NewMessage::new(Role::User, content));
        }
    }

    /// Adds the events that follow from the entries, in the order things happened.
    pub(crate) fn add_events(&mut self, of: &RunRef, before: &ReplayedRun, after: &ReplayedRun) {
        let drafted = std::mem::take(&mut self.events);
        let restarts = self.entries.iter().any(|entry| {
            matches!(
                entry.event,
                TurnEvent::Begin { .. } | TurnEvent::Restarted { .. }
            )
        });
        if restarts && after.cause().is_none() {
            self.event::<RunStarted>(&RunStartedPayload {
                run: of.clone(),
                model: after.model.clone().unwrap_or_default(),
                resumed: after.resumed,
            });
        }
        // The start event comes first, also when other events were drafted before it.
        self.events.extend(drafted);
        let fresh = |view: &&CallView| !before.began.contains_key(&view.call.id);
        let begun = |view: &&CallView| after.began.contains_key(&view.call.id);
        for view in after.calls.iter().filter(begun).filter(fresh) {
            self.event::<RunTool>(&tool_payload(of, view, ToolPhase::Start));
        }
        for view in newly_settled(before, after) {
            self.event::<RunTool>(&tool_payload(of, view, ToolPhase::End));
        }
        for view in after.calls.iter().filter(|view| is_in_doubt(view)) {
            if before.call(&view.call.id).is_some_and(is_in_doubt) || after.cause().is_some() {
                continue;
            }
            self.event::<RunInDoubt>(&doubt_payload(of, view, after));
        }
        let out_of_money =
            |entry: &JournalEntry| matches!(entry.event, TurnEvent::OutOfMoney { .. });
        if *after.turn.phase() == TurnPhase::Paused && self.entries.iter().any(out_of_money) {
            self.event::<RunPaused>(&RunPausedPayload {
                run: of.clone(),
                message: self.message.clone().unwrap_or_default(),
            });
        }
    }
}

/// The step that the result of a call belongs to.
pub(crate) fn result_origin(before: &ReplayedRun, view: &CallView) -> StepOrigin {
    // Before this write the run was still at the step of the call.
    let (_, attempt) = before.turn.step_and_attempt();
    let is_plain = view.state == ToolCallState::Done && view.denial.is_none();
    StepOrigin {
        step: view.step,
        attempt,
        outcome: (!is_plain).then(|| CallOutcome {
            state: view.state,
            denial: view.denial.clone(),
        }),
    }
}

/// A steering text as a message.
pub(crate) fn steering_message(steering: &SteeringText) -> NewMessage {
    NewMessage::new(Role::User, user_content(&steering.text, &steering.images))
}

/// A text with images as message content.
pub(crate) fn user_content(text: &str, images: &[InlineImage]) -> MessageContent {
    if images.is_empty() {
        return MessageContent::from(text);
    }
    let first = ContentPart::Text {
        text: text.to_owned(),
    };
    let pictures = images.iter().map(|image| ContentPart::Image {
        mime_type: image.mime_type.clone(),
        data: image.data.clone(),
    });
    MessageContent::Parts(std::iter::once(first).chain(pictures).collect())
}

/// Calls that got their result between the two states.
fn newly_settled<'s>(
    before: &'s ReplayedRun,
    after: &'s ReplayedRun,
) -> impl Iterator<Item = &'s CallView> {
    let had = |view: &CallView| {
        let old = before.call(&view.call.id);
        old.is_some_and(|old| old.result.is_some())
    };
    let calls = after.calls.iter();
    calls.filter(move |view| view.result.is_some() && !had(view))
}

fn is_in_doubt(view: &CallView) -> bool {
    view.state == ToolCallState::InDoubt
}

fn tool_payload(of: &RunRef, view: &CallView, phase: ToolPhase) -> RunToolPayload {
    let ended = phase == ToolPhase::End;
    RunToolPayload {
        run: of.clone(),
        step: view.step,
        phase,
        call: view.call.clone(),
        denial: view.denial.clone().filter(|_| ended),
        result: view.result.clone().filter(|_| ended),
    }
}

fn doubt_payload(of: &RunRef, view: &CallView, after: &ReplayedRun) -> RunInDoubtPayload {
    let id = &view.call.id;
    RunInDoubtPayload {
        run: of.clone(),
        step: view.step,
        call: view.call.clone(),
        began_at: after.began.get(id).copied().unwrap_or(0),
        known: doubt_sentence(view, after),
    }
}

/// The known facts about a call in doubt, for people.
pub(crate) fn doubt_sentence(view: &CallView, after: &ReplayedRun) -> String {
    let known = after.known.get(&view.call.id).cloned();
    known.unwrap_or_else(|| {
        format!(
            "'{}' started, but hob stopped or lost the tool before an answer was recorded. It may or may not have happened.",
            view.call.name
        )
    })
}
