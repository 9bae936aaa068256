//! Requests a real provider refuses, refused in its shape and counted.

use crate::wire::{Heard, get, path, post, send, simple};
use hob_sim::{Answer, Dialect, Sim};
use serde_json::{Value, json};

/// Posts the simple request with these fields set (or, as null, taken away).
fn changed(sim: &Sim, dialect: Dialect, changes: &Value) -> Heard {
    let mut body = simple(dialect, true);
    for (name, value) in changes.as_object().expect("fields") {
        let fields = body.as_object_mut().expect("a body");
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), value.clone());
        }
    }
    post(sim, path(dialect, true), &body)
}

/// Each of these changes is refused with these words in the message.
pub(crate) fn refuses(dialect: Dialect, cases: &[(Value, &str)]) {
    let sim = Sim::start(|_| Answer::words("hi"));
    assert_eq!(changed(&sim, dialect, &json!({})).status, 200);
    for (at, (changes, words)) in cases.iter().enumerate() {
        let heard = changed(&sim, dialect, changes);
        let body = heard.json();
        assert_eq!(heard.status, 400, "{changes} {body}");
        let message = body["error"]["message"].as_str().expect("a message");
        assert!(
            message.contains(words),
            "{changes} was refused with {message:?}"
        );
        assert_eq!(sim.refused().len(), at + 1);
    }
    assert_eq!(sim.asked_count(), 1, "a brain never sees what is refused");
}

/// Each of these changes is taken.
pub(crate) fn takes(dialect: Dialect, cases: &[Value]) {
    let sim = Sim::start(|_| Answer::words("hi"));
    for changes in cases {
        let heard = changed(&sim, dialect, changes);
        assert_eq!(heard.status, 200, "{changes} {:?}", sim.refused());
    }
}

pub(crate) fn user() -> Value {
    json!({ "role": "user", "content": "hi" })
}

#[test]
fn chat_fields() {
    let function = |name: &str, kind: &str| json!([{ "type": "function", "function": { "name": name, "parameters": { "type": kind } } }]);
    refuses(
        Dialect::OpenaiChat,
        &[
            (json!({ "model": null }), "model"),
            (
                json!({ "messages": null }),
                "Missing required parameter: 'messages'",
            ),
            (json!({ "messages": [] }), "empty array"),
            (
                json!({ "surprise": 1 }),
                "Unrecognized request argument supplied: surprise",
            ),
            (json!({ "temperature": 3 }), "temperature"),
            (json!({ "max_tokens": 0 }), "max_tokens"),
            (json!({ "stream": "yes" }), "stream"),
            (json!({ "stream": false }), "stream_options"),
            (json!({ "tools": [] }), "too short"),
            (json!({ "tools": function("a.b", "object") }), "pattern"),
            (
                json!({ "tools": function("a", "string") }),
                "type: \"object\"",
            ),
            (
                json!({ "tool_choice": "auto" }),
                "only allowed when 'tools'",
            ),
            (
                json!({ "tools": function("a", "object"), "tool_choice": "sometimes" }),
                "tool_choice",
            ),
            (
                json!({ "response_format": { "type": "json_object" } }),
                "the word 'json'",
            ),
            (
                json!({ "response_format": { "type": "json_schema" } }),
                "json_schema.name",
            ),
            (
                json!({ "response_format": { "type": "json_schema", "json_schema": {
                    "name": "n", "strict": true, "schema": { "type": "object", "properties": {} },
                }}}),
                "additionalProperties",
            ),
            (
                json!({ "messages": [{ "role": "boss", "content": "x" }] }),
                "'boss'",
            ),
            (json!({ "messages": [{ "role": "user" }] }), "content"),
            (
                json!({ "messages": [{ "role": "user", "content": [
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,???" } },
        ] }] }),
                "base64",
            ),
        ],
    );
}

#[test]
fn chat_tool_calls() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "t", "arguments": "{}" } });
    let calls = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "r" });
    let talk = |messages: &[Value]| json!({ "messages": messages });
    refuses(
        Dialect::OpenaiChat,
        &[
            (
                talk(&[user(), calls(&["a", "b"]), result("a")]),
                "did not have response messages: b",
            ),
            (
                talk(&[user(), calls(&["a"]), user()]),
                "did not have response messages: a",
            ),
            (talk(&[user(), result("a")]), "preceeding message"),
            (talk(&[user(), calls(&["a"]), result("x")]), "'x' not found"),
            (
                talk(&[user(), calls(&["a"]), result("a"), result("a")]),
                "'a' not found",
            ),
            (
                talk(&[user(), calls(&["a", "a"]), result("a")]),
                "Duplicate",
            ),
            (talk(&[user(), calls(&[])]), "empty array"),
            (
                talk(&[user(), json!({ "role": "assistant", "content": null })]),
                "content",
            ),
        ],
    );
    takes(
        Dialect::OpenaiChat,
        &[
            talk(&[user(), calls(&["a", "b"]), result("b"), result("a")]),
            talk(&[
                user(),
                calls(&["a"]),
                result("a"),
                calls(&["b"]),
                result("b"),
                user(),
            ]),
        ],
    );
}

#[test]
fn responses_items() {
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "t", "arguments": "{}" });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "r" });
    let input = |items: &[Value]| json!({ "input": items });
    refuses(
        Dialect::OpenaiResponses,
        &[
            (json!({ "model": null }), "'model'"),
            (json!({ "input": null }), "'input'"),
            (json!({ "messages": [] }), "Unknown parameter: 'messages'"),
            (json!({ "max_output_tokens": 3 }), "max_output_tokens"),
            (
                json!({ "tools": [{ "type": "function", "function": { "name": "t" } }] }),
                "tools[0].name",
            ),
            (
                input(&[user(), call("a")]),
                "No tool output found for function call a",
            ),
            (
                input(&[user(), output("a")]),
                "No tool call found for function call output",
            ),
            (
                input(&[user(), call("a"), output("a"), output("a")]),
                "Duplicate",
            ),
            (
                input(&[json!({ "role": "assistant", "content": [
            { "type": "input_text", "text": "x" },
        ] })]),
                "'output_text' and 'refusal'",
            ),
            (
                input(&[json!({ "role": "user", "content": [
            { "type": "text", "text": "x" },
        ] })]),
                "'input_text'",
            ),
            (
                json!({ "text": { "format": { "type": "json_schema" } } }),
                "text.format.name",
            ),
        ],
    );
    takes(
        Dialect::OpenaiResponses,
        &[
            json!({ "input": "just words" }),
            input(&[user(), call("a"), call("b"), output("b"), output("a")]),
            input(&[
                json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
                user(),
            ]),
        ],
    );
}

#[test]
fn what_is_no_request_at_all() {
    let sim = Sim::start(|_| Answer::words("hi"));
    let path = path(Dialect::OpenaiChat, true);
    let broken = crate::wire::hear(send(&sim, "POST", path, "{\"model\": "));
    assert_eq!(broken.status, 400);
    assert!(broken.text().contains("parse the JSON body"));
    let unserved = crate::wire::hear(send(&sim, "POST", "/v1/completions", "{}"));
    assert_eq!(unserved.status, 404);
    assert_eq!(get(&sim, path, "").status, 404);
    assert_eq!(sim.refused().len(), 3);
}
