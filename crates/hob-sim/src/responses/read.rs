//! A responses request, refused where OpenAI refuses it.

use super::items;
use crate::chat::check_strict;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{Dialect, Flavour, SimRequest};
use crate::rules::{self, in_range, is_name};
use serde_json::Value;

/// Bytes of a tool's name.
const NAME_MAX: usize = 64;
/// An answer of fewer tokens is refused.
const OUTPUT_TOKENS_MIN: u64 = 16;
/// Every field a request may have.
const FIELDS: &[&str] = &[
    "background",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

pub(crate) fn read(body: Value) -> ReadResult<SimRequest> {
    if let Some(name) = rules::unknown(&body, FIELDS) {
        return Err(SimRefusal::bad(format!("Unknown parameter: '{name}'.")).at(name));
    }
    let missing = |field: &str| {
        SimRefusal::bad(format!("Missing required parameter: '{field}'.")).at(field.to_owned())
    };
    let model = rules::text(&body, "model", || missing("model"))?.to_owned();
    for (field, high) in [("temperature", 2.0), ("top_p", 1.0)] {
        if !in_range(&body[field], 0.0, high) {
            return Err(SimRefusal::bad(format!(
                "Invalid '{field}': expected a value between 0 and {high}."
            ))
            .at(field));
        }
    }
    let most = &body["max_output_tokens"];
    if !most.is_null() && most.as_u64().is_none_or(|most| most < OUTPUT_TOKENS_MIN) {
        return Err(SimRefusal::bad(format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {OUTPUT_TOKENS_MIN}, but got {most} instead."
        ))
        .at("max_output_tokens"));
    }
    let tools = tools(&body)?;
    check_choice(&body, &tools)?;
    let schema = schema(&body)?;
    let (mut system, messages) = items::read(&body)?;
    if let Some(instructions) = body["instructions"].as_str() {
        let mut whole = instructions.to_owned();
        rules::add_text(&mut whole, &system);
        system = whole;
    }
    let stream = body["stream"] == true;
    Ok(SimRequest {
        dialect: Dialect::OpenaiResponses,
        flavour: Flavour::Openai,
        model,
        system,
        messages,
        tools,
        stream,
        wants_usage: true,
        schema,
        headers: Vec::new(),
        body,
    })
}

fn tools(body: &Value) -> ReadResult<Vec<String>> {
    let list = rules::list(body, "tools", || {
        SimRefusal::bad("Invalid type for 'tools': expected an array of objects.").at("tools")
    })?;
    let named = list.iter().enumerate().map(|(at, tool)| {
        if tool["type"] != "function" {
            return Err(SimRefusal::bad(format!("Invalid value: {}.", tool["type"]))
                .at(format!("tools[{at}].type")));
        }
        let path = format!("tools[{at}].name");
        let name = rules::text(tool, "name", || {
            SimRefusal::bad(format!("Missing required parameter: '{path}'.")).at(path.clone())
        })?;
        if !is_name(name, NAME_MAX) {
            return Err(SimRefusal::bad(format!(
                "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            ))
            .at(path));
        }
        let parameters = &tool["parameters"];
        if !parameters.is_null() && parameters["type"] != "object" {
            return Err(SimRefusal::bad(format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
                parameters["type"]
            ))
            .at(format!("tools[{at}].parameters")));
        }
        // Strict is what this API takes a tool for that does not say otherwise.
        if tool["strict"] == true {
            check_strict(name, parameters)?;
        }
        Ok(name.to_owned())
    });
    named.collect()
}

fn check_choice(body: &Value, tools: &[String]) -> ReadResult<()> {
    let choice = &body["tool_choice"];
    let known = match choice {
        Value::Null => true,
        Value::String(word) if word == "required" => !tools.is_empty(),
        Value::String(word) => ["auto", "none"].contains(&word.as_str()),
        Value::Object(_) => {
            let name = choice["name"].as_str().unwrap_or_default();
            choice["type"] == "function" && tools.iter().any(|tool| tool == name)
        }
        _ => false,
    };
    let refusal = || {
        SimRefusal::bad(format!(
            "Tool choice {choice} not found in 'tools' parameter."
        ))
        .at("tool_choice")
    };
    known.then_some(()).ok_or_else(refusal)
}

fn schema(body: &Value) -> ReadResult<Option<Value>> {
    let format = &body["text"]["format"];
    match format["type"].as_str() {
        None if format.is_null() => Ok(None),
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(serde_json::json!({ "type": "object" }))),
        Some("json_schema") => {
            let name = format["name"].as_str().unwrap_or_default();
            if !is_name(name, NAME_MAX) {
                return Err(
                    SimRefusal::bad("Missing required parameter: 'text.format.name'.")
                        .at("text.format.name"),
                );
            }
            if !format["schema"].is_object() {
                return Err(
                    SimRefusal::bad("Missing required parameter: 'text.format.schema'.")
                        .at("text.format.schema"),
                );
            }
            if format["strict"] == true {
                check_strict(name, &format["schema"])?;
            }
            Ok(Some(format["schema"].clone()))
        }
        _ => Err(SimRefusal::bad(format!("Invalid value: {}.", format["type"])).at("text.format")),
    }
}
