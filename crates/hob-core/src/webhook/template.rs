//! Fills a task template with a webhook call. Text from outside is inserted as data, never as
//! instructions of the person who wrote the template.
//!
//! Invariants: text from the call is quoted or fenced; a fence is longer than any run of backticks
//! inside it; the result is bounded.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most bytes of a body in a task.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// The most bytes of one value.
const VALUE_BYTES_MAX: usize = 4 * 1024;
/// The most placeholders filled in one template.
const PLACEHOLDERS_MAX: usize = 100;

/// A webhook call.
#[derive(Clone, Copy, Debug)]
pub struct WebhookCall<'a> {
    pub body: &'a [u8],
    /// Keyed by lower-case name.
    pub headers: &'a BTreeMap<String, String>,
    pub query: &'a BTreeMap<String, String>,
}

/// Fills a template. If it has no placeholder, the body is appended.
pub fn fill_template(template: &str, call: WebhookCall<'_>) -> String {
    let text = String::from_utf8_lossy(call.body);
    let json: Option<Value> = serde_json::from_slice(call.body).ok();
    let mut task = String::with_capacity(template.len() + text.len().min(BODY_BYTES_MAX));
    let mut rest = template;
    let mut filled = 0;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        task.push_str(before);
        rest = after;
        let value = (filled < PLACEHOLDERS_MAX)
            .then(|| placeholder_value(name.trim(), &text, json.as_ref(), call))
            .flatten();
        match value {
            Some(value) => {
                filled += 1;
                task.push_str(&value);
            }
            // An unknown placeholder stays as written.
            None => {
                let _ = write!(task, "{{{{{name}}}}}");
            }
        }
    }
    task.push_str(rest);
    if filled == 0 && !text.trim().is_empty() {
        task.push_str("\n\nWhat was sent, as data:\n");
        task.push_str(&fenced(&text));
    }
    task
}

fn placeholder_value(
    name: &str,
    text: &str,
    json: Option<&Value>,
    call: WebhookCall<'_>,
) -> Option<String> {
    if name == "body" {
        return Some(format!("\n{}\n", fenced(text)));
    }
    let (root, path) = name.split_once('.')?;
    match root {
        "body" => Some(
            json.and_then(|json| json_field(json, path))
                .map_or_else(missing_value, json_as_text),
        ),
        "header" => {
            let found = call.headers.get(&path.to_ascii_lowercase());
            // Credentials must never reach a model.
            let open = !path.eq_ignore_ascii_case("authorization")
                && !path.to_ascii_lowercase().contains("signature");
            let found = found.filter(|_| open);
            Some(found.map_or_else(missing_value, |value| quoted(value)))
        }
        "query" => Some(
            call.query
                .get(path)
                .map_or_else(missing_value, |value| quoted(value)),
        ),
        _ => None,
    }
}

fn missing_value() -> String {
    "(not given)".to_owned()
}

/// Looks up a path such as `issue.labels.0.name`.
fn json_field<'v>(json: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(json, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

fn json_as_text(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            format!("\n{}\n", fenced(&text))
        }
    }
}

/// Quotes a text, with its line breaks and quotes escaped.
fn quoted(text: &str) -> String {
    let (head, is_cut) = cut_to(text, VALUE_BYTES_MAX);
    let quoted = Value::from(head).to_string();
    if is_cut {
        format!("{quoted} (cut off)")
    } else {
        quoted
    }
}

fn fenced(text: &str) -> String {
    let (head, is_cut) = cut_to(text, BODY_BYTES_MAX);
    // Data cannot close a fence that is longer than any run of backticks in it.
    let longest = head.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let cut = if is_cut { "\n(cut off here)" } else { "" };
    format!("{fence}\n{}\n{fence}{cut}", head.trim_end())
}

fn cut_to(text: &str, bytes_max: usize) -> (&str, bool) {
    if text.len() <= bytes_max {
        return (text, false);
    }
    (&text[..text.floor_char_boundary(bytes_max)], true)
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
