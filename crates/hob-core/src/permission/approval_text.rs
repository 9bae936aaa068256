//! What a person is shown of a call before they say yes. Text from a model or a tool stands in it
//! as data: nothing in it can hide, reorder or imitate a letter without being seen.
//!
//! Invariants: no control, format, bidirectional, private or look-alike character comes out as
//! itself; every text is bounded, and a cut says how much is missing.

use super::canonical::canonical;
use crate::visible_text::visible_exactly as escaped;
use hob_wire::work::{ToolContext, ToolSpec};
use serde_json::Value;

/// Letters of one argument in the sentence.
const ARGUMENT_CHARS_MAX: usize = 200;
/// Letters of the whole sentence.
const SENTENCE_CHARS_MAX: usize = 1_000;
/// Letters of the preview.
const PREVIEW_CHARS_MAX: usize = 16_000;

/// The tool's approval sentence with the arguments in their places: `Write "notes.md"`. What
/// stands in square brackets around an argument is left out with an argument that is missing.
pub fn sentence(tool: &ToolSpec, args: &Value) -> String {
    let mut out = String::new();
    let mut rest = tool.approval.as_str();
    while let Some((before, after)) = rest.split_once('[') {
        let Some((part, after)) = after.split_once(']') else {
            break;
        };
        filled(&mut out, before, args);
        match part.split_once('{').and_then(|(_, it)| it.split_once('}')) {
            None => filled(&mut out, &format!("[{part}]"), args),
            Some((name, _)) if args.get(name).is_none_or(Value::is_null) => {}
            Some(_) => filled(&mut out, part, args),
        }
        rest = after;
    }
    filled(&mut out, rest, args);
    bounded(&out, SENTENCE_CHARS_MAX)
}

/// Adds words with the arguments in their places.
fn filled(out: &mut String, words: &str, args: &Value) {
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        out.push_str(&escaped(before));
        out.push_str(&argument(args.get(name)));
        rest = after;
    }
    out.push_str(&escaped(rest));
}

/// Exactly what will run: the tool, its folder and all its arguments, one a line.
pub fn preview(tool: &ToolSpec, args: &Value, context: &ToolContext) -> String {
    let mut lines = vec![format!("tool: {}", escaped(&tool.name))];
    if let Some(workspace) = &context.workspace {
        lines.push(format!("folder: {}", escaped(workspace)));
    }
    match args {
        Value::Object(fields) => {
            for (name, value) in fields {
                lines.push(format!("{}: {}", escaped(name), escaped(&canonical(value))));
            }
        }
        other => lines.push(format!("arguments: {}", escaped(&canonical(other)))),
    }
    bounded(&lines.join("\n"), PREVIEW_CHARS_MAX)
}

/// What a call would change, as its tool says it, line by line below the tool and its folder.
pub fn preview_of_change(tool: &ToolSpec, context: &ToolContext, change: &str) -> String {
    let mut lines = vec![format!("tool: {}", escaped(&tool.name))];
    if let Some(workspace) = &context.workspace {
        lines.push(format!("folder: {}", escaped(workspace)));
    }
    lines.extend(change.trim_end_matches('\n').split('\n').map(escaped));
    bounded(&lines.join("\n"), PREVIEW_CHARS_MAX)
}

fn argument(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "(nothing)".to_owned(),
        Some(Value::String(text)) => {
            let text = escaped(text).replace('"', "\\\"");
            format!("\"{}\"", bounded(&text, ARGUMENT_CHARS_MAX))
        }
        Some(other) => bounded(&escaped(&canonical(other)), ARGUMENT_CHARS_MAX),
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
#[path = "shown_tests.rs"]
mod tests;
