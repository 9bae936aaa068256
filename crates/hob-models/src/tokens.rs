//! How many tokens a text is, for models whose tokenizer is not here. Pure.
//!
//! The estimate is on the high side: history is then left out a little early instead of a call
//! failing, and a budget is reserved a little large instead of overrun.

use crate::prompt::{Prompt, PromptMessage};
use hob_core::context::estimate_tokens;
use hob_wire::content::Part;
use hob_wire::rooms::model::ProviderKind;

/// What an image costs at most providers at the size they scale it to.
const IMAGE_TOKENS: u64 = 1_600;
/// Around a message: its role and its borders.
const MESSAGE_TOKENS: u64 = 8;
/// Around a call, a result, a tool: names of fields.
const FRAME_TOKENS: u64 = 16;

/// Tokens of a text.
pub(crate) fn text(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count();
    // Letters beyond ASCII are words of their own in many scripts: one token each.
    let others = text.chars().filter(|letter| !letter.is_ascii()).count();
    estimate_tokens(ascii).saturating_add(u64::try_from(others).unwrap_or(u64::MAX))
}

/// An estimate as the tokenizers of that kind of provider count: Anthropic's newer ones cut the
/// same text into a good deal more pieces than the others do.
pub(crate) fn weighed(kind: ProviderKind, tokens: u64) -> u64 {
    let percent = match kind {
        ProviderKind::Anthropic => 140,
        _ => 110,
    };
    tokens.saturating_mul(percent).div_ceil(100)
}

/// Tokens of some parts.
pub(crate) fn parts(parts: &[Part]) -> u64 {
    let each = parts.iter().map(|part| match part {
        Part::Text { text: said } => text(said),
        Part::Thinking {
            text: said,
            signature,
        } => text(said) + signature.as_deref().map_or(0, text),
        Part::Image { .. } => IMAGE_TOKENS,
        Part::ToolCall(call) => text(&call.name) + text(&call.args.to_string()) + FRAME_TOKENS,
        Part::ToolResult(result) => self::parts(&result.content) + FRAME_TOKENS,
    });
    each.fold(0, u64::saturating_add)
}

pub(crate) fn message(message: &PromptMessage) -> u64 {
    parts(&message.parts).saturating_add(MESSAGE_TOKENS)
}

/// Tokens of everything a call is given.
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
    fn count(parts: &[Part]) -> u64 {
        let each = parts.iter().map(|part| match part {
            Part::Image { .. } => 1,
            Part::ToolResult(result) => count(&result.content),
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
