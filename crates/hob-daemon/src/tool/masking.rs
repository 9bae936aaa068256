//! Takes known secrets out of what tools say, before it is told to a model, journaled or kept.
//! Pure.
//!
//! Invariant: text without a known secret stays as it is, pictures included.

use hob_kit::mask::Mask;
use hob_wire::content::{Content, Part};
use hob_wire::rooms::tool::{Executed, Previewed, Probed};
use serde_json::Value;

/// A tool's answer without secrets.
pub(crate) fn mask_executed(mut executed: Executed, mask: &Mask) -> Executed {
    mask_parts(&mut executed.content, mask);
    if let Some(metadata) = &mut executed.metadata {
        mask_value(metadata, mask);
    }
    executed
}

/// The result of a tool that a client runs itself, without secrets.
pub(crate) fn mask_content(mut content: Content, mask: &Mask) -> Content {
    match &mut content {
        Content::Text(text) => mask_text(text, mask),
        Content::Parts(parts) => mask_parts(parts, mask),
    }
    content
}

fn mask_parts(parts: &mut [Part], mask: &Mask) {
    for part in parts {
        match part {
            Part::Text { text } => mask_text(text, mask),
            Part::ToolResult(result) => mask_parts(&mut result.content, mask),
            _ => {}
        }
    }
}

/// What became of an earlier call, without secrets.
pub(super) fn mask_probed(probed: Probed, mask: &Mask) -> Probed {
    match probed {
        Probed::Yes { outcome } => Probed::Yes {
            outcome: mask_executed(outcome, mask),
        },
        Probed::No => Probed::No,
        Probed::Unknown { mut known } => {
            mask_text(&mut known, mask);
            Probed::Unknown { known }
        }
    }
}

/// What a call would do, without secrets: it is stored with the question. The state that an
/// approval is bound to is a hash and stays.
pub(super) fn mask_previewed(mut previewed: Previewed, mask: &Mask) -> Previewed {
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

pub(super) fn mask_text(text: &mut String, mask: &Mask) {
    if let std::borrow::Cow::Owned(masked) = mask.apply_exact(text) {
        *text = masked;
    }
}

fn mask_value(value: &mut Value, mask: &Mask) {
    match value {
        Value::String(text) => mask_text(text, mask),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, mask)),
        Value::Object(fields) => {
            let has_secret = |name: &String| mask.apply_exact(name) != name.as_str();
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
