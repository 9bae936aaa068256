//! The messages of a chat completions request, and the rule that every call is answered before
//! anyone else speaks.

use super::read::NAME_MAX;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{SimMessage, SimToolCall, SimToolResult};
use crate::rules::{self, add_text, data_url, is_name};
use hob_wire::content::Role;
use serde_json::Value;

/// The system text and the conversation.
pub(super) fn messages(body: &Value) -> ReadResult<(String, Vec<SimMessage>)> {
    let Some(list) = body["messages"].as_array() else {
        return Err(SimRefusal::bad("Missing required parameter: 'messages'.").at("messages"));
    };
    if list.is_empty() {
        return Err(SimRefusal::bad(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        )
        .at("messages"));
    }
    let mut system = String::new();
    let mut said: Vec<SimMessage> = Vec::new();
    // Calls of the last assistant message that no tool message has answered yet.
    let mut open: Vec<String> = Vec::new();
    let mut answered: Vec<String> = Vec::new();
    for (at, message) in list.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" {
            check_answered(at, &open)?;
            answered.clear();
        }
        match role {
            "system" | "developer" => {
                let mut one = SimMessage::by(Role::System);
                content(at, message, &mut one)?;
                add_text(&mut system, &one.text);
            }
            "user" => {
                let mut one = SimMessage::by(Role::User);
                content(at, message, &mut one)?;
                said.push(one);
            }
            "assistant" => {
                let one = assistant(at, message)?;
                open = one.tool_calls.iter().map(|call| call.id.clone()).collect();
                said.push(one);
            }
            "tool" => said.push(tool(at, message, &mut open, &mut answered)?),
            other => {
                return Err(SimRefusal::bad(format!(
                    "Invalid value: '{other}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
                ))
                .at(format!("messages[{at}].role")));
            }
        }
    }
    check_answered(list.len(), &open)?;
    Ok((system, said))
}

fn check_answered(at: usize, open: &[String]) -> ReadResult<()> {
    if open.is_empty() {
        return Ok(());
    }
    let ids = open.join(", ");
    Err(SimRefusal::bad(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
    ))
    .at(format!("messages.[{at}].role")))
}

fn assistant(at: usize, message: &Value) -> ReadResult<SimMessage> {
    let mut said = SimMessage::by(Role::Assistant);
    let calls = rules::list(message, "tool_calls", || {
        SimRefusal::bad(format!("Invalid type for 'messages[{at}].tool_calls'."))
    })?;
    if message["tool_calls"].is_array() && calls.is_empty() {
        return Err(SimRefusal::bad(format!(
            "Invalid 'messages[{at}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."
        ))
        .at(format!("messages[{at}].tool_calls")));
    }
    if calls.is_empty() || !message["content"].is_null() {
        content(at, message, &mut said)?;
    }
    if let Some(thinking) = message["reasoning_content"].as_str() {
        thinking.clone_into(&mut said.thinking);
    }
    for (nth, call) in calls.iter().enumerate() {
        let path = format!("messages[{at}].tool_calls[{nth}]");
        let missing = |field: &str| {
            SimRefusal::bad(format!("Missing required parameter: '{path}.{field}'."))
                .at(format!("{path}.{field}"))
        };
        let id = rules::text(call, "id", || missing("id"))?;
        if call["type"] != "function" {
            return Err(missing("type"));
        }
        let function = &call["function"];
        let name = rules::text(function, "name", || missing("function.name"))?;
        if !is_name(name, NAME_MAX) {
            return Err(SimRefusal::bad(format!(
                "Invalid '{path}.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )));
        }
        let args = rules::text(function, "arguments", || missing("function.arguments"))?;
        if said.tool_calls.iter().any(|known| known.id == id) {
            return Err(SimRefusal::bad(format!(
                "Duplicate tool_call id '{id}' in '{path}'."
            )));
        }
        said.tool_calls.push(SimToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            args: serde_json::from_str(args).unwrap_or_else(|_| Value::String(args.to_owned())),
        });
    }
    Ok(said)
}

fn tool(
    at: usize,
    message: &Value,
    open: &mut Vec<String>,
    answered: &mut Vec<String>,
) -> ReadResult<SimMessage> {
    let missing = || {
        SimRefusal::bad(format!(
            "Missing required parameter: 'messages[{at}].tool_call_id'."
        ))
        .at(format!("messages[{at}].tool_call_id"))
    };
    let id = rules::text(message, "tool_call_id", missing)?;
    if open.is_empty() && answered.is_empty() {
        return Err(SimRefusal::bad(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        )
        .at(format!("messages.[{at}].role")));
    }
    let Some(place) = open.iter().position(|known| known == id) else {
        return Err(SimRefusal::bad(format!(
            "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
        ))
        .at(format!("messages.[{at}].tool_call_id")));
    };
    answered.push(open.remove(place));
    let mut one = SimMessage::by(Role::Tool);
    content(at, message, &mut one)?;
    one.tool_results.push(SimToolResult {
        id: id.to_owned(),
        text: std::mem::take(&mut one.text),
        is_error: false,
    });
    Ok(one)
}

/// Reads a message's content: a text, or parts.
fn content(at: usize, message: &Value, said: &mut SimMessage) -> ReadResult<()> {
    let parts = match &message["content"] {
        Value::String(text) => {
            text.clone_into(&mut said.text);
            return Ok(());
        }
        Value::Array(parts) => parts,
        other => {
            let got = if other.is_null() { "null" } else { "an object" };
            return Err(SimRefusal::bad(format!(
                "Invalid value for 'content': expected a string, got {got}."
            ))
            .at(format!("messages.[{at}].content")));
        }
    };
    for (nth, part) in parts.iter().enumerate() {
        let path = format!("messages[{at}].content[{nth}]");
        match (part["type"].as_str(), said.role) {
            (Some("text"), _) => {
                let missing =
                    || SimRefusal::bad(format!("Missing required parameter: '{path}.text'."));
                said.text.push_str(rules::text(part, "text", missing)?);
            }
            (Some("image_url"), Role::User) => {
                let url = part["image_url"]["url"].as_str().unwrap_or_default();
                said.images.push(picture(url, &path)?);
            }
            (kind, _) => {
                return Err(SimRefusal::bad(format!(
                    "Invalid content type {kind:?} for a message of this role."
                ))
                .at(format!("{path}.type")));
            }
        }
    }
    Ok(())
}

/// The media type of a picture given by URL.
pub(crate) fn picture(url: &str, path: &str) -> ReadResult<String> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok("image/*".to_owned());
    }
    let refusal = || {
        SimRefusal::bad(format!(
            "Invalid '{path}.image_url': expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without one."
        ))
    };
    let (mime, _) = data_url(url).ok_or_else(refusal)?;
    Ok(mime.to_owned())
}
