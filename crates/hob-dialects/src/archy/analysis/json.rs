//! JSON: one value, or one on each line.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding, list_some};
use hob_wire::analysis::{Importance, OutputFinding};
use serde_json::{Value, json};

pub(super) const KIND: OutputKind = OutputKind {
    name: "json",
    programs: &["jq"],
    read,
};

/// A longer text is described instead of returned.
const VALUE_BYTES_MAX: usize = 64 * 1_024;
const FIELDS_SHOWN: usize = 8;

fn read(text: &str) -> Option<ParsedOutput> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(_) => parse_lines(text)?,
    };
    let summary = match &value {
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let found = count(names.len(), "field", "fields");
            if names.is_empty() {
                "An empty JSON object.".to_owned()
            } else {
                format!(
                    "A JSON object with {found}: {}.",
                    list_some(&names, FIELDS_SHOWN)
                )
            }
        }
        Value::Array(items) => format!("A JSON list of {}.", count(items.len(), "item", "items")),
        _ => return None,
    };
    let findings = reported_error(&value).into_iter().collect();
    let parsed = if text.len() <= VALUE_BYTES_MAX {
        value
    } else {
        json!({ "bytes": text.len() })
    };
    Some(ParsedOutput {
        parsed,
        findings,
        summary,
    })
}

fn parse_lines(text: &str) -> Option<Value> {
    let values: Result<Vec<Value>, _> = text
        .lines()
        .take(ROWS_MAX)
        .map(serde_json::from_str)
        .collect();
    let values = values
        .ok()
        .filter(|values| values.len() > 1 && values.iter().all(Value::is_object))?;
    Some(Value::Array(values))
}

/// Returns the error that the value itself reports.
fn reported_error(value: &Value) -> Option<OutputFinding> {
    let reported = ["error", "errors"]
        .iter()
        .find_map(|name| value.get(name))?;
    let message = match reported {
        Value::Null | Value::Bool(false) => return None,
        Value::String(message) if message.is_empty() => return None,
        Value::Array(list) if list.is_empty() => return None,
        Value::String(message) => message.clone(),
        other => other
            .get("message")
            .and_then(Value::as_str)
            .map_or_else(|| other.to_string(), str::to_owned),
    };
    Some(finding("error", message, Importance::High))
}
