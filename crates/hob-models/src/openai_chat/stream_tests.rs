//! Streams of chat completions as OpenAI and its many cousins send them.

use super::super::OpenaiChatDialect;
use crate::prompt::{ReplyDelta, StopReason};
use crate::reasoning;
use crate::recorded::{fails, shown, survives_cuts, text, thinking, tool_call, whole};
use crate::usage::TokenFigure;
use hob_core::failover::ErrorClass;
use serde_json::json;

const WORDS: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"Grüße"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","choices":[{"index":0,"delta":{"content":", you"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":3,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":4}}}

data: [DONE]

"#;

const CALLS: &str = r#"data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]},"finish_reason":null}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"time","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a.txt\"}"}}]},"finish_reason":null}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

#[test]
fn words_and_usage() {
    let (pieces, decoded) = whole(&OpenaiChatDialect, WORDS);
    assert_eq!(shown(&pieces), "Grüße, you");
    assert_eq!(decoded.parts, [text("Grüße, you")]);
    assert_eq!(decoded.stop, StopReason::End);
    assert_eq!(decoded.claim.input, TokenFigure::Tokens(19));
    assert_eq!(decoded.claim.output, TokenFigure::Tokens(10));
    assert_eq!(decoded.claim.cached, TokenFigure::Tokens(3));
    assert_eq!(decoded.claim.hidden, TokenFigure::Tokens(4));
}

#[test]
fn parallel_calls_whose_pieces_come_by_turns() {
    let (pieces, decoded) = whole(&OpenaiChatDialect, CALLS);
    let expected = [
        tool_call("call_a", "read", json!({ "path": "a.txt" })),
        tool_call("call_b", "time", json!({})),
    ];
    assert_eq!(decoded.parts, expected);
    assert_eq!(decoded.stop, StopReason::Tools);
    assert!(pieces.contains(&ReplyDelta::Tool {
        index: 1,
        name: "time".into(),
        delta: "{}".into()
    }));
}

#[test]
fn any_cut_gives_all_or_nothing() {
    survives_cuts(&OpenaiChatDialect, WORDS);
    survives_cuts(&OpenaiChatDialect, CALLS);
}

#[test]
fn thoughts_of_deepseek_openrouter_and_mistral() {
    let deepseek = "data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"Hm\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"Yes\",\"reasoning_content\":null},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"prompt_cache_hit_tokens\":8}}\n\n";
    let (_, decoded) = whole(&OpenaiChatDialect, deepseek);
    assert_eq!(decoded.parts, [thinking("Hm", None), text("Yes")]);
    assert_eq!(decoded.claim.cached, TokenFigure::Tokens(8));

    let openrouter = ": OPENROUTER PROCESSING\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"\",\"reasoning\":\"Hm\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"Hm\",\"signature\":\"s\"}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"Yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let (_, decoded) = whole(&OpenaiChatDialect, openrouter);
    let details = reasoning::details_of(&decoded.parts).expect("are kept");
    assert_eq!(
        details,
        json!([{ "type": "reasoning.text", "text": "Hm", "signature": "s" }])
    );

    let mistral = "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"Hm\"}]}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"Yes\"}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let (_, decoded) = whole(&OpenaiChatDialect, mistral);
    assert_eq!(decoded.parts, [thinking("Hm", None), text("Yes")]);
}

#[test]
fn calls_of_servers_that_count_badly() {
    // Every call has the index 0.
    let zeros = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"n\\\":1}\"}}]}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"n\\\":2}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let (_, decoded) = whole(&OpenaiChatDialect, zeros);
    let expected = [
        tool_call("a", "read", json!({ "n": 1 })),
        tool_call("b", "read", json!({ "n": 2 })),
    ];
    assert_eq!(decoded.parts, expected);
    // No index at all, and arguments as an object.
    let none = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":{\"n\":1}}},{\"id\":\"b\",\"function\":{\"name\":\"read\",\"arguments\":{\"n\":2}}}]},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(whole(&OpenaiChatDialect, none).1.parts, expected);
}

#[test]
fn half_arguments_stay_a_string() {
    let cut = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"rm\",\"arguments\":\"{\\\"path\\\":\\\"/\"}}]},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    let (_, decoded) = whole(&OpenaiChatDialect, cut);
    assert_eq!(
        decoded.parts,
        [tool_call("a", "rm", json!("{\"path\":\"/"))]
    );
    assert_eq!(decoded.stop, StopReason::Length);
}

#[test]
fn endings_and_errors_within_the_stream() {
    let ending = |reason: &str| {
        let stream = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\"}},\"finish_reason\":\"{reason}\"}}]}}\n\n"
        );
        whole(&OpenaiChatDialect, &stream).1.stop
    };
    assert_eq!(ending("content_filter"), StopReason::Content);
    assert_eq!(ending("model_length"), StopReason::Length);
    assert_eq!(ending("eos"), StopReason::End);
    let refused = "data: {\"choices\":[{\"delta\":{\"refusal\":\"I can't\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(
        whole(&OpenaiChatDialect, refused).1.stop,
        StopReason::Content
    );

    let error = |error: &str| {
        fails(
            &OpenaiChatDialect,
            &format!("data: {{\"error\":{error}}}\n\n"),
        )
    };
    let overloaded = r#"{"message":"The server had an error","type":"server_error","code":null}"#;
    assert_eq!(error(overloaded), ErrorClass::Overload);
    assert_eq!(error(r#"{"code":429,"message":"slow"}"#), ErrorClass::Rate);
    assert_eq!(
        error(r#"{"code":"context_length_exceeded"}"#),
        ErrorClass::Context
    );
}

#[test]
fn what_is_no_chunk_is_an_error() {
    for data in ["hello", "{\"choices\":", "[1,2]", "3", "\"[DONE]\""] {
        let class = fails(&OpenaiChatDialect, &format!("data: {data}\n\n"));
        assert_eq!(class, ErrorClass::Protocol, "{data}");
    }
    assert_eq!(fails(&OpenaiChatDialect, ""), ErrorClass::Network);
    assert_eq!(
        fails(&OpenaiChatDialect, "data: [DONE]\n\n"),
        ErrorClass::Network
    );
}

#[test]
fn impossible_figures_are_seen_as_such() {
    let usage = |usage: &str| {
        let stream = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":{usage}}}\n\ndata: [DONE]\n\n"
        );
        whole(&OpenaiChatDialect, &stream).1.claim.input
    };
    assert_eq!(usage(r#"{"prompt_tokens":-1}"#), TokenFigure::Nonsense);
    assert_eq!(usage(r#"{"prompt_tokens":NaN}"#), TokenFigure::Missing);
    assert_eq!(usage(r#"{"prompt_tokens":"NaN"}"#), TokenFigure::Nonsense);
    assert_eq!(usage("null"), TokenFigure::Missing);
}
