//! What Anthropic and Gemini refuse.

use crate::refusals::{refuses, takes, user};
use crate::wire::{hear, path, post, simple};
use hob_sim::{Answer, Dialect, Sim};
use serde_json::{Value, json};

#[test]
fn anthropic_fields() {
    let tool = |name: &str| json!({ "name": name, "input_schema": { "type": "object" } });
    let mark = json!({ "type": "ephemeral" });
    let marked = json!({ "type": "text", "text": "x", "cache_control": mark });
    refuses(
        Dialect::Anthropic,
        &[
            (json!({ "model": null }), "model: Field required"),
            (json!({ "max_tokens": null }), "max_tokens: Field required"),
            (json!({ "max_tokens": 0 }), "max_tokens"),
            (json!({ "messages": null }), "messages: Field required"),
            (json!({ "messages": [] }), "at least one message"),
            (
                json!({ "surprise": 1 }),
                "surprise: Extra inputs are not permitted",
            ),
            (json!({ "temperature": 1.5 }), "temperature"),
            (
                json!({ "messages": [{ "role": "system", "content": "x" }] }),
                "'user' or 'assistant'",
            ),
            (
                json!({ "messages": [{ "role": "assistant", "content": "x" }] }),
                "first message",
            ),
            (
                json!({ "messages": [{ "role": "user", "content": "" }] }),
                "non-empty content",
            ),
            (
                json!({ "messages": [user(), { "role": "assistant", "content": "x " }] }),
                "trailing whitespace",
            ),
            (json!({ "tools": [tool("a.b")] }), "tools.0.custom.name"),
            (
                json!({ "tools": [{ "name": "a", "input_schema": {} }] }),
                "input_schema.type",
            ),
            (json!({ "tools": [tool("a"), tool("a")] }), "unique"),
            (json!({ "tool_choice": { "type": "auto" } }), "tool_choice"),
            (
                json!({ "system": [marked, marked, marked, marked, marked] }),
                "Found 5",
            ),
            (
                json!({ "thinking": { "type": "enabled", "budget_tokens": 10 } }),
                "1024",
            ),
            (
                json!({ "thinking": { "type": "enabled", "budget_tokens": 2048 } }),
                "greater than",
            ),
        ],
    );
}

#[test]
fn anthropic_tool_use() {
    let uses = |ids: &[&str]| {
        let blocks: Vec<Value> = ids
            .iter()
            .map(|id| json!({ "type": "tool_use", "id": id, "name": "t", "input": {} }))
            .collect();
        json!({ "role": "assistant", "content": blocks })
    };
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "r" });
    let results = |blocks: &[Value]| json!({ "role": "user", "content": blocks });
    let talk = |messages: &[Value]| json!({ "messages": messages });
    let word = json!({ "type": "text", "text": "and?" });
    refuses(
        Dialect::Anthropic,
        &[
            (
                talk(&[user(), uses(&["a"]), user()]),
                "without `tool_result` blocks immediately after: a",
            ),
            (
                talk(&[user(), uses(&["a", "b"]), results(&[result("a")])]),
                "immediately after: b",
            ),
            (talk(&[user(), uses(&["a"])]), "immediately after: a"),
            (talk(&[results(&[result("a")])]), "unexpected `tool_use_id`"),
            (
                talk(&[user(), uses(&["a"]), results(&[result("a"), result("a")])]),
                "single result",
            ),
            (
                talk(&[user(), uses(&["a"]), results(&[word.clone(), result("a")])]),
                "must come before",
            ),
            (
                talk(&[user(), uses(&["a b"]), results(&[result("a b")])]),
                "tool_use.id",
            ),
            (
                talk(&[user(), uses(&["a", "a"]), results(&[result("a")])]),
                "unique",
            ),
            (
                talk(&[
                    user(),
                    json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": "a", "name": "t", "input": "text" },
        ] }),
                ]),
                "valid dictionary",
            ),
            (
                talk(&[
                    user(),
                    json!({ "role": "assistant", "content": [
            { "type": "thinking", "thinking": "hm", "signature": "forged" },
        ] }),
                ]),
                "Invalid `signature`",
            ),
            (
                json!({
                    "max_tokens": 4_096,
                    "thinking": { "type": "enabled", "budget_tokens": 2_048 },
                    "messages": [user(), uses(&["a"]), results(&[result("a")])],
                }),
                "Expected `thinking`",
            ),
        ],
    );
    takes(
        Dialect::Anthropic,
        &[
            talk(&[
                user(),
                uses(&["a", "b"]),
                results(&[result("b"), result("a"), word]),
            ]),
            talk(&[
                user(),
                uses(&["a", "b"]),
                results(&[result("b")]),
                results(&[result("a")]),
            ]),
        ],
    );
}

