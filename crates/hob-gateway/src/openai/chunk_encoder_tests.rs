//! Chunks as an OpenAI client parses them.

use super::*;
use crate::openai::reply::FinishReason;
use hob_wire::content::ToolCall;
use hob_wire::rooms::agent::Cost;
use serde_json::Value;

fn events(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).unwrap();
    assert!(text.ends_with("\n\n"));
    let events = text.trim_end().split("\n\n");
    events
        .map(|event| {
            let data = event.strip_prefix("data: ").unwrap();
            serde_json::from_str(data).unwrap_or_else(|_| json!(data))
        })
        .collect()
}

fn reply(calls: Vec<ToolCall>, finish: FinishReason) -> CompletionReply {
    CompletionReply {
        text: String::new(),
        thinking: String::new(),
        calls,
        finish,
        cost: Cost {
            input_tokens: 3,
            output_tokens: 4,
            ..Cost::default()
        },
        model: Some("sim/one".to_owned()),
    }
}

#[test]
fn a_stream_of_words() {
    let encoder = ChunkEncoder::new("chatcmpl-1", 9, "hob", false);
    let mut out = Vec::new();
    encoder.write_role(&mut out);
    encoder.write_text(&mut out, "a \"b\"\n\u{1F600}");
    encoder.write_end(&mut out, &reply(Vec::new(), FinishReason::Stop));
    let events = events(&out);
    let chunk = |model: &str, delta: Value, finish: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 9, "model": model,
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }],
        })
    };
    let role = json!({ "role": "assistant", "content": "", "refusal": null });
    assert_eq!(events[0], chunk("hob", role, Value::Null));
    let said = json!({ "content": "a \"b\"\n\u{1F600}" });
    assert_eq!(events[1], chunk("hob", said, Value::Null));
    assert_eq!(events[2], chunk("sim/one", json!({}), json!("stop")));
    assert_eq!(events[3], json!("[DONE]"));
    assert_eq!(events.len(), 4);
}

#[test]
fn calls_and_usage_come_at_the_end() {
    let encoder = ChunkEncoder::new("chatcmpl-1", 9, "hob", true);
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        name: "add".to_owned(),
        args: json!({ "x": 1 }),
    };
    let mut out = Vec::new();
    encoder.write_role(&mut out);
    encoder.write_end(
        &mut out,
        &reply(vec![call("a"), call("b")], FinishReason::ToolCalls),
    );
    let events = events(&out);
    let called = |at: usize| events[at]["choices"][0]["delta"]["tool_calls"][0].clone();
    let opened = json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "add", "arguments": "" } });
    assert_eq!(called(1), opened);
    assert_eq!(
        called(2),
        json!({ "index": 0, "function": { "arguments": "{\"x\":1}" } })
    );
    assert_eq!(
        (&called(3)["index"], &called(3)["id"]),
        (&json!(1), &json!("b"))
    );
    assert_eq!(events[5]["choices"][0]["finish_reason"], "tool_calls");
    assert!(events[..6].iter().all(|event| event["usage"].is_null()));
    assert_eq!(events[6]["choices"], json!([]));
    assert_eq!(events[6]["usage"]["total_tokens"], 7);
    assert_eq!(events[7], json!("[DONE]"));
}
