//! Thoughts across providers. Pure.
//!
//! A thought's signature is a proof only its own provider can check. Each is therefore kept with
//! the name of the protocol it belongs to, and sent back only there; another provider never sees
//! it. Invariant: what comes back to a provider is byte for byte what it gave.

use hob_wire::content::Part;
use hob_wire::rooms::agent::Thinking;
use serde_json::Value;

pub(crate) const ANTHROPIC: &str = "anthropic:";
pub(crate) const ANTHROPIC_REDACTED: &str = "anthropic-redacted:";
pub(crate) const GEMINI: &str = "gemini:";
pub(crate) const OPENAI: &str = "openai:";
pub(crate) const DETAILS: &str = "details:";

/// A signature as it is kept.
pub(crate) fn kept(owner: &str, signature: &str) -> String {
    format!("{owner}{signature}")
}

/// The signature of a part, if it is that protocol's.
pub(crate) fn own<'p>(part: &'p Part, owner: &str) -> Option<&'p str> {
    match part {
        Part::Thinking {
            signature: Some(signature),
            ..
        } => signature.strip_prefix(owner),
        _ => None,
    }
}

/// How much thinking, in the word most providers take; none where it is switched off.
pub(crate) fn effort(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        Thinking::Off => None,
        Thinking::Low => Some("low"),
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
    }
}

/// Whether a model of OpenAI reasons, by its name: such a one refuses most sampling options.
pub(crate) fn openai_reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let chats = name.contains("-chat");
    let series = |letter: &str| {
        name.strip_prefix(letter)
            .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let newer = name
        .strip_prefix("gpt-")
        .and_then(|rest| rest.bytes().next())
        .is_some_and(|digit| (b'5'..=b'9').contains(&digit));
    !chats && (series("o") || newer || name.starts_with("codex"))
}

/// The thoughts of some parts as one text.
pub(crate) fn thoughts_of(parts: &[Part]) -> String {
    let thoughts = parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    thoughts.collect()
}

/// The details a router gave with its thoughts, to be sent back as they were.
pub(crate) fn details_of(parts: &[Part]) -> Option<Value> {
    let details = parts.iter().find_map(|part| own(part, DETAILS))?;
    serde_json::from_str(details).ok()
}

#[cfg(test)]
#[path = "reasoning_tests.rs"]
mod tests;
