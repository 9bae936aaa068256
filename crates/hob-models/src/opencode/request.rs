//! A prompt as one message of a fresh session. Pure.
//!
//! A session starts empty and accepts only user messages, so the history is sent as text before the
//! last user message.

use crate::dialect::RequestInput;
use crate::history::{ConversationTurn, NamedToolResult, images, join_texts};
use crate::served_model::UNNAMED;
use hob_wire::content::ContentPart;
use serde_json::{Value, json};

const BEFORE: &str = "What was said so far, for you to know; answer only what follows it.";

/// The body of the message.
pub(super) fn body(ask: &RequestInput<'_>) -> Value {
    let mut body = json!({ "parts": parts(ask.turns) });
    let mut system = ask.system.to_vec();
    if let Some(schema) = &ask.prompt.schema {
        system.push(format!(
            "Answer with one JSON value that fits this schema and with nothing else: {schema}"
        ));
    }
    if !system.is_empty() {
        body["system"] = system.join("\n\n").into();
    }
    if let Some((provider, model)) = model(&ask.prompt.model) {
        body["model"] = json!({ "providerID": provider, "modelID": model });
    }
    body
}

/// Splits `PROVIDER/MODEL`. `None` leaves the choice to `OpenCode`.
fn model(name: &str) -> Option<(&str, &str)> {
    if name == UNNAMED {
        return None;
    }
    // OpenCode itself rejects a name without a provider.
    Some(name.split_once('/').unwrap_or((name, "")))
}

fn parts(turns: &[ConversationTurn]) -> Vec<Value> {
    let (last, before) = match turns.split_last() {
        Some((ConversationTurn::User(parts), before)) => (parts.as_slice(), before),
        _ => (&[][..], turns),
    };
    let mut parts = Vec::new();
    if !before.is_empty() {
        parts.push(text(&transcript(before)));
    }
    for turn in before {
        if let ConversationTurn::User(said) = turn {
            parts.extend(files(said));
        }
    }
    let words = join_texts(last);
    if !words.is_empty() {
        parts.push(text(&words));
    }
    parts.extend(files(last));
    parts
}

fn transcript(turns: &[ConversationTurn]) -> String {
    let mut told = format!("{BEFORE}\n");
    for turn in turns {
        let (who, words) = match turn {
            ConversationTurn::User(parts) => ("user", join_texts(parts)),
            ConversationTurn::Assistant(parts) => ("assistant", join_texts(parts)),
            ConversationTurn::Tools(answers) => {
                let texts: Vec<String> = answers.iter().map(NamedToolResult::text).collect();
                ("tool", texts.join("\n"))
            }
        };
        for piece in ["\n<", who, ">\n", &words, "\n</", who, ">\n"] {
            told.push_str(piece);
        }
    }
    told
}

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words })
}

fn files(parts: &[ContentPart]) -> impl Iterator<Item = Value> {
    images(parts).map(|(mime, data)| {
        json!({ "type": "file", "mime": mime, "url": format!("data:{mime};base64,{data}") })
    })
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
