//! A prompt as one message of a fresh session. Pure.
//!
//! A session begins empty and only a person's words can be put into it: what was said before goes
//! along as text, above the last words.

use crate::dialect::Ask;
use crate::history::{Answer, Turn, images, joined};
use crate::served::UNNAMED;
use hob_wire::content::Part;
use serde_json::{Value, json};

const BEFORE: &str = "What was said so far, for you to know; answer only what follows it.";

/// The body of the message.
pub(super) fn body(ask: &Ask<'_>) -> Value {
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

/// `PROVIDER/MODEL`; none leaves the choice to `OpenCode`.
fn model(name: &str) -> Option<(&str, &str)> {
    if name == UNNAMED {
        return None;
    }
    // A name without a provider is refused by OpenCode, in its own words.
    Some(name.split_once('/').unwrap_or((name, "")))
}

fn parts(turns: &[Turn]) -> Vec<Value> {
    let (last, before) = match turns.split_last() {
        Some((Turn::User(parts), before)) => (parts.as_slice(), before),
        _ => (&[][..], turns),
    };
    let mut parts = Vec::new();
    if !before.is_empty() {
        parts.push(text(&transcript(before)));
    }
    for turn in before {
        if let Turn::User(said) = turn {
            parts.extend(files(said));
        }
    }
    let words = joined(last);
    if !words.is_empty() {
        parts.push(text(&words));
    }
    parts.extend(files(last));
    parts
}

fn transcript(turns: &[Turn]) -> String {
    let mut told = format!("{BEFORE}\n");
    for turn in turns {
        let (who, words) = match turn {
            Turn::User(parts) => ("user", joined(parts)),
            Turn::Assistant(parts) => ("assistant", joined(parts)),
            Turn::Tools(answers) => {
                let texts: Vec<String> = answers.iter().map(Answer::text).collect();
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

fn files(parts: &[Part]) -> impl Iterator<Item = Value> {
    images(parts).map(|(mime, data)| {
        json!({ "type": "file", "mime": mime, "url": format!("data:{mime};base64,{data}") })
    })
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
