//! Builds requests of chat completions. Pure.

use crate::dialect::RequestInput;
use crate::history::{self, ConversationTurn, unfinished_turn_start};
use crate::providers::{EffortField, ProviderQuirks, SchemaFormat};
use crate::reasoning;
use crate::schema;
use crate::tool_id::format_id;
use hob_wire::content::{ContentPart, ToolCall};
use hob_wire::rooms::agent::ToolChoice;
use serde_json::{Map, Value, json};

pub(super) fn body(ask: &RequestInput<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(ask.prompt.model));
    // Stable fields come first, in prompt order, for the provider's prompt cache.
    add_tools(ask, &mut body);
    body.insert("messages".into(), Value::Array(messages(ask)));
    body.insert("stream".into(), json!(true));
    if ask.quirks.stream_options {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    add_schema(ask, &mut body);
    add_options(ask, &mut body);
    Value::Object(body)
}

fn add_tools(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    let tools = ask.tools(|tool| {
        json!({
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
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
        Some(ToolChoice::Required) => json!(ask.quirks.required),
        Some(ToolChoice::Named(name)) => json!({"type": "function", "function": {"name": name}}),
    };
    body.insert("tool_choice".into(), choice);
}

fn add_schema(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    let Some(wanted) = &ask.prompt.schema else {
        return;
    };
    let format = match ask.quirks.schema {
        SchemaFormat::JsonSchema => json!({
            "type": "json_schema",
            "json_schema": {
                "name": schema::NAME,
                "schema": wanted,
                "strict": schema::is_strict(wanted),
            },
        }),
        SchemaFormat::JsonObject => json!({ "type": "json_object" }),
    };
    body.insert("response_format".into(), format);
}

fn add_options(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    let options = &ask.prompt.options;
    if let Some(penalty) = ask.prompt.repeat_penalty {
        body.insert("repeat_penalty".into(), json!(penalty));
    }
    if let Some(tokens) = options.max_output_tokens {
        body.insert(ask.quirks.output_limit.into(), json!(tokens));
    }
    let reasons = reasoning::openai_reasons(&ask.prompt.model);
    if !(ask.quirks.strict_sampling && reasons) {
        if let Some(temperature) = options.temperature {
            body.insert("temperature".into(), json!(temperature));
        }
        if let Some(top_p) = options.top_p {
            body.insert("top_p".into(), json!(top_p));
        }
        if !options.stop.is_empty() {
            body.insert("stop".into(), json!(options.stop));
        }
    }
    let Some(effort) = options.thinking.and_then(reasoning::effort) else {
        return;
    };
    match ask.quirks.effort {
        EffortField::Word if !ask.quirks.strict_sampling || reasons => {
            body.insert("reasoning_effort".into(), json!(effort));
        }
        EffortField::Nested => {
            body.insert("reasoning".into(), json!({ "effort": effort }));
        }
        EffortField::Word | EffortField::Unsaid => {}
    }
}

fn messages(ask: &RequestInput<'_>) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut system = ask.system.join("\n\n");
    if let (SchemaFormat::JsonObject, Some(wanted)) = (ask.quirks.schema, &ask.prompt.schema) {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(&schema::as_instruction(wanted));
    }
    if !system.is_empty() {
        messages.push(json!({ "role": "system", "content": system }));
    }
    let open = unfinished_turn_start(ask.turns);
    for (index, turn) in ask.turns.iter().enumerate() {
        match turn {
            ConversationTurn::User(parts) => {
                messages.push(json!({ "role": "user", "content": user_content(parts) }));
            }
            ConversationTurn::Assistant(parts) => {
                messages.push(assistant(parts, ask.quirks, index >= open));
            }
            ConversationTurn::Tools(answers) => {
                for answer in answers {
                    messages.push(json!({
                        "role": "tool",
                        "tool_call_id": format_id(&answer.id, ask.quirks.tool_ids),
                        "content": answer.text(),
                    }));
                }
                // A tool message holds only text, so images follow in a user message.
                let images = answers.iter().flat_map(|answer| {
                    let about = format!("The images of the result of {}:", answer.name);
                    let mut parts: Vec<Value> = answer.images().map(image).collect();
                    if !parts.is_empty() {
                        parts.insert(0, json!({ "type": "text", "text": about }));
                    }
                    parts
                });
                let images: Vec<Value> = images.collect();
                if !images.is_empty() {
                    messages.push(json!({ "role": "user", "content": images }));
                }
            }
        }
    }
    messages
}

fn user_content(parts: &[ContentPart]) -> Value {
    if history::images(parts).next().is_none() {
        return json!(history::join_texts(parts));
    }
    let parts = parts.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(json!({ "type": "text", "text": text })),
        ContentPart::Image { mime_type, data } => Some(image((mime_type, data))),
        _ => None,
    });
    parts.collect()
}

fn image((mime_type, data): (&str, &str)) -> Value {
    let url = format!("data:{mime_type};base64,{data}");
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn assistant(parts: &[ContentPart], quirks: &ProviderQuirks, unfinished: bool) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    let text = history::join_texts(parts);
    let calls: Vec<Value> = parts.iter().filter_map(|part| call(part, quirks)).collect();
    let content = if text.is_empty() {
        Value::Null
    } else {
        json!(text)
    };
    message.insert("content".into(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    match quirks.thoughts_back {
        Some("reasoning_details") => {
            if let Some(details) = reasoning::details_of(parts) {
                message.insert("reasoning_details".into(), details);
            }
        }
        // These providers accept thoughts only while the turn is unfinished.
        Some(field) if unfinished => {
            let thoughts = reasoning::thoughts_of(parts);
            if !thoughts.is_empty() {
                message.insert(field.into(), json!(thoughts));
            }
        }
        _ => {}
    }
    Value::Object(message)
}

fn call(part: &ContentPart, quirks: &ProviderQuirks) -> Option<Value> {
    let ContentPart::ToolCall(call @ ToolCall { id, name, .. }) = part else {
        return None;
    };
    Some(json!({
        "id": format_id(id, quirks.tool_ids),
        "type": "function",
        "function": { "name": name, "arguments": history::object_args(call).to_string() },
    }))
}