#[test]
fn gemini_fields_and_turns() {
    let content = |role: &str, part: Value| json!({ "role": role, "parts": [part] });
    let asks = content("user", json!({ "text": "hi" }));
    let signed = {
        let sim = Sim::start(|_| Answer::asks("t", json!({ "a": 1 })));
        let body = post(
            &sim,
            path(Dialect::Gemini, false),
            &simple(Dialect::Gemini, false),
        )
        .json();
        body["candidates"][0]["content"]["parts"][0].clone()
    };
    let mut unsigned = signed.clone();
    unsigned
        .as_object_mut()
        .expect("a part")
        .remove("thoughtSignature");
    let mut forged = signed.clone();
    forged["thoughtSignature"] = json!("forged");
    let response = json!({ "functionResponse": { "name": "t", "response": { "output": "r" } } });
    let talk = |contents: &[&Value]| json!({ "contents": contents });
    let (call, answer) = (content("model", signed), content("user", response));
    let declare = |parameters: Value| json!({ "tools": [{ "functionDeclarations": [{ "name": "t", "parameters": parameters }] }] });
    refuses(
        Dialect::Gemini,
        &[
            (json!({ "contents": null }), "contents is not specified"),
            (json!({ "surprise": 1 }), "Unknown name \"surprise\""),
            (
                json!({ "generationConfig": { "max_tokens": 1 } }),
                "Unknown name \"max_tokens\"",
            ),
            (
                json!({ "generationConfig": { "responseSchema": { "type": "object" } } }),
                "mimetype",
            ),
            (
                talk(&[&content("assistant", json!({ "text": "x" }))]),
                "valid role",
            ),
            (
                talk(&[&json!({ "role": "user", "parts": [] })]),
                "must not be empty",
            ),
            (
                declare(json!({ "type": "object", "additionalProperties": false })),
                "additionalProperties",
            ),
            (
                declare(json!({ "type": "object", "properties": { "a": { "$ref": "#" } } })),
                "$ref",
            ),
            (talk(&[&asks, &call]), "number of function response parts"),
            (
                talk(&[&asks, &answer]),
                "immediately after a function call turn",
            ),
            (
                talk(&[&asks, &call, &answer, &answer]),
                "immediately after a function call turn",
            ),
            (talk(&[&call, &answer]), "after a user turn"),
            (
                talk(&[&asks, &content("model", unsigned), &answer]),
                "missing a thought_signature",
            ),
            (
                talk(&[&asks, &content("model", forged), &answer]),
                "not valid",
            ),
        ],
    );
    takes(
        Dialect::Gemini,
        &[
            talk(&[&asks, &call, &answer]),
            talk(&[&asks, &call, &answer, &call, &answer]),
            json!({ "generation_config": { "max_output_tokens": 5, "stopSequences": ["x"] } }),
        ],
    );
}

#[test]
fn anthropic_wants_its_version() {
    use std::io::Write;
    let sim = Sim::start(|_| Answer::words("hi"));
    let body = simple(Dialect::Anthropic, true).to_string();
    let mut stream = std::net::TcpStream::connect(sim.address()).expect("it listens");
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let heard = hear(stream);
    assert_eq!(heard.status, 400);
    assert!(heard.text().contains("anthropic-version"));
}
