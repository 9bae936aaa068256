//! Estimates are never nothing and grow with the text.

use super::{images, parts, prompt, scale_for, text};
use crate::prompt::{Prompt, PromptMessage};
use hob_wire::content::{ContentPart, Role, ToolResult};
use hob_wire::rooms::model::ProviderKind;

#[test]
fn scripts_beyond_ascii_count_by_letter() {
    assert_eq!(text(""), 0);
    assert_eq!(text("hello, world"), 3);
    assert_eq!(text("你好世界"), 5);
}

#[test]
fn images_count_wherever_they_stand() {
    let image = ContentPart::Image {
        mime_type: "image/png".into(),
        data: "x".repeat(1_000_000),
    };
    assert_eq!(parts(std::slice::from_ref(&image)), 1_600);
    let result = ContentPart::ToolResult(ToolResult {
        id: "1".into(),
        content: vec![image.clone()],
        is_error: false,
    });
    let asked = Prompt {
        system: vec!["be brief".into()],
        messages: vec![
            PromptMessage::text(Role::User, "look"),
            PromptMessage {
                role: Role::Tool,
                parts: vec![result, image],
            },
        ],
        ..Prompt::default()
    };
    assert_eq!(images(&asked), 2);
    assert!((3_200..3_300).contains(&prompt(&asked)));
}

#[test]
fn kinds_weigh_differently_and_nothing_overflows() {
    assert_eq!(scale_for(ProviderKind::Anthropic, 100), 140);
    assert_eq!(scale_for(ProviderKind::Openai, 1), 2);
    assert_eq!(scale_for(ProviderKind::Gemini, 0), 0);
    assert!(scale_for(ProviderKind::Anthropic, u64::MAX) > 0);
}
