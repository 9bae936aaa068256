//! A chat completions request, refused where OpenAI refuses it.

use super::flavour::{check_fields, check_own};
use super::messages::messages;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{Dialect, Flavour, SimRequest};
use crate::rules::{self, in_range, is_count, is_name};
use serde_json::Value;

/// Bytes of a tool's name.
pub(super) const NAME_MAX: usize = 64;
/// Tools of one request.
const TOOLS_MAX: usize = 128;
/// Every field a request may have.
const FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

pub(crate) fn read(flavour: Flavour, body: Value) -> ReadResult<SimRequest> {
    check_fields(flavour, &body, FIELDS)?;
    let model = rules::text(&body, "model", || {
        SimRefusal::bad("you must provide a model parameter")
    })?;
    let model = model.to_owned();
    check_numbers(&body)?;
    let tools = tools(&body)?;
    check_choice(flavour, &body, &tools)?;
    let schema = schema(&body)?;
    let (stream, wants_usage) = streaming(&body)?;
    let (system, messages) = messages(&body)?;
    check_own(flavour, &body, &messages)?;
    Ok(SimRequest {
        dialect: Dialect::OpenaiChat,
        flavour,
        model,
        system,
        messages,
        tools,
        stream,
        wants_usage,
        schema,
        headers: Vec::new(),
        body,
    })
}

fn check_numbers(body: &Value) -> ReadResult<()> {
    for (field, low, high) in [
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("presence_penalty", -2.0, 2.0),
        ("frequency_penalty", -2.0, 2.0),
        ("n", 1.0, 1.0),
    ] {
        if !in_range(&body[field], low, high) {
            let given = &body[field];
            return Err(SimRefusal::bad(format!(
                "Invalid '{field}': expected a value between {low} and {high}, but got {given} instead."
            ))
            .at(field));
        }
    }
    for field in ["max_tokens", "max_completion_tokens"] {
        if !is_count(&body[field]) {
            return Err(SimRefusal::bad(format!(
                "Invalid '{field}': integer below minimum value. Expected a value >= 1, but got {} instead.",
                body[field]
            ))
            .at(field));
        }
    }
    if !body["max_tokens"].is_null() && !body["max_completion_tokens"].is_null() {
        return Err(SimRefusal::bad(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        ));
    }
    Ok(())
}

fn streaming(body: &Value) -> ReadResult<(bool, bool)> {
    let stream = match &body["stream"] {
        Value::Null => false,
        Value::Bool(stream) => *stream,
        other => {
            return Err(SimRefusal::bad(format!(
                "Invalid type for 'stream': expected a boolean, but got {other} instead."
            ))
            .at("stream"));
        }
    };
    let options = &body["stream_options"];
    if !options.is_null() && !stream {
        return Err(SimRefusal::bad(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .at("stream_options"));
    }
    if let Some(name) = rules::unknown(options, &["include_usage", "include_obfuscation"]) {
        return Err(SimRefusal::bad(format!(
            "Unknown parameter: 'stream_options.{name}'."
        )));
    }
    Ok((stream, options["include_usage"] == true))
}

fn tools(body: &Value) -> ReadResult<Vec<String>> {
    let list = rules::list(body, "tools", || {
        SimRefusal::bad("Invalid type for 'tools': expected an array of objects.").at("tools")
    })?;
    if !body["tools"].is_null() && list.is_empty() {
        return Err(SimRefusal::bad("[] is too short - 'tools'").at("tools"));
    }
    if list.len() > TOOLS_MAX {
        return Err(SimRefusal::bad(format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_MAX}, but got an array with length {} instead.",
            list.len()
        ))
        .at("tools"));
    }
    let named = list.iter().enumerate().map(|(at, tool)| {
        if tool["type"] != "function" {
            return Err(SimRefusal::bad(format!(
                "Invalid value: {}. Supported values are: 'function' and 'custom'.",
                tool["type"]
            ))
            .at(format!("tools[{at}].type")));
        }
        tool_name(at, &tool["function"])
    });
    named.collect()
}

