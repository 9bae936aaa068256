//! The texts about a call that a person sees before they approve it. Text from a model or a tool is
//! treated as data: nothing in it can hide, reorder or imitate a letter without being seen.
//!
//! Invariants: control, format, bidirectional, private and look-alike characters are always
//! escaped; every text is bounded, and a cut tells how much is missing.

use super::canonical_json::canonical_json;
use crate::visible_text::visible_exactly as escaped;
use hob_wire::work::{ToolContext, ToolSpec};
use serde_json::Value;

/// The most characters of one argument in the sentence.
const ARGUMENT_CHARS_MAX: usize = 200;
/// The most characters of the whole sentence.
const SENTENCE_CHARS_MAX: usize = 1_000;
/// The most characters of the preview.
const PREVIEW_CHARS_MAX: usize = 16_000;

/// Returns the tool's approval sentence with the arguments filled in: `Write "notes.md"`. Text in
/// square brackets around an argument is left out if the argument is missing.
pub fn approval_sentence(tool: &ToolSpec, args: &Value) -> String {
    let mut out = String::new();
    let mut rest = tool.approval.as_str();
    while let Some((before, after)) = rest.split_once('[') {
        let Some((part, after)) = after.split_once(']') else {
            break;
        };
        push_filled(&mut out, before, args);
        match part.split_once('{').and_then(|(_, it)| it.split_once('}')) {
            // Brackets without an argument are ordinary text.
            None => push_filled(&mut out, &format!("[{part}]"), args),
            Some((name, _)) if args.get(name).is_none_or(Value::is_null) => {}
            Some(_) => push_filled(&mut out, part, args),
        }
        rest = after;
    }
    push_filled(&mut out, rest, args);
    bounded(&out, SENTENCE_CHARS_MAX)
}

/// Appends text with the arguments filled in.
fn push_filled(out: &mut String, words: &str, args: &Value) {
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        out.push_str(&escaped(before));
        out.push_str(&argument_text(args.get(name)));
        rest = after;
    }
    out.push_str(&escaped(rest));
}

/// Returns exactly what will run: the tool, its folder and all its arguments, one per line.
pub fn call_preview(tool: &ToolSpec, args: &Value, context: &ToolContext) -> String {
    let mut lines = vec![format!("tool: {}", escaped(&tool.name))];
    if let Some(workspace) = &context.workspace {
        lines.push(format!("folder: {}", escaped(workspace)));
    }
    match args {
        Value::Object(fields) => {
            for (name, value) in fields {
                lines.push(format!(
                    "{}: {}",
                    escaped(name),
                    escaped(&canonical_json(value))
                ));
            }
        }
        other => lines.push(format!("arguments: {}", escaped(&canonical_json(other)))),
    }
    bounded(&lines.join("\n"), PREVIEW_CHARS_MAX)
}

/// Returns the change a call would make, as its tool describes it, below the tool and its folder.
pub fn change_preview(tool: &ToolSpec, context: &ToolContext, change: &str) -> String {
    let mut lines = vec![format!("tool: {}", escaped(&tool.name))];
    if let Some(workspace) = &context.workspace {
        lines.push(format!("folder: {}", escaped(workspace)));
    }
    lines.extend(change.trim_end_matches('\n').split('\n').map(escaped));
    bounded(&lines.join("\n"), PREVIEW_CHARS_MAX)
}

fn argument_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "(nothing)".to_owned(),
        Some(Value::String(text)) => {
            // A bare quote could end the argument and continue the sentence.
            let text = escaped(text).replace('"', "\\\"");
            format!("\"{}\"", bounded(&text, ARGUMENT_CHARS_MAX))
        }
        Some(other) => bounded(&escaped(&canonical_json(other)), ARGUMENT_CHARS_MAX),
    }
}

fn bounded(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((cut, _)) => {
            let more = text[cut..].chars().count();
            format!("{}… ({more} more characters)", &text[..cut])
        }
    }
}

#[cfg(test)]
#[path = "approval_text_tests.rs"]
mod tests;
