//! A prompt becomes one message.

use super::body;
use crate::dialect::RequestInput;
use crate::history;
use crate::prompt::{Prompt, PromptMessage};
use crate::providers::ProviderQuirks;
use hob_wire::content::{ContentPart, Role};
use serde_json::{Value, json};

fn asked(prompt: &Prompt) -> Value {
    let (_, turns) = history::to_turns(&prompt.messages);
    body(&RequestInput {
        prompt,
        system: &prompt.system,
        turns: &turns,
        quirks: &ProviderQuirks::COMMON,
    })
}

#[test]
fn one_question_is_one_text_and_the_model_is_cut_at_its_first_slash() {
    let prompt = Prompt {
        model: "loop/org/fake".to_owned(),
        system: vec!["Be short.".to_owned(), "Be kind.".to_owned()],
        messages: vec![PromptMessage::text(Role::User, "Why?")],
        ..Prompt::default()
    };
    assert_eq!(
        asked(&prompt),
        json!({
            "model": { "providerID": "loop", "modelID": "org/fake" },
            "system": "Be short.\n\nBe kind.",
            "parts": [{ "type": "text", "text": "Why?" }],
        })
    );
}

#[test]
fn history_and_images_come_before_the_last_words() {
    let image = ContentPart::Image {
        mime_type: "image/png".to_owned(),
        data: "AAAA".to_owned(),
    };
    let prompt = Prompt {
        model: "default".to_owned(),
        messages: vec![
            PromptMessage::text(Role::User, "My name is Ada."),
            PromptMessage::text(Role::Assistant, "Hello, Ada."),
            PromptMessage {
                role: Role::User,
                parts: vec![
                    ContentPart::Text {
                        text: "Who am I?".to_owned(),
                    },
                    image,
                ],
            },
        ],
        ..Prompt::default()
    };
    let body = asked(&prompt);
    assert_eq!(body.get("model"), None, "OpenCode's own choice");
    assert_eq!(body.get("system"), None);
    let parts = body["parts"].as_array().expect("is a list");
    assert_eq!(parts.len(), 3);
    let told = parts[0]["text"].as_str().expect("is text");
    assert!(told.ends_with(
        "\n<user>\nMy name is Ada.\n</user>\n\n<assistant>\nHello, Ada.\n</assistant>\n"
    ));
    assert_eq!(parts[1], json!({ "type": "text", "text": "Who am I?" }));
    assert_eq!(
        parts[2],
        json!({ "type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA" })
    );
}

#[test]
fn a_schema_is_said_in_words() {
    let prompt = Prompt {
        messages: vec![PromptMessage::text(Role::User, "List.")],
        schema: Some(json!({ "type": "array" })),
        ..Prompt::default()
    };
    let body = asked(&prompt);
    let system = body["system"].as_str().expect("is text");
    assert!(system.contains(r#"{"type":"array"}"#), "{system}");
}
