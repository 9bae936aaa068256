//! The conversation a model is shown: read from the session, put in the order every provider
//! takes, and cut to the window.
//!
//! Invariants: each tool call is directly followed by its results, one for each call; the run's
//! own messages are one turn, which is never cut; the same messages and window give the same
//! conversation, so a resumed run asks what the cut-off one asked.

use hob_core::context::{self, Weight};
use hob_models::PromptMessage;
use hob_wire::{Content, Message, Part, Role, ToolResult};
use std::collections::{BTreeMap, VecDeque};

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
    /// Messages of the conversation before the first that fits.
    pub(crate) messages_left_out: u64,
}

/// A message in the order that providers take.
struct Placed {
    spoken: Spoken,
    /// Where its message, or that of the calls it answers, stands in the conversation.
    index: usize,
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
    for Placed { spoken, .. } in &mut ordered {
        let keeps = keep_thoughts && spoken.own;
        spoken
            .parts
            .retain(|part| keeps || !matches!(part, Part::Thinking { .. }));
    }
    ordered.retain(|it| it.spoken.parts.iter().any(|part| !is_empty(part)));
    let first_own = ordered.iter().position(|it| it.spoken.own);
    let weights = ordered.iter().enumerate().map(|(at, it)| Weight {
        tokens: weigh(&it.spoken.parts),
        opens_turn: it.spoken.role == Role::User && first_own.is_none_or(|own| at <= own),
    });
    let weights: Vec<Weight> = weights.collect();
    let cut = context::cut(&weights, room_tokens.unwrap_or(u64::MAX));
    let first_index = ordered.get(cut.first).map_or(0, |it| it.index);
    let messages = ordered.into_iter().skip(cut.first);
    Fitted {
        messages: messages
            .map(|it| PromptMessage {
                role: it.spoken.role,
                parts: it.spoken.parts,
            })
            .collect(),
        // Empty messages at the very beginning are not shown, and nobody misses them.
        messages_left_out: if cut.first == 0 {
            0
        } else {
            first_index as u64
        },
    }
}

/// Results that wait for their calls, by the call's id, in the order they came.
type Results = BTreeMap<String, VecDeque<ToolResult>>;

/// Puts results right behind their calls. A call without one gets a word in its place, a result
/// without a call is left out: no provider takes either.
fn paired(mut spoken: Vec<Spoken>) -> Vec<Placed> {
    let mut results = Results::new();
    for message in &mut spoken {
        take_results(message, &mut results);
    }
    let mut ordered = Vec::with_capacity(spoken.len());
    for (index, message) in spoken.into_iter().enumerate() {
        if message.role == Role::Tool && message.parts.is_empty() {
            continue;
        }
        let answers = message.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(Part::ToolResult(result_of(&mut results, &call.id))),
            _ => None,
        });
        let answers: Vec<Part> = answers.collect();
        let own = message.own;
        ordered.push(Placed {
            spoken: message,
            index,
        });
        if !answers.is_empty() {
            let spoken = Spoken {
                role: Role::Tool,
                parts: answers,
                own,
            };
            ordered.push(Placed { spoken, index });
        }
    }
    ordered
}

/// Moves the results of a message to the others.
fn take_results(message: &mut Spoken, results: &mut Results) {
    for part in std::mem::take(&mut message.parts) {
        match part {
            Part::ToolResult(result) => {
                let waiting = results.entry(result.id.clone()).or_default();
                waiting.push_back(result);
            }
            // A call is the model's word only.
            Part::ToolCall(_) if message.role != Role::Assistant => {}
            other => message.parts.push(other),
        }
    }
}

fn result_of(results: &mut Results, id: &str) -> ToolResult {
    let found = results.get_mut(id).and_then(VecDeque::pop_front);
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
