//! A conversation with a picture, a tool call and its result reads alike in every dialect.

use crate::wire::{path, post};
use hob_sim::{Answer, Dialect, Sim};
use hob_wire::content::Role;
use serde_json::{Value, json};

const PNG: &str = "iVBORw0KGgo=";

#[test]
fn a_request_is_understood_alike_in_each_dialect() {
    let sim = Sim::start(|asked| Answer::words(format!("results: {}", asked.results().len())));
    post(&sim, path(Dialect::OpenaiChat, true), &chat());
    post(&sim, path(Dialect::OpenaiResponses, true), &responses());
    post(&sim, path(Dialect::Anthropic, true), &anthropic());
    let path = "/v1beta/models/m:streamGenerateContent?alt=sse";
    post(&sim, path, &gemini());
    assert_eq!(sim.refused(), Vec::<String>::new());
    let asked = sim.asked();
    assert_eq!(asked.len(), 4);
    for (asked, dialect) in asked.iter().zip(Dialect::ALL) {
        assert_eq!(asked.dialect, dialect);
        assert_eq!(asked.system, "Be kind.", "{dialect:?}");
        assert_eq!(asked.tools, ["t"], "{dialect:?}");
        assert_eq!(asked.last_user(), "look", "{dialect:?}");
        let roles: Vec<Role> = asked.messages.iter().map(|said| said.role).collect();
        assert_eq!(
            roles,
            [Role::User, Role::Assistant, Role::Tool],
            "{dialect:?}"
        );
        assert_eq!(asked.messages[0].images, ["image/png"], "{dialect:?}");
        let call = &asked.messages[1].tool_calls[0];
        assert_eq!((call.id.as_str(), &call.args), ("c1", &json!({ "a": 1 })));
        let results = asked.results_of_task();
        assert_eq!(
            (results[0].id.as_str(), results[0].text.as_str()),
            ("c1", "found")
        );
        assert_eq!(asked.header("content-type"), Some("application/json"));
    }
}

fn params() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn chat() -> Value {
    json!({
        "model": "m", "stream": true,
        "messages": [
            { "role": "system", "content": "Be kind." },
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PNG}") } },
            ]},
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "t", "arguments": "{\"a\":1}" } },
            ]},
            { "role": "tool", "tool_call_id": "c1", "content": "found" },
        ],
        "tools": [{ "type": "function", "function": { "name": "t", "parameters": params() } }],
    })
}

fn responses() -> Value {
    json!({
        "model": "m", "stream": true, "instructions": "Be kind.",
        "input": [
            { "role": "user", "content": [
                { "type": "input_text", "text": "look" },
                { "type": "input_image", "image_url": format!("data:image/png;base64,{PNG}") },
            ]},
            { "type": "function_call", "call_id": "c1", "name": "t", "arguments": "{\"a\":1}" },
            { "type": "function_call_output", "call_id": "c1", "output": "found" },
        ],
        "tools": [{ "type": "function", "name": "t", "parameters": params() }],
    })
}

fn anthropic() -> Value {
    json!({
        "model": "m", "stream": true, "max_tokens": 9, "system": "Be kind.",
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG } },
            ]},
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "c1", "name": "t", "input": { "a": 1 } },
            ]},
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "found" },
            ]},
        ],
        "tools": [{ "name": "t", "input_schema": params() }],
    })
}

fn gemini() -> Value {
    json!({
        "systemInstruction": { "parts": [{ "text": "Be kind." }] },
        "contents": [
            { "role": "user", "parts": [
                { "text": "look" },
                { "inlineData": { "mimeType": "image/png", "data": PNG } },
            ]},
            { "role": "model", "parts": [{ "functionCall": { "id": "c1", "name": "t", "args": { "a": 1 } } }] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "c1", "name": "t", "response": { "output": "found" } } },
            ]},
        ],
        "tools": [{ "functionDeclarations": [{ "name": "t", "parameters": params() }] }],
    })
}
