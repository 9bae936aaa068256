//! Streams of responses as OpenAI sends them.

use super::super::OpenaiResponsesDialect;
use crate::prompt::{ReplyDelta, StopReason};
use crate::recorded::{fails, shown, survives_cuts, text, thinking, tool_call, whole};
use crate::usage::TokenFigure;
use hob_core::failover::ErrorClass;
use serde_json::json;

const RICH: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","sequence_number":2,"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","sequence_number":3,"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Look."}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Look."}],"encrypted_content":"gAAAA","status":"completed"}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":5,"output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":6,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Grüße."}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":7,"output_index":2,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_a","name":"read"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":8,"item_id":"fc_1","output_index":2,"delta":"{\"path\":"}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":9,"output_index":3,"item":{"id":"fc_2","type":"function_call","status":"in_progress","arguments":"","call_id":"call_b","name":"time"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":10,"item_id":"fc_1","output_index":2,"delta":"\"a\"}"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","sequence_number":11,"item_id":"fc_1","output_index":2,"arguments":"{\"path\":\"a\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":12,"output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"path\":\"a\"}","call_id":"call_a","name":"read"}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":13,"output_index":3,"item":{"id":"fc_2","type":"function_call","status":"completed","arguments":"{}","call_id":"call_b","name":"time"}}

event: response.completed
data: {"type":"response.completed","sequence_number":14,"response":{"id":"resp_1","object":"response","status":"completed","incomplete_details":null,"output":[],"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":4},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":123}}}

"#;

#[test]
fn a_rich_answer() {
    let (pieces, decoded) = whole(&OpenaiResponsesDialect, RICH);
    let seal = r#"openai:{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Look."}],"encrypted_content":"gAAAA"}"#;
    let expected = [
        thinking("Look.", Some(seal)),
        text("Grüße."),
        tool_call("call_a", "read", json!({ "path": "a" })),
        tool_call("call_b", "time", json!({})),
    ];
    assert_eq!(decoded.parts, expected);
    assert_eq!(decoded.stop, StopReason::Tools);
    assert_eq!(shown(&pieces), "Grüße.");
    assert!(pieces.contains(&ReplyDelta::Thinking("Look.".into())));
    assert_eq!(decoded.claim.input, TokenFigure::Tokens(36));
    assert_eq!(decoded.claim.output, TokenFigure::Tokens(87));
    assert_eq!(decoded.claim.cached, TokenFigure::Tokens(4));
    assert_eq!(decoded.claim.hidden, TokenFigure::Tokens(64));
}

#[test]
fn any_cut_gives_nothing() {
    survives_cuts(&OpenaiResponsesDialect, RICH);
}

#[test]
fn endings() {
    let ending = |reason: &str| {
        let stream = format!(
            "data: {{\"type\":\"response.incomplete\",\"response\":{{\"status\":\"incomplete\",\"incomplete_details\":{{\"reason\":\"{reason}\"}}}}}}\n\n"
        );
        whole(&OpenaiResponsesDialect, &stream).1.stop
    };
    assert_eq!(ending("max_output_tokens"), StopReason::Length);
    assert_eq!(ending("content_filter"), StopReason::Content);
    let refused = "data: {\"type\":\"response.refusal.delta\",\"delta\":\"No.\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n";
    assert_eq!(
        whole(&OpenaiResponsesDialect, refused).1.stop,
        StopReason::Content
    );
}

#[test]
fn errors_within_the_stream() {
    for (data, class) in [
        (
            r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}"#,
            ErrorClass::Rate,
        ),
        (
            r#"{"type":"error","error":{"type":"server_error","message":"oops"}}"#,
            ErrorClass::Overload,
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}"#,
            ErrorClass::Overload,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"x"}}}"#,
            ErrorClass::Context,
        ),
        (
            r#"{"type":"response.function_call_arguments.delta","output_index":9,"delta":"{}"}"#,
            ErrorClass::Protocol,
        ),
        (
            r#"{"type":"response.output_item.added","item":{"type":"function_call"}}"#,
            ErrorClass::Protocol,
        ),
        (r#"{"x":1}"#, ErrorClass::Protocol),
        ("{", ErrorClass::Protocol),
        ("[DONE]", ErrorClass::Network),
    ] {
        assert_eq!(
            fails(&OpenaiResponsesDialect, &format!("data: {data}\n\n")),
            class,
            "{data}"
        );
    }
}
