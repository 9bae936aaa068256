//! The conversation a model is shown: read from the session, put in the order every provider
//! takes, and cut to the window.
//!
//! Invariants: each tool call is directly followed by its results, one for each call; the run's
//! own messages are one turn, which is never cut; the same messages and window give the same
//! conversation, so a resumed run asks what the cut-off one asked.

use hob_core::context::{self, Weight};
use hob_models::PromptMessage;
use hob_wire::{Content, Message, Part, Role, ToolResult};

/// A message on its way to a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spoken {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part>,
    /// Whether the present run added it.
    pub(crate) own: bool,
}

impl Spoken {
    pub(crate) fn of(message: Message, own: bool) -> Self {
        let (role, content) = (message.role, message.content);
        Spoken::new(role, content, own)
    }

    pub(crate) fn new(role: Role, content: Content, own: bool) -> Self {
        let parts = match content {
            Content::Text(text) => vec![Part::Text { text }],
            Content::Parts(parts) => parts,
        };
        Spoken { role, parts, own }
    }
}

/// Whether a conversation holds a picture.
pub(crate) fn has_images(spoken: &[Spoken]) -> bool {
    let mut parts = spoken.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Image { .. }))
}

/// What fits.
#[derive(Debug)]
pub(crate) struct Fitted {
    pub(crate) messages: Vec<PromptMessage>,
    pub(crate) turns_left_out: usize,
}

/// Orders a conversation and cuts it to `room_tokens`. Thoughts go back only to the model that
/// had them: their proofs mean nothing to another.
pub(crate) fn fit(
    spoken: Vec<Spoken>,
    room_tokens: Option<u64>,
    keep_thoughts: bool,
    weigh: &dyn Fn(&[Part]) -> u64,
) -> Fitted {
    let mut ordered = paired(spoken);
    for message in &mut ordered {
        let keeps = keep_thoughts && message.own;
        message
            .parts
            .retain(|part| keeps || !matches!(part, Part::Thinking { .. }));
    }
    ordered.retain(|message| message.parts.iter().any(|part| !is_empty(part)));
    let first_own = ordered.iter().position(|message| message.own);
    let weights = ordered.iter().enumerate().map(|(index, message)| Weight {
        tokens: weigh(&message.parts),
        opens_turn: message.role == Role::User && first_own.is_none_or(|own| index <= own),
    });
    let weights: Vec<Weight> = weights.collect();
    let cut = context::cut(&weights, room_tokens.unwrap_or(u64::MAX));
    let messages = ordered.into_iter().skip(cut.first);
    Fitted {
        messages: messages
            .map(|message| PromptMessage {
                role: message.role,
                parts: message.parts,
            })
            .collect(),
        turns_left_out: cut.turns_left_out,
    }
}

/// Puts results right behind their calls. A call without one gets a word in its place, a result
/// without a call is left out: no provider takes either.
fn paired(spoken: Vec<Spoken>) -> Vec<Spoken> {
    let mut results: Vec<Option<ToolResult>> = Vec::new();
    for message in &spoken {
        let found = message.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(Some(result.clone())),
            _ => None,
        });
        results.extend(found);
    }
    let mut ordered = Vec::with_capacity(spoken.len());
    for mut message in spoken {
        message
            .parts
            .retain(|part| !matches!(part, Part::ToolResult(_)));
        if message.role != Role::Assistant {
            // A call is the model's word only.
            message
                .parts
                .retain(|part| !matches!(part, Part::ToolCall(_)));
        }
        if message.role == Role::Tool && message.parts.is_empty() {
            continue;
        }
        let answers = message.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(Part::ToolResult(take_result(&mut results, &call.id))),
            _ => None,
        });
        let answers: Vec<Part> = answers.collect();
        let own = message.own;
        ordered.push(message);
        if !answers.is_empty() {
            ordered.push(Spoken {
                role: Role::Tool,
                parts: answers,
                own,
            });
        }
    }
    ordered
}

fn take_result(results: &mut [Option<ToolResult>], id: &str) -> ToolResult {
    let is_its = |slot: &&mut Option<ToolResult>| slot.as_ref().is_some_and(|it| it.id == id);
    let found = results.iter_mut().find(is_its).and_then(Option::take);
    found.unwrap_or_else(|| ToolResult {
        id: id.to_owned(),
        content: vec![Part::Text {
            text: "No result of this call is known.".to_owned(),
        }],
        is_error: true,
    })
}

fn is_empty(part: &Part) -> bool {
    matches!(part, Part::Text { text } if text.is_empty())
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
