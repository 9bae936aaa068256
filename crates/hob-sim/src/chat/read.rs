//! A chat completions request, refused where OpenAI refuses it.

use crate::asked::{Asked, Called, Dialect, Resulted, Said};
use crate::refusal::{Checked, Refusal};
use crate::rules::{self, add_text, data_url, in_range, is_count, is_name};
use hob_wire::content::Role;
use serde_json::Value;

/// Bytes of a tool's name.
const NAME_MAX: usize = 64;
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

pub(crate) fn read(body: Value) -> Checked<Asked> {
    if let Some(name) = rules::unknown(&body, FIELDS) {
        return Err(Refusal::bad(format!(
            "Unrecognized request argument supplied: {name}"
        )));
    }
    let model = rules::text(&body, "model", || {
        Refusal::bad("you must provide a model parameter")
    })?;
    let model = model.to_owned();
    check_numbers(&body)?;
    let tools = tools(&body)?;
    check_choice(&body, &tools)?;
    let schema = schema(&body)?;
    let (stream, wants_usage) = streaming(&body)?;
    let (system, messages) = messages(&body)?;
    Ok(Asked {
        dialect: Dialect::OpenaiChat,
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

fn check_numbers(body: &Value) -> Checked<()> {
    for (field, low, high) in [
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("presence_penalty", -2.0, 2.0),
        ("frequency_penalty", -2.0, 2.0),
        ("n", 1.0, 1.0),
    ] {
        if !in_range(&body[field], low, high) {
            let given = &body[field];
            return Err(Refusal::bad(format!(
                "Invalid '{field}': expected a value between {low} and {high}, but got {given} instead."
            ))
            .at(field));
        }
    }
    for field in ["max_tokens", "max_completion_tokens"] {
        if !is_count(&body[field]) {
            return Err(Refusal::bad(format!(
                "Invalid '{field}': integer below minimum value. Expected a value >= 1, but got {} instead.",
                body[field]
            ))
            .at(field));
        }
    }
    if !body["max_tokens"].is_null() && !body["max_completion_tokens"].is_null() {
        return Err(Refusal::bad(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        ));
    }
    Ok(())
}

fn streaming(body: &Value) -> Checked<(bool, bool)> {
    let stream = match &body["stream"] {
        Value::Null => false,
        Value::Bool(stream) => *stream,
        other => {
            return Err(Refusal::bad(format!(
                "Invalid type for 'stream': expected a boolean, but got {other} instead."
            ))
            .at("stream"));
        }
    };
    let options = &body["stream_options"];
    if !options.is_null() && !stream {
        return Err(Refusal::bad(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .at("stream_options"));
    }
    if let Some(name) = rules::unknown(options, &["include_usage", "include_obfuscation"]) {
        return Err(Refusal::bad(format!(
            "Unknown parameter: 'stream_options.{name}'."
        )));
    }
    Ok((stream, options["include_usage"] == true))
}

fn tools(body: &Value) -> Checked<Vec<String>> {
    let list = rules::list(body, "tools", || {
        Refusal::bad("Invalid type for 'tools': expected an array of objects.").at("tools")
    })?;
    if !body["tools"].is_null() && list.is_empty() {
        return Err(Refusal::bad("[] is too short - 'tools'").at("tools"));
    }
    if list.len() > TOOLS_MAX {
        return Err(Refusal::bad(format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_MAX}, but got an array with length {} instead.",
            list.len()
        ))
        .at("tools"));
    }
    let named = list.iter().enumerate().map(|(at, tool)| {
        if tool["type"] != "function" {
            return Err(Refusal::bad(format!(
                "Invalid value: {}. Supported values are: 'function' and 'custom'.",
                tool["type"]
            ))
            .at(format!("tools[{at}].type")));
        }
        tool_name(at, &tool["function"])
    });
    named.collect()
}

fn tool_name(at: usize, function: &Value) -> Checked<String> {
    let missing = || {
        Refusal::bad(format!(
            "Missing required parameter: 'tools[{at}].function.name'."
        ))
    };
    let name = rules::text(function, "name", missing)?;
    if !is_name(name, NAME_MAX) {
        return Err(Refusal::bad(format!(
            "Invalid 'tools[{at}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        ))
        .at(format!("tools[{at}].function.name")));
    }
    let parameters = &function["parameters"];
    let fits = parameters.is_null() || parameters["type"] == "object";
    if !fits {
        return Err(Refusal::bad(format!(
            "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
            parameters["type"]
        ))
        .at(format!("tools[{at}].function.parameters")));
    }
    Ok(name.to_owned())
}

fn check_choice(body: &Value, tools: &[String]) -> Checked<()> {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    if tools.is_empty() {
        return Err(
            Refusal::bad("'tool_choice' is only allowed when 'tools' are specified.")
                .at("tool_choice"),
        );
    }
    let known = match choice {
        Value::String(word) => ["auto", "none", "required"].contains(&word.as_str()),
        Value::Object(_) if choice["type"] == "function" => {
            let name = choice["function"]["name"].as_str().unwrap_or_default();
            if !tools.iter().any(|tool| tool == name) {
                return Err(Refusal::bad(format!(
                    "Tool choice '{name}' not found in 'tools' parameter."
                ))
                .at("tool_choice"));
            }
            true
        }
        _ => false,
    };
    let refusal =
        || Refusal::bad(format!("Invalid value for 'tool_choice': {choice}.")).at("tool_choice");
    known.then_some(()).ok_or_else(refusal)
}

fn schema(body: &Value) -> Checked<Option<Value>> {
    let format = &body["response_format"];
    match format["type"].as_str() {
        None if format.is_null() => Ok(None),
        Some("text") => Ok(None),
        Some("json_object") => {
            let said = body["messages"].to_string().to_lowercase();
            if !said.contains("json") {
                return Err(Refusal::bad(
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
                return Err(Refusal::bad(
                    "Missing required parameter: 'response_format.json_schema.name'.",
                ));
            }
            if !named["schema"].is_object() {
                return Err(Refusal::bad(
                    "Missing required parameter: 'response_format.json_schema.schema'.",
                ));
            }
            if named["strict"] == true {
                check_strict(name, &named["schema"])?;
            }
            Ok(Some(named["schema"].clone()))
        }
        _ => Err(Refusal::bad(format!(
            "Invalid value: {}. Supported values are: 'json_object', 'json_schema', and 'text'.",
            format["type"]
        ))
        .at("response_format.type")),
    }
}

/// A strict schema closes every object and requires every property of it.
pub(crate) fn check_strict(name: &str, schema: &Value) -> Checked<()> {
    if schema["type"] == "object" {
        let wrong = |why: &str| {
            Err(Refusal::bad(format!(
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

fn messages(body: &Value) -> Checked<(String, Vec<Said>)> {
    let Some(list) = body["messages"].as_array() else {
        return Err(Refusal::bad("Missing required parameter: 'messages'.").at("messages"));
    };
    if list.is_empty() {
        return Err(Refusal::bad(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        )
        .at("messages"));
    }
    let mut system = String::new();
    let mut said: Vec<Said> = Vec::new();
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
                let mut one = Said::by(Role::System);
                content(at, message, &mut one)?;
                add_text(&mut system, &one.text);
            }
            "user" => {
                let mut one = Said::by(Role::User);
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
                return Err(Refusal::bad(format!(
                    "Invalid value: '{other}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
                ))
                .at(format!("messages[{at}].role")));
            }
        }
    }
    check_answered(list.len(), &open)?;
    Ok((system, said))
}

fn check_answered(at: usize, open: &[String]) -> Checked<()> {
    if open.is_empty() {
        return Ok(());
    }
    let ids = open.join(", ");
    Err(Refusal::bad(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
    ))
    .at(format!("messages.[{at}].role")))
}

fn assistant(at: usize, message: &Value) -> Checked<Said> {
    let mut said = Said::by(Role::Assistant);
    let calls = rules::list(message, "tool_calls", || {
        Refusal::bad(format!("Invalid type for 'messages[{at}].tool_calls'."))
    })?;
    if message["tool_calls"].is_array() && calls.is_empty() {
        return Err(Refusal::bad(format!(
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
            Refusal::bad(format!("Missing required parameter: '{path}.{field}'."))
                .at(format!("{path}.{field}"))
        };
        let id = rules::text(call, "id", || missing("id"))?;
        if call["type"] != "function" {
            return Err(missing("type"));
        }
        let function = &call["function"];
        let name = rules::text(function, "name", || missing("function.name"))?;
        if !is_name(name, NAME_MAX) {
            return Err(Refusal::bad(format!(
                "Invalid '{path}.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )));
        }
        let args = rules::text(function, "arguments", || missing("function.arguments"))?;
        if said.tool_calls.iter().any(|known| known.id == id) {
            return Err(Refusal::bad(format!(
                "Duplicate tool_call id '{id}' in '{path}'."
            )));
        }
        said.tool_calls.push(Called {
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
) -> Checked<Said> {
    let missing = || {
        Refusal::bad(format!(
            "Missing required parameter: 'messages[{at}].tool_call_id'."
        ))
        .at(format!("messages[{at}].tool_call_id"))
    };
    let id = rules::text(message, "tool_call_id", missing)?;
    if open.is_empty() && answered.is_empty() {
        return Err(Refusal::bad(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        )
        .at(format!("messages.[{at}].role")));
    }
    let Some(place) = open.iter().position(|known| known == id) else {
        return Err(Refusal::bad(format!(
            "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
        ))
        .at(format!("messages.[{at}].tool_call_id")));
    };
    answered.push(open.remove(place));
    let mut one = Said::by(Role::Tool);
    content(at, message, &mut one)?;
    one.tool_results.push(Resulted {
        id: id.to_owned(),
        text: std::mem::take(&mut one.text),
        is_error: false,
    });
    Ok(one)
}

/// Reads a message's content: a text, or parts.
fn content(at: usize, message: &Value, said: &mut Said) -> Checked<()> {
    let parts = match &message["content"] {
        Value::String(text) => {
            text.clone_into(&mut said.text);
            return Ok(());
        }
        Value::Array(parts) => parts,
        other => {
            let got = if other.is_null() { "null" } else { "an object" };
            return Err(Refusal::bad(format!(
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
                    || Refusal::bad(format!("Missing required parameter: '{path}.text'."));
                said.text.push_str(rules::text(part, "text", missing)?);
            }
            (Some("image_url"), Role::User) => {
                let url = part["image_url"]["url"].as_str().unwrap_or_default();
                said.images.push(picture(url, &path)?);
            }
            (kind, _) => {
                return Err(Refusal::bad(format!(
                    "Invalid content type {kind:?} for a message of this role."
                ))
                .at(format!("{path}.type")));
            }
        }
    }
    Ok(())
}

/// The media type of a picture given by URL.
pub(crate) fn picture(url: &str, path: &str) -> Checked<String> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok("image/*".to_owned());
    }
    let refusal = || {
        Refusal::bad(format!(
            "Invalid '{path}.image_url': expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without one."
        ))
    };
    let (mime, _) = data_url(url).ok_or_else(refusal)?;
    Ok(mime.to_owned())
}
