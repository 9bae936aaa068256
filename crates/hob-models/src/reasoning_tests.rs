//! Signatures go home, and nowhere else.

use super::{ANTHROPIC, ANTHROPIC_REDACTED, GEMINI, openai_reasons, own_signature, tag_signature};
use hob_wire::content::ContentPart;

#[test]
fn a_signature_is_only_its_owners() {
    let part = ContentPart::Thinking {
        text: "hm".into(),
        signature: Some(tag_signature(ANTHROPIC, "abc:def")),
    };
    assert_eq!(own_signature(&part, ANTHROPIC), Some("abc:def"));
    assert_eq!(own_signature(&part, GEMINI), None);
    assert_eq!(own_signature(&part, ANTHROPIC_REDACTED), None);
}

#[test]
fn reasoning_models_are_known_by_name() {
    for model in [
        "o3",
        "o4-mini",
        "gpt-5",
        "gpt-5.5-pro",
        "openai/gpt-5-mini",
        "codex-mini",
    ] {
        assert!(openai_reasons(model), "{model}");
    }
    for model in [
        "gpt-4o",
        "gpt-4.1",
        "gpt-5-chat-latest",
        "omni",
        "llama3",
        "gpt-oss-20b",
        "",
    ] {
        assert!(!openai_reasons(model), "{model}");
    }
}