fn tool_name(at: usize, function: &Value) -> ReadResult<String> {
    let missing = || {
        SimRefusal::bad(format!(
            "Missing required parameter: 'tools[{at}].function.name'."
        ))
    };
    let name = rules::text(function, "name", missing)?;
    if !is_name(name, NAME_MAX) {
        return Err(SimRefusal::bad(format!(
            "Invalid 'tools[{at}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        ))
        .at(format!("tools[{at}].function.name")));
    }
    let parameters = &function["parameters"];
    let fits = parameters.is_null() || parameters["type"] == "object";
    if !fits {
        return Err(SimRefusal::bad(format!(
            "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
            parameters["type"]
        ))
        .at(format!("tools[{at}].function.parameters")));
    }
    Ok(name.to_owned())
}

fn check_choice(flavour: Flavour, body: &Value, tools: &[String]) -> ReadResult<()> {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    if tools.is_empty() {
        return Err(
            SimRefusal::bad("'tool_choice' is only allowed when 'tools' are specified.")
                .at("tool_choice"),
        );
    }
    let known = match choice {
        Value::String(word) => {
            ["auto", "none", "required"].contains(&word.as_str())
                || (flavour == Flavour::Mistral && word == "any")
        }
        Value::Object(_) if choice["type"] == "function" => {
            let name = choice["function"]["name"].as_str().unwrap_or_default();
            if !tools.iter().any(|tool| tool == name) {
                return Err(SimRefusal::bad(format!(
                    "Tool choice '{name}' not found in 'tools' parameter."
                ))
                .at("tool_choice"));
            }
            true
        }
        _ => false,
    };
    let refusal =
        || SimRefusal::bad(format!("Invalid value for 'tool_choice': {choice}.")).at("tool_choice");
    known.then_some(()).ok_or_else(refusal)
}

fn schema(body: &Value) -> ReadResult<Option<Value>> {
    let format = &body["response_format"];
    match format["type"].as_str() {
        None if format.is_null() => Ok(None),
        Some("text") => Ok(None),
        Some("json_object") => {
            let said = body["messages"].to_string().to_lowercase();
            if !said.contains("json") {
                return Err(SimRefusal::bad(
                    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
                )
                .at("messages"));
            }
            Ok(Some(serde_json::json!({ "type": "object" })))
        }
        Some("json_schema") => {
            let named = &format["json_schema"];
            let name = named["name"].as_str().unwrap_or_default();
            if !is_name(name, NAME_MAX) {
                return Err(SimRefusal::bad(
                    "Missing required parameter: 'response_format.json_schema.name'.",
                ));
            }
            if !named["schema"].is_object() {
                return Err(SimRefusal::bad(
                    "Missing required parameter: 'response_format.json_schema.schema'.",
                ));
            }
            if named["strict"] == true {
                check_strict(name, &named["schema"])?;
            }
            Ok(Some(named["schema"].clone()))
        }
        _ => Err(SimRefusal::bad(format!(
            "Invalid value: {}. Supported values are: 'json_object', 'json_schema', and 'text'.",
            format["type"]
        ))
        .at("response_format.type")),
    }
}

/// A strict schema closes every object and requires every property of it.
pub(crate) fn check_strict(name: &str, schema: &Value) -> ReadResult<()> {
    if schema["type"] == "object" {
        let wrong = |why: &str| {
            Err(SimRefusal::bad(format!(
                "Invalid schema for response_format '{name}': {why}"
            ))
            .at("response_format"))
        };
        if schema["additionalProperties"] != false {
            return wrong("'additionalProperties' is required to be supplied and to be false.");
        }
        let required = schema["required"].as_array().map_or(0, Vec::len);
        let properties = rules::fields(&schema["properties"]).map_or(0, serde_json::Map::len);
        if required != properties {
            return wrong(
                "'required' is required to be supplied and to be an array including every key in properties.",
            );
        }
        for property in rules::fields(&schema["properties"]).into_iter().flatten() {
            check_strict(name, property.1)?;
        }
    }
    if schema["items"].is_object() {
        check_strict(name, &schema["items"])?;
    }
    Ok(())
}
