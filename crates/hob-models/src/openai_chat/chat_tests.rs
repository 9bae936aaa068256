//! Requests and lists of chat completions.

use super::{OllamaDialect, OpenaiChatDialect, for_a_million};
use crate::dialect::ProviderDialect;
use crate::prompt::Prompt;
use crate::providers::{ProviderQuirks, row};
use crate::reasoning::{DETAILS, tag_signature};
use crate::recorded::{call, rich_prompt};
use hob_wire::rooms::agent::{SamplingParams, ThinkingLevel, ToolChoice};
use serde_json::{Value, json};

fn body(prompt: &Prompt, quirks: &ProviderQuirks) -> Value {
    call(&OpenaiChatDialect, prompt, quirks).body
}

fn quirks(name: &str) -> &'static ProviderQuirks {
    &row(name).expect("is a row").quirks
}

#[test]
fn a_rich_prompt_becomes_a_request() {
    let body = body(&rich_prompt("m", "anthropic:x"), &ProviderQuirks::COMMON);
    let messages = body["messages"].as_array().expect("has messages");
    let roles: Vec<&str> = messages
        .iter()
        .filter_map(|one| one["role"].as_str())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "tool", "user"]
    );
    assert_eq!(messages[0]["content"], "You are hob.\n\nBe brief.");
    assert_eq!(
        messages[1]["content"][1],
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } })
    );
    assert_eq!(messages[2]["content"], "I look.");
    assert_eq!(
        messages[2]["tool_calls"][0]["function"]["arguments"],
        r#"{"path":"a"}"#
    );
    assert_eq!(
        messages[2]["tool_calls"][1]["function"]["arguments"],
        r#"{"unreadable":"{\"path\":"}"#
    );
    assert_eq!(
        messages[3],
        json!({ "role": "tool", "tool_call_id": "call_1", "content": "A" })
    );
    assert_eq!(messages[5]["content"][1]["type"], "image_url");
    assert_eq!(body["tools"][0]["function"]["name"], "read");
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert!(!body.to_string().contains("anthropic:x"));
    assert!(!body.to_string().contains("Let me look"));
}

#[test]
fn options_go_by_each_providers_names() {
    let prompt = Prompt {
        model: "gpt-5.4".into(),
        options: SamplingParams {
            temperature: Some(0.5),
            top_p: Some(0.9),
            max_output_tokens: Some(100),
            stop: vec!["END".into()],
            thinking: Some(ThinkingLevel::High),
        },
        ..rich_prompt("gpt-5.4", "x")
    };
    let openai = body(&prompt, quirks("openai"));
    assert_eq!(openai["max_completion_tokens"], 100);
    assert_eq!(openai["reasoning_effort"], "high");
    assert!(openai.get("temperature").is_none() && openai.get("stop").is_none());
    let common = body(&prompt, &ProviderQuirks::COMMON);
    assert_eq!(common["max_tokens"], 100);
    assert_eq!(common["temperature"], 0.5);
    assert_eq!(common["stop"], json!(["END"]));
    assert!(common.get("reasoning_effort").is_none());
    assert_eq!(
        body(&prompt, quirks("openrouter"))["reasoning"],
        json!({ "effort": "high" })
    );
    assert_eq!(body(&prompt, quirks("groq"))["max_completion_tokens"], 100);
}

#[test]
fn mistral_wants_nine_letters_and_says_any() {
    let prompt = Prompt {
        tool_choice: Some(ToolChoice::Required),
        ..rich_prompt("m", "x")
    };
    let body = body(&prompt, quirks("mistral"));
    let call_id = body["messages"][2]["tool_calls"][0]["id"]
        .as_str()
        .expect("has an id");
    assert!(call_id.len() == 9 && call_id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_eq!(body["messages"][3]["tool_call_id"], call_id);
    assert_eq!(body["tool_choice"], "any");
    assert!(body.get("stream_options").is_none());
}

#[test]
fn deepseek_gets_its_thoughts_back_and_the_schema_in_words() {
    let body = body(&rich_prompt("deepseek-reasoner", "x"), quirks("deepseek"));
    assert_eq!(body["messages"][2]["reasoning_content"], "Let me look.");
    assert_eq!(body["response_format"], json!({ "type": "json_object" }));
    let system = body["messages"][0]["content"].as_str().expect("is text");
    assert!(system.contains("JSON Schema") && system.contains("\"answer\""));
}

#[test]
fn openrouter_gets_its_details_back() {
    let details = tag_signature(DETAILS, r#"[{"type":"reasoning.text","signature":"s"}]"#);
    let body = body(&rich_prompt("m", &details), quirks("openrouter"));
    let sent = &body["messages"][2]["reasoning_details"];
    assert_eq!(
        *sent,
        json!([{ "type": "reasoning.text", "signature": "s" }])
    );
}

#[test]
fn tool_choices() {
    let choice = |choice| {
        let prompt = Prompt {
            tool_choice: Some(choice),
            ..rich_prompt("m", "x")
        };
        body(&prompt, &ProviderQuirks::COMMON)["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto), "auto");
    assert_eq!(choice(ToolChoice::None), "none");
    assert_eq!(choice(ToolChoice::Required), "required");
    assert_eq!(
        choice(ToolChoice::Named("read".into())),
        json!({ "type": "function", "function": { "name": "read" } })
    );
}

#[test]
fn addresses_are_taken_as_people_write_them() {
    for (given, expected) in [
        ("http://host:8080", "http://host:8080/v1"),
        ("http://host:8080/v1/", "http://host:8080/v1"),
        ("https://host/openai/v1", "https://host/openai/v1"),
        ("https://host/v1/chat/completions", "https://host/v1"),
    ] {
        assert_eq!(OpenaiChatDialect.base_url(given), expected);
    }
    for given in [
        "http://h:11434",
        "http://h:11434/",
        "http://h:11434/v1",
        "http://h:11434/api",
    ] {
        assert_eq!(OllamaDialect.base_url(given), "http://h:11434/v1");
    }
}

#[test]
fn lists_of_many_servers_are_read() {
    let page = OpenaiChatDialect.parse_models(&json!({ "object": "list", "data": [
        { "id": "gpt-5.4", "object": "model", "owned_by": "openai" },
        { "id": "llama", "context_window": 131_072 },
        { "id": "x/y", "context_length": 200_000, "pricing": { "prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003" } },
        { "no": "id" },
    ] }));
    let models = page.expect("is read").models;
    assert_eq!(models.len(), 3);
    assert_eq!(models[1].context_tokens, Some(131_072));
    let price = models[2].price.expect("has a price");
    assert_eq!(
        (price.input, price.output, price.cached),
        (3_000_000, 15_000_000, Some(300_000))
    );
    assert!(
        OpenaiChatDialect
            .parse_models(&json!({ "error": "no" }))
            .is_none()
    );
    assert_eq!(for_a_million("-1"), None);
    assert_eq!(for_a_million("0"), Some(0));
}

#[test]
fn a_price_that_is_no_number_is_unknown() {
    assert_eq!(for_a_million("0.0000025"), Some(2_500_000));
    for odd in ["x", "1.12345678901é", "0.00000000000🦀", "-1", "1e5"] {
        assert_eq!(for_a_million(odd), None, "{odd}");
    }
}
