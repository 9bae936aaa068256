//! Requests of responses.

use super::super::OpenaiResponsesDialect;
use crate::dialect::ProviderDialect;
use crate::prompt::Prompt;
use crate::providers::ProviderQuirks;
use crate::recorded::{call, message, rich_prompt, text, thinking};
use hob_wire::content::Role;
use hob_wire::rooms::agent::{SamplingParams, ThinkingLevel, ToolChoice};
use serde_json::{Value, json};

const SEAL: &str =
    r#"openai:{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#;

fn body(prompt: &Prompt) -> Value {
    call(&OpenaiResponsesDialect, prompt, &ProviderQuirks::COMMON).body
}

#[test]
fn a_rich_prompt_becomes_a_request() {
    let prompt = Prompt {
        tool_choice: Some(ToolChoice::Named("read".into())),
        options: SamplingParams {
            temperature: Some(0.1),
            max_output_tokens: Some(50),
            thinking: Some(ThinkingLevel::Medium),
            ..SamplingParams::default()
        },
        ..rich_prompt("gpt-5.4", SEAL)
    };
    let body = body(&prompt);
    assert_eq!(body["instructions"], "You are hob.\n\nBe brief.");
    let input = body["input"].as_array().expect("has input");
    assert_eq!(
        input[0]["content"][1]["image_url"],
        "data:image/png;base64,iVBORw0KGgo="
    );
    let sealed: Value = serde_json::from_str(SEAL.trim_start_matches("openai:")).expect("is JSON");
    assert_eq!(input[1], sealed);
    assert_eq!(
        input[2]["content"][0],
        json!({ "type": "output_text", "text": "I look." })
    );
    assert_eq!(input[3]["arguments"], r#"{"path":"a"}"#);
    assert_eq!(input[5]["output"][1]["type"], "input_image");
    assert_eq!(input[6]["output"], "not JSON");
    assert_eq!(body["store"], false);
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(
        body["reasoning"],
        json!({ "summary": "auto", "effort": "medium" })
    );
    assert!(body.get("temperature").is_none());
    assert_eq!(body["max_output_tokens"], 50);
    assert_eq!(body["tools"][0]["strict"], false);
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "function", "name": "read" })
    );
    assert_eq!(body["text"]["format"]["strict"], true);
}

#[test]
fn a_model_that_does_not_reason_is_not_asked_to() {
    let prompt = Prompt {
        options: SamplingParams {
            temperature: Some(0.1),
            ..SamplingParams::default()
        },
        ..rich_prompt("gpt-4.1", "x")
    };
    let body = body(&prompt);
    assert!(body.get("include").is_none() && body.get("reasoning").is_none());
    assert_eq!(body["temperature"], 0.1);
}

#[test]
fn the_cache_key_stays_while_the_beginning_does() {
    let key = |prompt: &Prompt| body(prompt)["prompt_cache_key"].clone();
    let first = rich_prompt("gpt-5.4", "x");
    let mut later = first.clone();
    later.messages.push(message(Role::User, vec![text("more")]));
    assert_eq!(key(&first), key(&later));
    later.system[0] = "You are another.".into();
    assert_ne!(key(&first), key(&later));
}

#[test]
fn a_thought_that_leads_to_nothing_stays_away() {
    let prompt = Prompt {
        model: "gpt-5.4".into(),
        messages: vec![
            message(Role::User, vec![text("hi")]),
            message(Role::Assistant, vec![text("Yes"), thinking("", Some(SEAL))]),
        ],
        ..Prompt::default()
    };
    assert_eq!(body(&prompt)["input"].as_array().map(Vec::len), Some(2));
}

#[test]
fn addresses_are_taken_as_people_write_them() {
    for given in [
        "https://h",
        "https://h/v1",
        "https://h/v1/",
        "https://h/v1/responses",
    ] {
        assert_eq!(OpenaiResponsesDialect.base_url(given), "https://h/v1");
    }
}
