//! Takes known secrets out of what tools say, before it is told to a model, journaled or kept.
//! Pure.
//!
//! Invariant: text without a known secret stays as it is, pictures included.

use hob_kit::mask::Mask;
use hob_wire::content::Part;
use hob_wire::rooms::tool::{Executed, Previewed, Probed};
use serde_json::Value;

/// A tool's answer without secrets.
pub(crate) fn mask_executed(mut executed: Executed, mask: &Mask) -> Executed {
    for part in &mut executed.content {
        if let Part::Text { text } = part {
            mask_text(text, mask);
        }
    }
    if let Some(metadata) = &mut executed.metadata {
        mask_value(metadata, mask);
    }
    executed
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
    for text in [&mut previewed.text, &mut previewed.would_fail] {
        if let Some(text) = text {
            mask_text(text, mask);
        }
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
