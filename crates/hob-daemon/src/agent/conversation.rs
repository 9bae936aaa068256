//! The conversation in a prompt: read from the session, ordered as every provider requires, cut to
//! the window.
//!
//! Invariants: each tool call is directly followed by its results, one for each call; the run's own
//! messages are one turn, which is never cut; the same messages and window give the same
//! conversation, so a resumed run sends the same prompt.

use hob_core::context_window::{self, MessageWeight};
use hob_models::PromptMessage;
use hob_wire::{ContentPart, Message, MessageContent, Role, ToolResult};
use std::collections::{BTreeMap, VecDeque};

/// A message for a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContextMessage {
    pub(crate) role: Role,
    pub(crate) parts: Vec<ContentPart>,
    /// True if the current run added it.
    pub(crate) is_own: bool,
}

impl ContextMessage {
    pub(crate) fn from_stored(message: Message, own: bool) -> Self {
        let (role, content) = (message.role, message.content);
        ContextMessage::new(role, content, own)
    }

    pub(crate) fn new(role: Role, content: MessageContent, own: bool) -> Self {
        let parts = match content {
            MessageContent::Text(text) => vec![ContentPart::Text { text }],
            MessageContent::Parts(parts) => parts,
        };
        ContextMessage {
            role,
            parts,
            is_own: own,
        }
    }
}

/// True if any message has an image.
pub(crate) fn has_images(messages: &[ContextMessage]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, ContentPart::Image { .. }))
}

/// The part of a conversation that fits the window.
#[derive(Debug)]
pub(crate) struct FittedConversation {
    pub(crate) messages: Vec<PromptMessage>,
    /// Messages before the first one that fits.
    pub(crate) messages_left_out: u64,
}

/// A message in provider order.
struct PlacedMessage {
    message: ContextMessage,
    /// Index of the stored message; a result has the index of its call.
    index: usize,
}

/// Orders a conversation and cuts it to `room_tokens`. Thinking goes back only to the model that
/// produced it: its signature means nothing to another.
pub(crate) fn fit_to_window(
    messages: Vec<ContextMessage>,
    room_tokens: Option<u64>,
    keep_thoughts: bool,
    weigh: &dyn Fn(&[ContentPart]) -> u64,
) -> FittedConversation {
    let mut ordered = pair_results(messages);
    for PlacedMessage { message, .. } in &mut ordered {
        let keeps = keep_thoughts && message.is_own;
        message
            .parts
            .retain(|part| keeps || !matches!(part, ContentPart::Thinking { .. }));
    }
    ordered.retain(|it| it.message.parts.iter().any(|part| !is_empty(part)));
    let first_own = ordered.iter().position(|it| it.message.is_own);
    let weights = ordered.iter().enumerate().map(|(at, it)| MessageWeight {
        tokens: weigh(&it.message.parts),
        // Only the first own message opens a turn: the run's own turn must not be split.
        opens_turn: it.message.role == Role::User && first_own.is_none_or(|own| at <= own),
    });
    let weights: Vec<MessageWeight> = weights.collect();
    let cut = context_window::cut_history(&weights, room_tokens.unwrap_or(u64::MAX));
    let first_index = ordered.get(cut.first_kept).map_or(0, |it| it.index);
    let messages = ordered.into_iter().skip(cut.first_kept);
    FittedConversation {
        messages: messages
            .map(|it| PromptMessage {
                role: it.message.role,
                parts: it.message.parts,
            })
            .collect(),
        // If nothing was cut, leading empty messages that were filtered out do not count.
        messages_left_out: if cut.first_kept == 0 {
            0
        } else {
            first_index as u64
        },
    }
}

/// Results by call id, in the order they came.
type PendingResults = BTreeMap<String, VecDeque<ToolResult>>;

/// Puts results directly behind their calls. A call without a result gets a placeholder, a result
/// without a call is dropped: no provider accepts either.
fn pair_results(mut messages: Vec<ContextMessage>) -> Vec<PlacedMessage> {
    let mut results = PendingResults::new();
    for message in &mut messages {
        take_results(message, &mut results);
    }
    let mut ordered = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        if message.role == Role::Tool && message.parts.is_empty() {
            continue;
        }
        let answers = message.parts.iter().filter_map(|part| match part {
            ContentPart::ToolCall(call) => {
                Some(ContentPart::ToolResult(result_of(&mut results, &call.id)))
            }
            _ => None,
        });
        let answers: Vec<ContentPart> = answers.collect();
        let is_own = message.is_own;
        ordered.push(PlacedMessage { message, index });
        if !answers.is_empty() {
            let message = ContextMessage {
                role: Role::Tool,
                parts: answers,
                is_own,
            };
            ordered.push(PlacedMessage { message, index });
        }
    }
    ordered
}

/// Moves the results of a message into the map.
fn take_results(message: &mut ContextMessage, results: &mut PendingResults) {
    for part in std::mem::take(&mut message.parts) {
        match part {
            ContentPart::ToolResult(result) => {
                let waiting = results.entry(result.id.clone()).or_default();
                waiting.push_back(result);
            }
            // Only the model makes calls; one in another role is not trusted.
            ContentPart::ToolCall(_) if message.role != Role::Assistant => {}
            other => message.parts.push(other),
        }
    }
}

fn result_of(results: &mut PendingResults, id: &str) -> ToolResult {
    let found = results.get_mut(id).and_then(VecDeque::pop_front);
    found.unwrap_or_else(|| ToolResult {
        id: id.to_owned(),
        content: vec![ContentPart::Text {
            text: "No result of this call is known.".to_owned(),
        }],
        is_error: true,
    })
}

fn is_empty(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Text { text } if text.is_empty())
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
