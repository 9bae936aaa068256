//! Signatures go home, and nowhere else.

use super::{ANTHROPIC, ANTHROPIC_REDACTED, GEMINI, kept, openai_reasons, own};
use hob_wire::content::Part;

#[test]
fn a_signature_is_only_its_owners() {
    let part = Part::Thinking {
        text: "hm".into(),
        signature: Some(kept(ANTHROPIC, "abc:def")),
    };
    assert_eq!(own(&part, ANTHROPIC), Some("abc:def"));
    assert_eq!(own(&part, GEMINI), None);
    assert_eq!(own(&part, ANTHROPIC_REDACTED), None);
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
