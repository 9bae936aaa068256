//! A messages request, refused where Anthropic refuses it.

use super::blocks;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{Dialect, Flavour, SimMessage, SimRequest};
use crate::rules::{self, add_text, in_range, is_count, is_name};
use hob_wire::content::Role;
use serde_json::Value;

/// Bytes of a tool's name.
const NAME_MAX: usize = 128;
/// Places a request may mark for the provider's cache.
const CACHE_MARKS_MAX: usize = 4;
/// Thinking of fewer tokens is refused.
const THINKING_TOKENS_MIN: u64 = 1_024;
/// Every field a request may have.
const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "context_management",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "output_format",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

pub(crate) fn read(body: Value) -> ReadResult<SimRequest> {
    if let Some(name) = rules::unknown(&body, FIELDS) {
        return Err(SimRefusal::bad(format!(
            "{name}: Extra inputs are not permitted"
        )));
    }
    let required = |field: &str| SimRefusal::bad(format!("{field}: Field required"));
    let model = rules::text(&body, "model", || required("model"))?.to_owned();
    if body["max_tokens"].is_null() {
        return Err(required("max_tokens"));
    }
    if !is_count(&body["max_tokens"]) {
        return Err(SimRefusal::bad(
            "max_tokens: Input should be greater than or equal to 1",
        ));
    }
    check_sampling(&body)?;
    let tools = tools(&body)?;
    check_choice(&body, &tools)?;
    check_cache_marks(&body)?;
    let system = system(&body)?;
    let messages = messages(&body)?;
    let stream = body["stream"] == true;
    let schema = [&body["output_config"]["format"], &body["output_format"]]
        .into_iter()
        .find(|format| format["type"] == "json_schema")
        .map(|format| format["schema"].clone());
    Ok(SimRequest {
        dialect: Dialect::Anthropic,
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

fn check_sampling(body: &Value) -> ReadResult<()> {
    for field in ["temperature", "top_p"] {
        if !in_range(&body[field], 0.0, 1.0) {
            return Err(SimRefusal::bad(format!("{field}: range: 0..1")));
        }
    }
    if let Some(sequences) = body["stop_sequences"].as_array()
        && sequences
            .iter()
            .any(|one| one.as_str().is_none_or(|one| one.trim().is_empty()))
    {
        return Err(SimRefusal::bad(
            "stop_sequences: each stop sequence must contain non-whitespace",
        ));
    }
    let thinking = &body["thinking"];
    match thinking["type"].as_str() {
        None if thinking.is_null() => Ok(()),
        Some("disabled" | "adaptive") => Ok(()),
        Some("enabled") => check_thinking(body, &thinking["budget_tokens"]),
        _ => Err(SimRefusal::bad(
            "thinking: Input tag does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
        )),
    }
}

fn check_thinking(body: &Value, budget: &Value) -> ReadResult<()> {
    let Some(budget) = budget.as_u64() else {
        return Err(SimRefusal::bad(
            "thinking.enabled.budget_tokens: Field required",
        ));
    };
    if budget < THINKING_TOKENS_MIN {
        return Err(SimRefusal::bad(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ));
    }
    if body["max_tokens"].as_u64().is_some_and(|max| max <= budget) {
        return Err(SimRefusal::bad(
            "`max_tokens` must be greater than `thinking.budget_tokens`.",
        ));
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err(SimRefusal::bad(
            "Thinking may not be enabled when tool_choice forces tool use.",
        ));
    }
    check_begins_with_thoughts(body)?;
    let temperature = &body["temperature"];
    if !temperature.is_null() && temperature.as_f64() != Some(1.0) {
        return Err(SimRefusal::bad(
            "`temperature` may only be set to 1 when thinking is enabled.",
        ));
    }
    Ok(())
}

/// With a budget of thought, the answer that goes on after results began with thoughts.
fn check_begins_with_thoughts(body: &Value) -> ReadResult<()> {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let [.., (at, spoken), (_, results)] = &messages.iter().enumerate().collect::<Vec<_>>()[..]
    else {
        return Ok(());
    };
    let first = |message: &Value| message["content"][0]["type"].as_str().map(str::to_owned);
    let goes_on = spoken["role"] == "assistant" && first(results).as_deref() == Some("tool_result");
    let found = first(spoken).unwrap_or_default();
    if !goes_on || found == "thinking" || found == "redacted_thinking" {
        return Ok(());
    }
    Err(SimRefusal::bad(format!(
        "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
    )))
}

fn tools(body: &Value) -> ReadResult<Vec<String>> {
    let list = rules::list(body, "tools", || {
        SimRefusal::bad("tools: Input should be a valid list")
    })?;
    let mut names: Vec<String> = Vec::new();
    for (at, tool) in list.iter().enumerate() {
        let required =
            |field: &str| SimRefusal::bad(format!("tools.{at}.custom.{field}: Field required"));
        let name = rules::text(tool, "name", || required("name"))?;
        if !is_name(name, NAME_MAX) {
            return Err(SimRefusal::bad(format!(
                "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )));
        }
        let schema = &tool["input_schema"];
        if schema.is_null() {
            return Err(required("input_schema"));
        }
        match schema["type"].as_str() {
            None => return Err(required("input_schema.type")),
            Some("object") => {}
            Some(_) => {
                return Err(SimRefusal::bad(format!(
                    "tools.{at}.custom.input_schema.type: Input should be 'object'"
                )));
            }
        }
        if names.iter().any(|known| known == name) {
            return Err(SimRefusal::bad("tools: Tool names must be unique."));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn check_choice(body: &Value, tools: &[String]) -> ReadResult<()> {
    let choice = &body["tool_choice"];
    match choice["type"].as_str() {
        None if choice.is_null() => Ok(()),
        Some(_) if tools.is_empty() => Err(SimRefusal::bad(
            "tool_choice may only be specified while providing tools.",
        )),
        Some("auto" | "any" | "none") => Ok(()),
        Some("tool") => {
            let name = choice["name"].as_str().unwrap_or_default();
            let known = tools.iter().any(|tool| tool == name);
            known.then_some(()).ok_or_else(|| {
                SimRefusal::bad(format!("Tool '{name}' not found in provided tools"))
            })
        }
        _ => Err(SimRefusal::bad(
            "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'",
        )),
    }
}

fn check_cache_marks(body: &Value) -> ReadResult<()> {
    let parts = [&body["system"], &body["tools"], &body["messages"]];
    let found: usize = parts.into_iter().map(cache_marks).sum();
    if found > CACHE_MARKS_MAX {
        return Err(SimRefusal::bad(format!(
            "A maximum of {CACHE_MARKS_MAX} blocks with cache_control may be provided. Found {found}."
        )));
    }
    Ok(())
}

fn cache_marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(cache_marks).sum(),
        Value::Object(fields) => {
            let own = fields.get("cache_control").is_some_and(Value::is_object);
            let inner = fields.get("content").map_or(0, cache_marks);
            usize::from(own) + inner
        }
        _ => 0,
    }
}

fn system(body: &Value) -> ReadResult<String> {
    let mut system = String::new();
    match &body["system"] {
        Value::Null => {}
        Value::String(text) => text.clone_into(&mut system),
        Value::Array(blocks) => {
            for (at, block) in blocks.iter().enumerate() {
                let text = rules::text(block, "text", || {
                    SimRefusal::bad(format!("system.{at}.text: Field required"))
                })?;
                if text.is_empty() {
                    return Err(SimRefusal::bad(
                        "system: text content blocks must be non-empty",
                    ));
                }
                add_text(&mut system, text);
            }
        }
        _ => {
            return Err(SimRefusal::bad(
                "system: Input should be a valid string or list",
            ));
        }
    }
    Ok(system)
}

fn messages(body: &Value) -> ReadResult<Vec<SimMessage>> {
    let list = body["messages"].as_array();
    let list = list.ok_or_else(|| SimRefusal::bad("messages: Field required"))?;
    if list.is_empty() {
        return Err(SimRefusal::bad(
            "messages: at least one message is required",
        ));
    }
    let mut said: Vec<SimMessage> = Vec::new();
    let mut spoken: Vec<blocks::AnthropicTurn> = Vec::new();
    for (at, message) in list.iter().enumerate() {
        let role = match message["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => {
                return Err(SimRefusal::bad(format!(
                    "messages.{at}.role: Input should be 'user' or 'assistant'"
                )));
            }
        };
        if at == 0 && role != Role::User {
            return Err(SimRefusal::bad(
                "messages: first message must use the \"user\" role",
            ));
        }
        let is_last = at + 1 == list.len();
        let (one, turn) = blocks::read(at, role, &message["content"], is_last)?;
        said.push(one.settled());
        // Neighbours of one role are one turn to the provider.
        match spoken.last_mut() {
            Some(former) if former.role == role => former.join(turn),
            _ => spoken.push(turn),
        }
    }
    blocks::check_pairs(&spoken)?;
    Ok(said)
}
