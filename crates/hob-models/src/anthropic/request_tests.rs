//! Requests of messages.

use super::super::AnthropicDialect;
use super::ClaudeGeneration;
use crate::prompt::Prompt;
use crate::providers::ProviderQuirks;
use crate::recorded::{call, rich_prompt};
use hob_wire::rooms::agent::{SamplingParams, ThinkingLevel, ToolChoice};
use serde_json::{Value, json};

fn body(prompt: &Prompt) -> Value {
    call(&AnthropicDialect, prompt, &ProviderQuirks::COMMON).body
}

#[test]
fn a_rich_prompt_becomes_a_request() {
    let body = body(&rich_prompt("claude-sonnet-4-5", "anthropic:EqQBCg=="));
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(
        body["system"][0],
        json!({ "type": "text", "text": "You are hob." })
    );
    assert_eq!(body["system"][1]["cache_control"], mark);
    assert_eq!(body["tools"][0]["cache_control"], mark);
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    let messages = body["messages"].as_array().expect("has messages");
    assert_eq!(messages.len(), 3);
    assert_eq!(
        messages[0]["content"][1]["source"]["media_type"],
        "image/png"
    );
    let spoken = &messages[1]["content"];
    assert_eq!(
        spoken[0],
        json!({ "type": "thinking", "thinking": "Let me look.", "signature": "EqQBCg==" })
    );
    assert_eq!(spoken[2]["input"], json!({ "path": "a" }));
    assert_eq!(spoken[3]["input"], json!({ "unreadable": "{\"path\":" }));
    let results = &messages[2]["content"];
    assert_eq!(results[0]["content"][1]["type"], "image");
    assert!(results[0].get("is_error").is_none());
    assert_eq!(results[1]["is_error"], true);
    assert_eq!(results[1]["cache_control"], mark);
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    assert_eq!(body.to_string().matches("cache_control").count(), 4);
    assert_eq!(body["max_tokens"], 32_000);
}

#[test]
fn thoughts_of_others_stay_away() {
    for signature in ["gemini:abc", "openai:{}", "details:[]", "abc"] {
        let body = body(&rich_prompt("claude-sonnet-4-5", signature)).to_string();
        assert!(
            !body.contains("Let me look") && !body.contains(signature),
            "{signature}"
        );
    }
    let redacted = body(&rich_prompt("claude-sonnet-4-5", "anthropic-redacted:XYZ"));
    let block = &redacted["messages"][1]["content"][0];
    assert_eq!(
        *block,
        json!({ "type": "redacted_thinking", "data": "XYZ" })
    );
}

fn thinking_of(model: &str, signature: &str, choice: Option<ToolChoice>) -> Value {
    let prompt = Prompt {
        tool_choice: choice,
        options: SamplingParams {
            thinking: Some(ThinkingLevel::High),
            temperature: Some(0.3),
            ..SamplingParams::default()
        },
        ..rich_prompt(model, signature)
    };
    body(&prompt)
}

#[test]
fn each_generation_is_asked_to_think_in_its_way() {
    let budget = thinking_of("claude-sonnet-4-5", "anthropic:x", None);
    assert_eq!(
        budget["thinking"],
        json!({ "type": "enabled", "budget_tokens": 16_000 })
    );
    assert!(budget.get("temperature").is_none());
    let adaptive = thinking_of("claude-opus-4-6", "anthropic:x", None);
    assert_eq!(adaptive["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(adaptive["output_config"]["effort"], "high");
    let newest = thinking_of("claude-opus-5-5", "anthropic:x", None);
    assert_eq!(
        newest["thinking"],
        json!({ "type": "adaptive", "display": "summarized" })
    );
    // What cannot think, is forced to a tool, or goes on with another's turn does not.
    for body in [
        thinking_of("claude-3-5-haiku-20241022", "anthropic:x", None),
        thinking_of(
            "claude-sonnet-4-5",
            "anthropic:x",
            Some(ToolChoice::Required),
        ),
        thinking_of("claude-sonnet-4-5", "gemini:x", None),
    ] {
        assert!(body.get("thinking").is_none());
        assert_eq!(body["temperature"], 0.3);
    }
}

#[test]
fn a_schema_the_provider_cannot_keep_is_said_in_words() {
    let prompt = Prompt {
        schema: Some(json!({
            "type": "object",
            "properties": { "n": { "type": "integer", "minimum": 1 } },
        })),
        ..rich_prompt("claude-sonnet-5", "x")
    };
    let body = body(&prompt);
    let sent = &body["output_config"]["format"]["schema"];
    assert_eq!(sent["additionalProperties"], false);
    assert!(sent["properties"]["n"].get("minimum").is_none());
    let words = body["system"][2]["text"].as_str().expect("is text");
    assert!(words.contains("\"minimum\":1"));
    let free = Prompt {
        schema: Some(json!({ "type": "object" })),
        ..prompt
    };
    let body = call(&AnthropicDialect, &free, &ProviderQuirks::COMMON).body;
    assert!(body.get("output_config").is_none());
    assert!(body["system"][2]["text"].as_str().is_some());
}

#[test]
fn generations_are_read_from_names() {
    for (name, expected) in [
        ("claude-opus-5-5", ClaudeGeneration(5, 5)),
        ("claude-sonnet-4-5-20250929", ClaudeGeneration(4, 5)),
        ("claude-3-7-sonnet-latest", ClaudeGeneration(3, 7)),
        ("claude-opus-4-20250514", ClaudeGeneration(4, 0)),
        ("claude-sonnet-5", ClaudeGeneration(5, 0)),
        ("sim-large", ClaudeGeneration::UNKNOWN),
        ("", ClaudeGeneration::UNKNOWN),
    ] {
        assert_eq!(ClaudeGeneration::of(name), expected, "{name}");
    }
}
