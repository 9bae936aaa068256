//! Builds requests of the Responses API. Pure.
//!
//! The provider stores nothing: each request holds the whole conversation, with encrypted thoughts.

use crate::dialect::RequestInput;
use crate::history::{self, ConversationTurn, NamedToolResult};
use crate::reasoning::{self, OPENAI};
use crate::schema;
use crate::tool_id::format_id;
use hob_wire::content::ContentPart;
use hob_wire::rooms::agent::ToolChoice;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;

pub(super) fn body(ask: &RequestInput<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(ask.prompt.model));
    let instructions = ask.system.join("\n\n");
    add_tools(ask, &mut body);
    body.insert(
        "prompt_cache_key".into(),
        json!(cache_key(&instructions, &body)),
    );
    if !instructions.is_empty() {
        body.insert("instructions".into(), json!(instructions));
    }
    body.insert("input".into(), Value::Array(input(ask)));
    body.insert("stream".into(), json!(true));
    body.insert("store".into(), json!(false));
    if let Some(wanted) = &ask.prompt.schema {
        let format = json!({
            "type": "json_schema",
            "name": schema::NAME,
            "schema": wanted,
            "strict": schema::is_strict(wanted),
        });
        body.insert("text".into(), json!({ "format": format }));
    }
    add_options(ask, &mut body);
    Value::Object(body)
}

/// A key that routes requests with the same instructions and tools to the same cache.
fn cache_key(instructions: &str, body: &Map<String, Value>) -> String {
    let mut hash = Sha256::new();
    hash.update(instructions);
    if let Some(tools) = body.get("tools") {
        hash.update(tools.to_string());
    }
    let mut key = String::from("hob-");
    for byte in hash.finalize().iter().take(8) {
        let _ = write!(key, "{byte:02x}");
    }
    key
}

fn add_tools(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    // Not strict: strict mode accepts only closed schemas, which not every tool has.
    let tools = ask.tools(|tool| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": false,
        })
    });
    let Some(tools) = tools else {
        return;
    };
    body.insert("tools".into(), Value::Array(tools));
    let choice = match &ask.prompt.tool_choice {
        None => return,
        Some(ToolChoice::Auto) => json!("auto"),
        Some(ToolChoice::None) => json!("none"),
        Some(ToolChoice::Required) => json!("required"),
        Some(ToolChoice::Named(name)) => json!({ "type": "function", "name": name }),
    };
    body.insert("tool_choice".into(), choice);
}

fn add_options(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    let options = &ask.prompt.options;
    if let Some(tokens) = options.max_output_tokens {
        body.insert("max_output_tokens".into(), json!(tokens));
    }
    if reasoning::openai_reasons(&ask.prompt.model) {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        let mut reasoning = json!({ "summary": "auto" });
        if let Some(effort) = options.thinking.and_then(reasoning::effort) {
            reasoning["effort"] = json!(effort);
        }
        body.insert("reasoning".into(), reasoning);
        // Reasoning models reject the sampling options below.
        return;
    }
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(top_p) = options.top_p {
        body.insert("top_p".into(), json!(top_p));
    }
}

fn input(ask: &RequestInput<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in ask.turns {
        match turn {
            ConversationTurn::User(parts) => {
                let content: Vec<Value> = parts.iter().filter_map(user_part).collect();
                items.push(json!({ "role": "user", "content": content }));
            }
            ConversationTurn::Assistant(parts) => items.extend(assistant_parts(parts, ask)),
            ConversationTurn::Tools(answers) => {
                items.extend(answers.iter().map(|answer| result(answer, ask)));
            }
        }
    }
    items
}

fn user_part(part: &ContentPart) -> Option<Value> {
    match part {
        ContentPart::Text { text } => Some(json!({ "type": "input_text", "text": text })),
        ContentPart::Image { mime_type, data } => Some(json!({
            "type": "input_image",
            "image_url": format!("data:{mime_type};base64,{data}"),
        })),
        _ => None,
    }
}

fn assistant_parts(parts: &[ContentPart], ask: &RequestInput<'_>) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for part in parts {
        match part {
            ContentPart::Text { text } => items.push(json!({
                "role": "assistant",
                "content": [{ "type": "output_text", "text": text }],
            })),
            ContentPart::ToolCall(call) => items.push(json!({
                "type": "function_call",
                "call_id": format_id(&call.id, ask.quirks.tool_ids),
                "name": call.name,
                "arguments": history::object_args(call).to_string(),
            })),
            other => {
                let sealed = reasoning::own_signature(other, OPENAI);
                items.extend(sealed.and_then(|item| serde_json::from_str::<Value>(item).ok()));
            }
        }
    }
    // The provider rejects a reasoning item without an item after it.
    let is_thought = |item: &Value| item.get("type") == Some(&json!("reasoning"));
    while items.last().is_some_and(is_thought) {
        items.pop();
    }
    items
}

fn result(answer: &NamedToolResult, ask: &RequestInput<'_>) -> Value {
    let output = if answer.images().next().is_none() {
        json!(answer.text())
    } else {
        answer.content.iter().filter_map(user_part).collect()
    };
    json!({
        "type": "function_call_output",
        "call_id": format_id(&answer.id, ask.quirks.tool_ids),
        "output": output,
    })
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
