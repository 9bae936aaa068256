//! Thoughts and their signatures across providers. Pure.
//!
//! Only the provider that signed a thought can check the signature. Each signature is therefore
//! stored with the name of its protocol and sent back only there. Invariant: a provider gets its
//! signature back byte for byte.

use hob_wire::content::ContentPart;
use hob_wire::rooms::agent::ThinkingLevel;
use serde_json::Value;

pub(crate) const ANTHROPIC: &str = "anthropic:";
pub(crate) const ANTHROPIC_REDACTED: &str = "anthropic-redacted:";
pub(crate) const GEMINI: &str = "gemini:";
pub(crate) const OPENAI: &str = "openai:";
pub(crate) const DETAILS: &str = "details:";

/// Prefixes a signature with its protocol for storage.
pub(crate) fn tag_signature(owner: &str, signature: &str) -> String {
    format!("{owner}{signature}")
}

/// Returns the signature of a part if it belongs to that protocol.
pub(crate) fn own_signature<'p>(part: &'p ContentPart, owner: &str) -> Option<&'p str> {
    match part {
        ContentPart::Thinking {
            signature: Some(signature),
            ..
        } => signature.strip_prefix(owner),
        _ => None,
    }
}

/// The effort value most providers accept; `None` if thinking is off.
pub(crate) fn effort(thinking: ThinkingLevel) -> Option<&'static str> {
    match thinking {
        ThinkingLevel::Off => None,
        ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High => Some("high"),
    }
}

/// True if the name is that of an OpenAI reasoning model. Such models reject most sampling options.
pub(crate) fn openai_reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    // `gpt-5-chat` does not reason, despite its number.
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

/// Joins the thoughts of the parts.
pub(crate) fn thoughts_of(parts: &[ContentPart]) -> String {
    let thoughts = parts.iter().filter_map(|part| match part {
        ContentPart::Thinking { text, .. } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    thoughts.collect()
}

/// The `reasoning_details` of a router, to be sent back unchanged.
pub(crate) fn details_of(parts: &[ContentPart]) -> Option<Value> {
    let details = parts.iter().find_map(|part| own_signature(part, DETAILS))?;
    serde_json::from_str(details).ok()
}

#[cfg(test)]
#[path = "reasoning_tests.rs"]
mod tests;
