//! The request of chat completions. Pure.

use crate::dialect::Ask;
use crate::history::{self, Turn, open_turn};
use crate::providers::{EffortWay, Quirks, SchemaWay};
use crate::reasoning;
use crate::schema;
use crate::tool_id::shaped;
use hob_wire::content::{Part, ToolCall};
use hob_wire::rooms::agent::ToolChoice;
use serde_json::{Map, Value, json};

pub(super) fn body(ask: &Ask<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(ask.prompt.model));
    // The order of the fields is the order of the prompt: what is stable stands first.
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

fn add_tools(ask: &Ask<'_>, body: &mut Map<String, Value>) {
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

fn add_schema(ask: &Ask<'_>, body: &mut Map<String, Value>) {
    let Some(wanted) = &ask.prompt.schema else {
        return;
    };
    let format = match ask.quirks.schema {
        SchemaWay::JsonSchema => json!({
            "type": "json_schema",
            "json_schema": {
                "name": schema::NAME,
                "schema": wanted,
                "strict": schema::is_strict(wanted),
            },
        }),
        SchemaWay::JsonObject => json!({ "type": "json_object" }),
    };
    body.insert("response_format".into(), format);
}

fn add_options(ask: &Ask<'_>, body: &mut Map<String, Value>) {
    let options = &ask.prompt.options;
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
        EffortWay::Word if !ask.quirks.strict_sampling || reasons => {
            body.insert("reasoning_effort".into(), json!(effort));
        }
        EffortWay::Nested => {
            body.insert("reasoning".into(), json!({ "effort": effort }));
        }
        EffortWay::Word | EffortWay::Unsaid => {}
    }
}

fn messages(ask: &Ask<'_>) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut system = ask.system.join("\n\n");
    if let (SchemaWay::JsonObject, Some(wanted)) = (ask.quirks.schema, &ask.prompt.schema) {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(&schema::in_words(wanted));
    }
    if !system.is_empty() {
        messages.push(json!({ "role": "system", "content": system }));
    }
    let open = open_turn(ask.turns);
    for (index, turn) in ask.turns.iter().enumerate() {
        match turn {
            Turn::User(parts) => {
                messages.push(json!({ "role": "user", "content": user_content(parts) }));
            }
            Turn::Assistant(parts) => {
                messages.push(assistant(parts, ask.quirks, index >= open));
            }
            Turn::Tools(answers) => {
                for answer in answers {
                    messages.push(json!({
                        "role": "tool",
                        "tool_call_id": shaped(&answer.id, ask.quirks.tool_ids),
                        "content": answer.text(),
                    }));
                }
                // A tool's message holds text only: its images follow as a person's.
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

fn user_content(parts: &[Part]) -> Value {
    if history::images(parts).next().is_none() {
        return json!(history::joined(parts));
    }
    let parts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(json!({ "type": "text", "text": text })),
        Part::Image { mime_type, data } => Some(image((mime_type, data))),
        _ => None,
    });
    parts.collect()
}

fn image((mime_type, data): (&str, &str)) -> Value {
    let url = format!("data:{mime_type};base64,{data}");
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn assistant(parts: &[Part], quirks: &Quirks, unfinished: bool) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    let text = history::joined(parts);
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
        // These want their thoughts only while the turn is unfinished.
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

fn call(part: &Part, quirks: &Quirks) -> Option<Value> {
    let Part::ToolCall(call @ ToolCall { id, name, .. }) = part else {
        return None;
    };
    Some(json!({
        "id": shaped(id, quirks.tool_ids),
        "type": "function",
        "function": { "name": name, "arguments": history::object_args(call).to_string() },
    }))
}
