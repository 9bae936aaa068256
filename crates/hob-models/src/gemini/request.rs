//! Builds requests of `streamGenerateContent`. Pure.

use crate::dialect::RequestInput;
use crate::history::{self, ConversationTurn, NamedToolResult};
use crate::reasoning::{self, GEMINI};
use hob_wire::content::ContentPart;
use hob_wire::rooms::agent::{ThinkingLevel, ToolChoice};
use serde_json::{Map, Value, json};

/// The placeholder the provider accepts for a call of another provider, which has no signature.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn body(ask: &RequestInput<'_>) -> Value {
    let mut body = Map::new();
    if !ask.system.is_empty() {
        let parts: Vec<Value> = ask
            .system
            .iter()
            .map(|text| json!({ "text": text }))
            .collect();
        body.insert("systemInstruction".into(), json!({ "parts": parts }));
    }
    add_tools(ask, &mut body);
    body.insert("contents".into(), contents(ask));
    let config = generation_config(ask);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    Value::Object(body)
}

fn add_tools(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    let tools = ask.tools(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": tool.parameters,
        })
    });
    let Some(tools) = tools else {
        return;
    };
    body.insert("tools".into(), json!([{ "functionDeclarations": tools }]));
    let config = match &ask.prompt.tool_choice {
        None => return,
        Some(ToolChoice::Auto) => json!({ "mode": "AUTO" }),
        Some(ToolChoice::None) => json!({ "mode": "NONE" }),
        Some(ToolChoice::Required) => json!({ "mode": "ANY" }),
        Some(ToolChoice::Named(name)) => {
            json!({ "mode": "ANY", "allowedFunctionNames": [name] })
        }
    };
    body.insert(
        "toolConfig".into(),
        json!({ "functionCallingConfig": config }),
    );
}

fn generation_config(ask: &RequestInput<'_>) -> Map<String, Value> {
    let options = &ask.prompt.options;
    let mut config = Map::new();
    if let Some(temperature) = options.temperature {
        config.insert("temperature".into(), json!(temperature));
    }
    if let Some(top_p) = options.top_p {
        config.insert("topP".into(), json!(top_p));
    }
    if let Some(tokens) = options.max_output_tokens {
        config.insert("maxOutputTokens".into(), json!(tokens));
    }
    if !options.stop.is_empty() {
        config.insert("stopSequences".into(), json!(options.stop));
    }
    if let Some(schema) = &ask.prompt.schema {
        config.insert("responseMimeType".into(), json!("application/json"));
        config.insert("responseJsonSchema".into(), schema.clone());
    }
    if let Some(thinking) = thinking(&ask.prompt.model, options.thinking) {
        config.insert("thinkingConfig".into(), thinking);
    }
    config
}

/// The thinking config; `None` for models without thoughts, which reject it.
fn thinking(model: &str, wanted: Option<ThinkingLevel>) -> Option<Value> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let mut config = json!({ "includeThoughts": true });
    if name.starts_with("gemini-2.5") {
        // The pro model cannot stop thinking; 128 is the least that it accepts.
        let least = if name.contains("pro") { 128 } else { 0 };
        let budget = match wanted {
            None => return Some(config),
            Some(ThinkingLevel::Off) => least,
            Some(ThinkingLevel::Low) => 2_048,
            Some(ThinkingLevel::Medium) => 8_192,
            Some(ThinkingLevel::High) => 24_576,
        };
        config["thinkingBudget"] = json!(budget);
        if budget == 0 {
            config["includeThoughts"] = json!(false);
        }
        return Some(config);
    }
    if !is_gemini_3_or_later(name) {
        return None;
    }
    let level = match wanted {
        None => return Some(config),
        Some(ThinkingLevel::Off) if name.contains("flash") => "minimal",
        Some(ThinkingLevel::Off | ThinkingLevel::Low) => "low",
        Some(ThinkingLevel::Medium) => "medium",
        Some(ThinkingLevel::High) => "high",
    };
    config["thinkingLevel"] = json!(level);
    Some(config)
}

/// True for generation 3 and later, which require signatures.
fn is_gemini_3_or_later(name: &str) -> bool {
    let digits = name.strip_prefix("gemini-").unwrap_or_default();
    let digits = digits.split(['.', '-']).next().unwrap_or_default();
    digits.parse::<u32>().is_ok_and(|major| major >= 3)
}

fn contents(ask: &RequestInput<'_>) -> Value {
    let name = ask.prompt.model.rsplit('/').next().unwrap_or_default();
    let signed = is_gemini_3_or_later(name);
    let mut contents = Vec::new();
    for turn in ask.turns {
        match turn {
            ConversationTurn::User(parts) => {
                let parts: Vec<Value> = parts.iter().filter_map(user_part).collect();
                contents.push(json!({ "role": "user", "parts": parts }));
            }
            ConversationTurn::Assistant(parts) => {
                contents.push(json!({ "role": "model", "parts": assistant_parts(parts, signed) }));
            }
            ConversationTurn::Tools(answers) => {
                let results: Vec<Value> = answers.iter().map(result).collect();
                contents.push(json!({ "role": "user", "parts": results }));
                // A function response is sent as text, so images follow as a message of the user.
                let images: Vec<Value> = answers.iter().flat_map(images_of).collect();
                if !images.is_empty() {
                    contents.push(json!({ "role": "user", "parts": images }));
                }
            }
        }
    }
    Value::Array(contents)
}

fn user_part(part: &ContentPart) -> Option<Value> {
    match part {
        ContentPart::Text { text } => Some(json!({ "text": text })),
        ContentPart::Image { mime_type, data } => Some(inline((mime_type, data))),
        _ => None,
    }
}

fn inline((mime_type, data): (&str, &str)) -> Value {
    json!({ "inlineData": { "mimeType": mime_type, "data": data } })
}

/// Converts the parts of an answer, each with the signature stored before it.
fn assistant_parts(parts: &[ContentPart], signed: bool) -> Vec<Value> {
    let mut said = Vec::new();
    let mut signature: Option<&str> = None;
    let mut called = false;
    for part in parts {
        let mut value = match part {
            ContentPart::Text { text } => json!({ "text": text }),
            ContentPart::ToolCall(call) => {
                // The provider checks the signature of the first call of a step only.
                if signed && !called && signature.is_none() {
                    signature = Some(NO_SIGNATURE);
                }
                called = true;
                let args = history::object_args(call);
                json!({ "functionCall": { "id": call.id, "name": call.name, "args": args } })
            }
            other => {
                // Thought texts are only summaries, so just the signature is sent.
                signature = reasoning::own_signature(other, GEMINI).or(signature);
                continue;
            }
        };
        if let Some(signature) = signature.take() {
            value["thoughtSignature"] = json!(signature);
        }
        said.push(value);
    }
    if let Some(signature) = signature {
        said.push(json!({ "text": "", "thoughtSignature": signature }));
    }
    said
}

fn result(answer: &NamedToolResult) -> Value {
    let key = if answer.is_error { "error" } else { "result" };
    json!({
        "functionResponse": {
            "id": answer.id,
            "name": answer.name,
            "response": { key: answer.text() },
        },
    })
}

fn images_of(answer: &NamedToolResult) -> Vec<Value> {
    let mut parts: Vec<Value> = answer.images().map(inline).collect();
    if !parts.is_empty() {
        let about = format!("The images of the result of {}:", answer.name);
        parts.insert(0, json!({ "text": about }));
    }
    parts
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
