//! A conversation in an order every provider takes. Pure.
//!
//! Invariants of the turns: they begin with a person's; an assistant's turn with calls is followed
//! by one with exactly their results, in the order of the calls; no turn and no text is empty; two
//! neighbours never have the same kind.

use crate::prompt::PromptMessage;
use hob_wire::content::{Part, Role, ToolCall};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    /// Texts and images.
    User(Vec<Part>),
    /// Texts, thoughts and calls; never thoughts alone.
    Assistant(Vec<Part>),
    Tools(Vec<Answer>),
}

/// A tool's result, with its tool's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Texts and images.
    pub(crate) content: Vec<Part>,
    pub(crate) is_error: bool,
}

impl Answer {
    /// The texts as one.
    pub(crate) fn text(&self) -> String {
        joined(&self.content)
    }

    /// The images as (media type, base64).
    pub(crate) fn images(&self) -> impl Iterator<Item = (&str, &str)> {
        images(&self.content)
    }
}

const NO_RESULT: &str = "There is no result: the call did not come to its end.";
const NO_OUTPUT: &str = "(There was no output.)";
const GOES_ON: &str = "(The conversation goes on.)";

/// Brings messages into turns; what they say as system is given apart.
pub(crate) fn turns(messages: &[PromptMessage]) -> (Vec<String>, Vec<Turn>) {
    let mut system = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        match message.role {
            Role::System => system.extend(said(&message.parts)),
            Role::User | Role::Tool => add_user(&mut turns, &message.parts),
            Role::Assistant => {
                let mut parts: Vec<Part> = message
                    .parts
                    .iter()
                    .filter(|part| is_spoken(part))
                    .cloned()
                    .collect();
                parts.retain(no_double_id());
                if !parts
                    .iter()
                    .any(|part| !matches!(part, Part::Thinking { .. }))
                {
                    continue;
                }
                let following = rest
                    .iter()
                    .take_while(|later| later.role != Role::Assistant);
                let answers = answers(&parts, &following);
                add_assistant(&mut turns, parts);
                if !answers.is_empty() {
                    turns.push(Turn::Tools(answers));
                }
            }
        }
    }
    if !matches!(turns.first(), None | Some(Turn::User(_))) {
        let text = GOES_ON.to_owned();
        turns.insert(0, Turn::User(vec![Part::Text { text }]));
    }
    (system, turns)
}

/// The ids of every call of a conversation.
pub(crate) fn call_ids(messages: &[PromptMessage]) -> BTreeSet<&str> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect()
}

/// The turns since the person last spoke: what a provider counts as one unfinished turn.
pub(crate) fn open_turn(turns: &[Turn]) -> usize {
    let last = turns.iter().rposition(|turn| matches!(turn, Turn::User(_)));
    last.unwrap_or(0)
}

/// A call's arguments as an object, which every provider insists on.
pub(crate) fn object_args(call: &ToolCall) -> Value {
    match &call.args {
        Value::Object(_) => call.args.clone(),
        Value::String(raw) => json!({ "unreadable": raw }),
        other => json!({ "unreadable": other.to_string() }),
    }
}

/// The texts of some parts, one below the other.
pub(crate) fn joined(parts: &[Part]) -> String {
    said(parts).collect::<Vec<_>>().join("\n")
}

/// The images of some parts as (media type, base64).
pub(crate) fn images(parts: &[Part]) -> impl Iterator<Item = (&str, &str)> {
    parts.iter().filter_map(|part| match part {
        Part::Image { mime_type, data } => Some((mime_type.as_str(), data.as_str())),
        _ => None,
    })
}

fn said(parts: &[Part]) -> impl Iterator<Item = String> {
    parts.iter().filter_map(|part| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    })
}

fn add_user(turns: &mut Vec<Turn>, parts: &[Part]) {
    let parts: Vec<Part> = parts
        .iter()
        .filter(|part| is_shown(part))
        .cloned()
        .collect();
    if parts.is_empty() {
        return;
    }
    match turns.last_mut() {
        Some(Turn::User(before)) => before.extend(parts),
        _ => turns.push(Turn::User(parts)),
    }
}

fn add_assistant(turns: &mut Vec<Turn>, parts: Vec<Part>) {
    match turns.last_mut() {
        Some(Turn::Assistant(before)) => before.extend(parts),
        _ => turns.push(Turn::Assistant(parts)),
    }
}

/// One answer for each call: the one that was given, or one that says there is none.
fn answers<'m>(
    parts: &[Part],
    following: &(impl Iterator<Item = &'m PromptMessage> + Clone),
) -> Vec<Answer> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    });
    calls
        .map(|call| {
            let mut given = following.clone().flat_map(|message| &message.parts);
            let found = given.find_map(|part| match part {
                Part::ToolResult(result) if result.id == call.id => Some(result),
                _ => None,
            });
            let (content, is_error) = match found {
                Some(result) => (result.content.clone(), result.is_error),
                None => (Vec::new(), true),
            };
            let mut content: Vec<Part> = content.into_iter().filter(is_shown).collect();
            if content.is_empty() {
                let said = if found.is_some() {
                    NO_OUTPUT
                } else {
                    NO_RESULT
                };
                let text = said.to_owned();
                content.push(Part::Text { text });
            }
            Answer {
                id: call.id.clone(),
                name: call.name.clone(),
                content,
                is_error,
            }
        })
        .collect()
}

/// Two calls of one turn with one id cannot both be answered: the second is left out.
fn no_double_id() -> impl FnMut(&Part) -> bool {
    let mut seen = BTreeSet::new();
    move |part| match part {
        Part::ToolCall(call) => seen.insert(call.id.clone()),
        _ => true,
    }
}

/// What a person or a tool can say.
fn is_shown(part: &Part) -> bool {
    match part {
        Part::Text { text } => !text.trim().is_empty(),
        Part::Image { .. } => true,
        _ => false,
    }
}

/// What a model can say.
fn is_spoken(part: &Part) -> bool {
    match part {
        Part::Text { text } => !text.trim().is_empty(),
        Part::Thinking { .. } | Part::ToolCall(_) => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
