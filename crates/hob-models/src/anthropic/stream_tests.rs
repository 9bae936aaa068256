//! Streams of messages as Anthropic sends them.

use super::super::AnthropicDialect;
use crate::prompt::{ReplyDelta, StopReason};
use crate::recorded::{fails, shown, survives_cuts, text, thinking, tool_call, whole};
use crate::usage::TokenFigure;
use hob_core::failover::ErrorClass;
use serde_json::json;

const RICH: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":50,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCg=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Grüße."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":".txt\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"time","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_rich_answer() {
    let (pieces, decoded) = whole(&AnthropicDialect, RICH);
    let expected = [
        thinking("Let me see.", Some("anthropic:EqQBCg==")),
        thinking("", Some("anthropic-redacted:EmwKAhgB")),
        text("Grüße."),
        tool_call("toolu_1", "read", json!({ "path": "a.txt" })),
        tool_call("toolu_2", "time", json!({})),
    ];
    assert_eq!(decoded.parts, expected);
    assert_eq!(decoded.stop, StopReason::Tools);
    assert_eq!(shown(&pieces), "Grüße.");
    assert!(pieces.contains(&ReplyDelta::Thinking("see.".into())));
    // Cached input counts as input, and what was written to the cache a quarter more.
    assert_eq!(decoded.claim.input, TokenFigure::Tokens(25 + 50 + 125));
    assert_eq!(decoded.claim.cached, TokenFigure::Tokens(50));
    assert_eq!(decoded.claim.output, TokenFigure::Tokens(89));
}

#[test]
fn any_cut_gives_all_or_nothing() {
    survives_cuts(&AnthropicDialect, RICH);
}

#[test]
fn endings() {
    for (reason, stop) in [
        ("end_turn", StopReason::End),
        ("stop_sequence", StopReason::End),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("refusal", StopReason::Content),
    ] {
        let stream = format!(
            "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
        );
        assert_eq!(whole(&AnthropicDialect, &stream).1.stop, stop, "{reason}");
    }
}

#[test]
fn a_call_cut_at_the_limit_stays_a_string() {
    let stream = RICH
        .replace(r#".txt\"}"#, "")
        .replace("\"tool_use\",\"stop", "\"max_tokens\",\"stop");
    let (_, decoded) = whole(&AnthropicDialect, &stream);
    assert_eq!(
        decoded.parts[3],
        tool_call("toolu_1", "read", json!("{\"path\": \"a"))
    );
    assert_eq!(decoded.parts[4], tool_call("toolu_2", "time", json!({})));
    assert_eq!(decoded.stop, StopReason::Length);
}

#[test]
fn errors_within_the_stream() {
    let error = |kind: &str| {
        fails(
            &AnthropicDialect,
            &format!(
                "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"x\"}}}}\n\n"
            ),
        )
    };
    assert_eq!(error("overloaded_error"), ErrorClass::Overload);
    assert_eq!(error("rate_limit_error"), ErrorClass::Rate);
    assert_eq!(error("api_error"), ErrorClass::Overload);
    assert_eq!(error("authentication_error"), ErrorClass::Auth);
}

#[test]
fn pieces_of_nothing_are_errors() {
    for data in [
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"content_block_stop","index":7}"#,
        r#"{"type":"content_block_start","content_block":{"type":"text"}}"#,
        r#"{"no":"type"}"#,
        "nothing",
    ] {
        let class = fails(&AnthropicDialect, &format!("data: {data}\n\n"));
        assert_eq!(class, ErrorClass::Protocol, "{data}");
    }
    let opened = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let twice = format!("{opened}\n\n{opened}\n\n");
    assert_eq!(fails(&AnthropicDialect, &twice), ErrorClass::Protocol);
}
