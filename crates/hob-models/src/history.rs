//! Brings a conversation into an order that every provider accepts. Pure.
//!
//! Invariants of the turns: the first is a user turn; an assistant turn with calls is followed by
//! a tool turn with exactly their results, in call order; no turn and no text is empty; two
//! neighbours never have the same kind.

use crate::prompt::PromptMessage;
use hob_wire::content::{ContentPart, Role, ToolCall};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConversationTurn {
    /// Texts and images.
    User(Vec<ContentPart>),
    /// Texts, thoughts and calls. Never only thoughts.
    Assistant(Vec<ContentPart>),
    Tools(Vec<NamedToolResult>),
}

/// A tool result with the name of its tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedToolResult {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Texts and images.
    pub(crate) content: Vec<ContentPart>,
    pub(crate) is_error: bool,
}

impl NamedToolResult {
    /// The texts as one.
    pub(crate) fn text(&self) -> String {
        join_texts(&self.content)
    }

    /// The images as (media type, base64).
    pub(crate) fn images(&self) -> impl Iterator<Item = (&str, &str)> {
        images(&self.content)
    }
}

const NO_RESULT: &str = "There is no result: the call did not come to its end.";
const NO_OUTPUT: &str = "(There was no output.)";
const CONVERSATION_CONTINUES: &str = "(The conversation goes on.)";

/// Converts messages to turns. System messages are returned separately.
pub(crate) fn to_turns(messages: &[PromptMessage]) -> (Vec<String>, Vec<ConversationTurn>) {
    let mut system = Vec::new();
    let mut turns: Vec<ConversationTurn> = Vec::new();
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        match message.role {
            Role::System => system.extend(texts(&message.parts)),
            Role::User | Role::Tool => add_user(&mut turns, &message.parts),
            Role::Assistant => {
                let mut parts: Vec<ContentPart> = message
                    .parts
                    .iter()
                    .filter(|part| is_assistant_content(part))
                    .cloned()
                    .collect();
                parts.retain(without_duplicate_ids());
                // Providers reject an answer that holds nothing but thoughts.
                if !parts
                    .iter()
                    .any(|part| !matches!(part, ContentPart::Thinking { .. }))
                {
                    continue;
                }
                // Results may come in several messages, but always before the next answer.
                let following = rest
                    .iter()
                    .take_while(|later| later.role != Role::Assistant);
                let results = tool_results(&parts, &following);
                add_assistant(&mut turns, parts);
                if !results.is_empty() {
                    turns.push(ConversationTurn::Tools(results));
                }
            }
        }
    }
    if !matches!(turns.first(), None | Some(ConversationTurn::User(_))) {
        let text = CONVERSATION_CONTINUES.to_owned();
        turns.insert(0, ConversationTurn::User(vec![ContentPart::Text { text }]));
    }
    (system, turns)
}

/// The ids of all calls of a conversation.
pub(crate) fn call_ids(messages: &[PromptMessage]) -> BTreeSet<&str> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect()
}

/// The index of the last user turn. Providers count everything from there as one unfinished turn.
pub(crate) fn unfinished_turn_start(turns: &[ConversationTurn]) -> usize {
    let last = turns
        .iter()
        .rposition(|turn| matches!(turn, ConversationTurn::User(_)));
    last.unwrap_or(0)
}

/// The arguments of a call as an object, which every provider requires.
pub(crate) fn object_args(call: &ToolCall) -> Value {
    match &call.args {
        Value::Object(_) => call.args.clone(),
        Value::String(raw) => json!({ "unreadable": raw }),
        other => json!({ "unreadable": other.to_string() }),
    }
}

/// Joins the texts of the parts with newlines.
pub(crate) fn join_texts(parts: &[ContentPart]) -> String {
    texts(parts).collect::<Vec<_>>().join("\n")
}

/// The images of the parts as (media type, base64).
pub(crate) fn images(parts: &[ContentPart]) -> impl Iterator<Item = (&str, &str)> {
    parts.iter().filter_map(|part| match part {
        ContentPart::Image { mime_type, data } => Some((mime_type.as_str(), data.as_str())),
        _ => None,
    })
}

fn texts(parts: &[ContentPart]) -> impl Iterator<Item = String> {
    parts.iter().filter_map(|part| match part {
        ContentPart::Text { text } if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    })
}

fn add_user(turns: &mut Vec<ConversationTurn>, parts: &[ContentPart]) {
    let parts: Vec<ContentPart> = parts
        .iter()
        .filter(|part| is_user_content(part))
        .cloned()
        .collect();
    if parts.is_empty() {
        return;
    }
    match turns.last_mut() {
        Some(ConversationTurn::User(before)) => before.extend(parts),
        _ => turns.push(ConversationTurn::User(parts)),
    }
}

fn add_assistant(turns: &mut Vec<ConversationTurn>, parts: Vec<ContentPart>) {
    match turns.last_mut() {
        Some(ConversationTurn::Assistant(before)) => before.extend(parts),
        _ => turns.push(ConversationTurn::Assistant(parts)),
    }
}

/// Returns one result per call: the recorded one, or an error that says there is none.
fn tool_results<'m>(
    parts: &[ContentPart],
    following: &(impl Iterator<Item = &'m PromptMessage> + Clone),
) -> Vec<NamedToolResult> {
    let calls = parts.iter().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call),
        _ => None,
    });
    calls
        .map(|call| {
            let mut given = following.clone().flat_map(|message| &message.parts);
            let found = given.find_map(|part| match part {
                ContentPart::ToolResult(result) if result.id == call.id => Some(result),
                _ => None,
            });
            let (content, is_error) = match found {
                Some(result) => (result.content.clone(), result.is_error),
                None => (Vec::new(), true),
            };
            let mut content: Vec<ContentPart> =
                content.into_iter().filter(is_user_content).collect();
            if content.is_empty() {
                let said = if found.is_some() {
                    NO_OUTPUT
                } else {
                    NO_RESULT
                };
                let text = said.to_owned();
                content.push(ContentPart::Text { text });
            }
            NamedToolResult {
                id: call.id.clone(),
                name: call.name.clone(),
                content,
                is_error,
            }
        })
        .collect()
}

/// Drops the second of two calls with the same id in one turn: only one of them can have a result.
fn without_duplicate_ids() -> impl FnMut(&ContentPart) -> bool {
    let mut seen = BTreeSet::new();
    move |part| match part {
        ContentPart::ToolCall(call) => seen.insert(call.id.clone()),
        _ => true,
    }
}

/// True for the parts a user or a tool can send.
fn is_user_content(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text { text } => !text.trim().is_empty(),
        ContentPart::Image { .. } => true,
        _ => false,
    }
}

/// True for the parts a model can send.
fn is_assistant_content(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text { text } => !text.trim().is_empty(),
        ContentPart::Thinking { .. } | ContentPart::ToolCall(_) => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
