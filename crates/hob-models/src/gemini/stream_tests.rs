//! Streams of `streamGenerateContent` as Google sends them.

use super::super::GeminiDialect;
use crate::prompt::{ReplyDelta, StopReason};
use crate::recorded::{fails, shown, survives_cuts, text, thinking, tool_call, whole};
use crate::usage::TokenFigure;
use hob_core::failover::ErrorClass;
use serde_json::json;

const RICH: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"**Looking**\n\n","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":12,"totalTokenCount":60,"thoughtsTokenCount":48},"modelVersion":"gemini-3-flash-preview","responseId":"r1"}

data: {"candidates":[{"content":{"parts":[{"text":"Grüße."}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":3,"totalTokenCount":63,"thoughtsTokenCount":48},"modelVersion":"gemini-3-flash-preview"}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"EjQKMg=="},{"functionCall":{"name":"time"}}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":20,"totalTokenCount":80,"thoughtsTokenCount":48,"cachedContentTokenCount":8},"modelVersion":"gemini-3-flash-preview"}

"#;

#[test]
fn a_rich_answer() {
    let (pieces, decoded) = whole(&GeminiDialect, RICH);
    let expected = [
        thinking("**Looking**\n\n", None),
        text("Grüße."),
        thinking("", Some("gemini:EjQKMg==")),
        tool_call("", "read", json!({ "path": "a" })),
        tool_call("", "time", json!({})),
    ];
    assert_eq!(decoded.parts, expected);
    // The provider has no word for it; whoever concludes the answer sees its calls.
    assert_eq!(decoded.stop, StopReason::End);
    assert_eq!(shown(&pieces), "Grüße.");
    assert!(pieces.contains(&ReplyDelta::Tool {
        index: 0,
        name: "read".into(),
        delta: r#"{"path":"a"}"#.into()
    }));
    assert_eq!(decoded.claim.input, TokenFigure::Tokens(12));
    assert_eq!(decoded.claim.output, TokenFigure::Tokens(68));
    assert_eq!(decoded.claim.hidden, TokenFigure::Tokens(48));
    assert_eq!(decoded.claim.cached, TokenFigure::Tokens(8));
}

#[test]
fn any_cut_gives_all_or_nothing() {
    survives_cuts(&GeminiDialect, RICH);
}

#[test]
fn a_signature_at_the_end_is_kept() {
    let stream = r#"data: {"candidates":[{"content":{"parts":[{"text":"Yes"},{"text":"","thoughtSignature":"abc"}]},"finishReason":"STOP"}]}

"#;
    let (_, decoded) = whole(&GeminiDialect, stream);
    assert_eq!(
        decoded.parts,
        [text("Yes"), thinking("", Some("gemini:abc"))]
    );
}

#[test]
fn endings_blocks_and_errors() {
    let ending = |reason: &str| {
        let stream = format!("data: {{\"candidates\":[{{\"finishReason\":\"{reason}\"}}]}}\n\n");
        whole(&GeminiDialect, &stream).1.stop
    };
    assert_eq!(ending("STOP"), StopReason::End);
    assert_eq!(ending("MAX_TOKENS"), StopReason::Length);
    assert_eq!(ending("SAFETY"), StopReason::Content);
    assert_eq!(ending("PROHIBITED_CONTENT"), StopReason::Content);
    for (data, class) in [
        (
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
            ErrorClass::Content,
        ),
        (
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
            ErrorClass::Overload,
        ),
        (
            r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#,
            ErrorClass::Overload,
        ),
        (
            r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#,
            ErrorClass::Rate,
        ),
        ("[1]", ErrorClass::Protocol),
        ("{\"candidates\":", ErrorClass::Protocol),
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}"#,
            ErrorClass::Network,
        ),
    ] {
        assert_eq!(
            fails(&GeminiDialect, &format!("data: {data}\n\n")),
            class,
            "{data}"
        );
    }
}
