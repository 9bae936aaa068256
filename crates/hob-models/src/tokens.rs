//! Token estimates without the model's tokenizer. Pure.
//!
//! Estimates are high on purpose: history is then dropped a little early instead of a call failing,
//! and a budget reservation is a little too large instead of overrun.

use crate::prompt::{Prompt, PromptMessage};
use hob_core::context_window::estimate_tokens;
use hob_wire::content::ContentPart;
use hob_wire::rooms::model::ProviderKind;

/// The cost of an image at the size most providers scale it to.
const IMAGE_TOKENS: u64 = 1_600;
/// Overhead of a message: its role and delimiters.
const MESSAGE_TOKENS: u64 = 8;
/// Overhead of a call, a result or a tool: field names.
const FRAME_TOKENS: u64 = 16;

/// Tokens of a text.
pub(crate) fn text(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count();
    // In many scripts a character is a word, so each non-ASCII character counts as one token.
    let others = text.chars().filter(|letter| !letter.is_ascii()).count();
    estimate_tokens(ascii).saturating_add(u64::try_from(others).unwrap_or(u64::MAX))
}

/// Scales an estimate to the tokenizers of a provider kind. Anthropic's newer tokenizers make
/// considerably more tokens of the same text than others.
pub(crate) fn scale_for(kind: ProviderKind, tokens: u64) -> u64 {
    let percent = match kind {
        ProviderKind::Anthropic => 140,
        _ => 110,
    };
    tokens.saturating_mul(percent).div_ceil(100)
}

/// Tokens of some parts.
pub(crate) fn parts(parts: &[ContentPart]) -> u64 {
    let each = parts.iter().map(|part| match part {
        ContentPart::Text { text: said } => text(said),
        ContentPart::Thinking {
            text: said,
            signature,
        } => text(said) + signature.as_deref().map_or(0, text),
        ContentPart::Image { .. } => IMAGE_TOKENS,
        ContentPart::ToolCall(call) => {
            text(&call.name) + text(&call.args.to_string()) + FRAME_TOKENS
        }
        ContentPart::ToolResult(result) => self::parts(&result.content) + FRAME_TOKENS,
    });
    each.fold(0, u64::saturating_add)
}

pub(crate) fn message(message: &PromptMessage) -> u64 {
    parts(&message.parts).saturating_add(MESSAGE_TOKENS)
}

/// Tokens of a whole prompt.
pub(crate) fn prompt(prompt: &Prompt) -> u64 {
    let system = prompt.system.iter().map(|layer| text(layer));
    let messages = prompt.messages.iter().map(message);
    let tools = prompt.tools.iter().map(|tool| {
        let schema = text(&tool.parameters.to_string());
        text(&tool.name) + text(&tool.description) + schema + FRAME_TOKENS
    });
    let schema = prompt.schema.iter().map(|schema| text(&schema.to_string()));
    let all = system.chain(messages).chain(tools).chain(schema);
    all.fold(MESSAGE_TOKENS, u64::saturating_add)
}

/// Images of a prompt, those of tool results included.
pub(crate) fn images(prompt: &Prompt) -> u64 {
    fn count(parts: &[ContentPart]) -> u64 {
        let each = parts.iter().map(|part| match part {
            ContentPart::Image { .. } => 1,
            ContentPart::ToolResult(result) => count(&result.content),
            _ => 0,
        });
        each.sum()
    }
    let each = prompt.messages.iter().map(|message| count(&message.parts));
    each.sum()
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
