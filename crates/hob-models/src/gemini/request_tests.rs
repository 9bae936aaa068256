//! Requests of `streamGenerateContent`.

use super::super::GeminiDialect;
use super::{is_gemini_3_or_later, thinking};
use crate::prompt::Prompt;
use crate::providers::ProviderQuirks;
use crate::recorded::{call, message, rich_prompt, text, thinking as thought, tool_call};
use hob_wire::content::Role;
use hob_wire::rooms::agent::{SamplingParams, ThinkingLevel, ToolChoice};
use serde_json::{Value, json};

fn body(prompt: &Prompt) -> Value {
    call(&GeminiDialect, prompt, &ProviderQuirks::COMMON).body
}

#[test]
fn a_rich_prompt_becomes_a_request() {
    let prompt = Prompt {
        tool_choice: Some(ToolChoice::Named("read".into())),
        options: SamplingParams {
            temperature: Some(0.1),
            top_p: Some(0.8),
            max_output_tokens: Some(50),
            stop: vec!["END".into()],
            thinking: None,
        },
        ..rich_prompt("gemini-2.5-flash", "anthropic:x")
    };
    let body = body(&prompt);
    assert_eq!(body["systemInstruction"]["parts"][1]["text"], "Be brief.");
    let contents = body["contents"].as_array().expect("has contents");
    let roles: Vec<&str> = contents
        .iter()
        .filter_map(|one| one["role"].as_str())
        .collect();
    assert_eq!(roles, ["user", "model", "user", "user"]);
    assert_eq!(
        contents[0]["parts"][1]["inlineData"]["mimeType"],
        "image/png"
    );
    assert_eq!(contents[1]["parts"][0], json!({ "text": "I look." }));
    assert_eq!(
        contents[1]["parts"][1]["functionCall"]["args"],
        json!({ "path": "a" })
    );
    assert!(contents[1]["parts"][1].get("thoughtSignature").is_none());
    assert_eq!(
        contents[2]["parts"][0]["functionResponse"]["response"],
        json!({ "result": "A" })
    );
    assert_eq!(
        contents[2]["parts"][1]["functionResponse"]["response"],
        json!({ "error": "not JSON" })
    );
    assert!(contents[3]["parts"][1].get("inlineData").is_some());
    let declared = &body["tools"][0]["functionDeclarations"][0];
    assert_eq!(declared["parametersJsonSchema"]["type"], "object");
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"],
        json!({ "mode": "ANY", "allowedFunctionNames": ["read"] })
    );
    let config = &body["generationConfig"];
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(
        config["responseJsonSchema"],
        prompt.schema.expect("is there")
    );
    assert_eq!(config["maxOutputTokens"], 50);
    assert_eq!(config["stopSequences"], json!(["END"]));
    assert!(!body.to_string().contains("anthropic:x"));
}

#[test]
fn signatures_go_back_to_where_they_stood() {
    let parts = vec![
        thought("summary", None),
        thought("", Some("gemini:one")),
        tool_call("c1", "read", json!({})),
        tool_call("c2", "read", json!({})),
    ];
    let prompt = Prompt {
        model: "gemini-3-pro-preview".into(),
        messages: vec![
            message(Role::User, vec![text("hi")]),
            message(Role::Assistant, parts),
            message(
                Role::Assistant,
                vec![text("Yes"), thought("", Some("gemini:two"))],
            ),
        ],
        ..Prompt::default()
    };
    let body = body(&prompt);
    let calls = &body["contents"][1]["parts"];
    assert_eq!(calls[0]["thoughtSignature"], "one");
    assert!(calls[1].get("thoughtSignature").is_none());
    let said = &body["contents"][3]["parts"];
    assert_eq!(said[1], json!({ "text": "", "thoughtSignature": "two" }));
}

#[test]
fn a_call_of_another_provider_gets_the_stand_in() {
    let third = body(&rich_prompt("gemini-3-flash-preview", "anthropic:x"));
    let parts = &third["contents"][1]["parts"];
    assert_eq!(
        parts[1]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert!(parts[2].get("thoughtSignature").is_none());
}

#[test]
fn thinking_goes_by_generation() {
    assert_eq!(
        thinking("gemini-2.0-flash", Some(ThinkingLevel::High)),
        None
    );
    assert_eq!(thinking("gemini-flash-latest", None), None);
    let user_part = json!({ "includeThoughts": true });
    assert_eq!(thinking("gemini-2.5-pro", None), Some(user_part.clone()));
    assert_eq!(
        thinking("models/gemini-3-pro-preview", None),
        Some(user_part)
    );
    let of = |model, wanted| thinking(model, Some(wanted)).expect("thinks");
    assert_eq!(
        of("gemini-2.5-flash", ThinkingLevel::Off)["thinkingBudget"],
        0
    );
    assert_eq!(
        of("gemini-2.5-pro", ThinkingLevel::Off)["thinkingBudget"],
        128
    );
    assert_eq!(
        of("gemini-3-flash-preview", ThinkingLevel::Off)["thinkingLevel"],
        "minimal"
    );
    assert_eq!(
        of("gemini-3.1-pro", ThinkingLevel::High)["thinkingLevel"],
        "high"
    );
    assert!(
        is_gemini_3_or_later("gemini-10-pro")
            && !is_gemini_3_or_later("gemini-2.5-pro")
            && !is_gemini_3_or_later("gemma-3")
    );
}
