//! Removes known secrets from tool output, before a model, the journal or the store gets it. Pure.
//!
//! Invariant: text without a known secret is unchanged, and so are images.

use hob_kit::mask::SecretMask;
use hob_wire::content::{ContentPart, MessageContent};
use hob_wire::rooms::tool::{ToolExecuteResult, ToolPreviewResult, ToolProbeResult};
use serde_json::Value;

/// Masks a tool's answer.
pub(crate) fn mask_executed(
    mut executed: ToolExecuteResult,
    mask: &SecretMask,
) -> ToolExecuteResult {
    mask_parts(&mut executed.content, mask);
    if let Some(metadata) = &mut executed.metadata {
        mask_value(metadata, mask);
    }
    executed
}

/// Masks the result of a tool that a client runs itself.
pub(crate) fn mask_content(mut content: MessageContent, mask: &SecretMask) -> MessageContent {
    match &mut content {
        MessageContent::Text(text) => mask_text(text, mask),
        MessageContent::Parts(parts) => mask_parts(parts, mask),
    }
    content
}

fn mask_parts(parts: &mut [ContentPart], mask: &SecretMask) {
    for part in parts {
        match part {
            ContentPart::Text { text } => mask_text(text, mask),
            ContentPart::ToolResult(result) => mask_parts(&mut result.content, mask),
            _ => {}
        }
    }
}

/// Masks the outcome of a probe.
pub(super) fn mask_probed(probed: ToolProbeResult, mask: &SecretMask) -> ToolProbeResult {
    match probed {
        ToolProbeResult::Yes { outcome } => ToolProbeResult::Yes {
            outcome: mask_executed(outcome, mask),
        },
        ToolProbeResult::No => ToolProbeResult::No,
        ToolProbeResult::Unknown { mut known } => {
            mask_text(&mut known, mask);
            ToolProbeResult::Unknown { known }
        }
    }
}

/// Masks a preview, which is stored with the question. The state that an approval is bound to is a
/// hash and stays.
pub(super) fn mask_previewed(
    mut previewed: ToolPreviewResult,
    mask: &SecretMask,
) -> ToolPreviewResult {
    let texts = [
        &mut previewed.text,
        &mut previewed.would_fail,
        &mut previewed.cannot_run,
    ];
    for text in texts.into_iter().flatten() {
        mask_text(text, mask);
    }
    previewed
}

pub(super) fn mask_text(text: &mut String, mask: &SecretMask) {
    if let std::borrow::Cow::Owned(masked) = mask.apply_exact(text) {
        *text = masked;
    }
}

fn mask_value(value: &mut Value, mask: &SecretMask) {
    match value {
        Value::String(text) => mask_text(text, mask),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, mask)),
        Value::Object(fields) => {
            let has_secret = |name: &String| mask.apply_exact(name) != name.as_str();
            // Rebuilt only if a key has a secret: this runs on every result.
            if fields.keys().any(has_secret) {
                let renamed = std::mem::take(fields).into_iter();
                *fields = renamed
                    .map(|(name, value)| (mask.apply_exact(&name).into_owned(), value))
                    .collect();
            }
            fields
                .values_mut()
                .for_each(|field| mask_value(field, mask));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "masking_tests.rs"]
mod tests;
