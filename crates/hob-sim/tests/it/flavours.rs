//! Who else speaks chat completions: each one's ways in a stream, and what only it refuses.

use crate::reader::events;
use crate::wire::{Heard, ask, get, post};
use hob_sim::{Answer, Dialect, Fault, Flavour, Sim};
use serde_json::{Value, json};

fn at(sim: &Sim, flavour: Flavour) -> String {
    let base = sim.url_as(flavour);
    let base = base.split_once(&sim.address().to_string()).expect("ours").1;
    match flavour {
        Flavour::Ollama => format!("{base}/v1/chat/completions"),
        _ => format!("{base}/chat/completions"),
    }
}

fn asked(sim: &Sim, flavour: Flavour, changes: &Value) -> Heard {
    let mut body = json!({
        "model": "m", "stream": true, "messages": [{ "role": "user", "content": "hi" }],
    });
    for (name, value) in changes.as_object().expect("fields") {
        body[name] = value.clone();
    }
    post(sim, &at(sim, flavour), &body)
}

fn chunks(heard: &Heard) -> Vec<Value> {
    let events = events(&heard.body);
    let data = events.iter().filter(|event| event.data != "[DONE]");
    data.map(|event| serde_json::from_str(&event.data).expect("JSON"))
        .collect()
}

#[test]
fn each_thinks_and_calls_in_its_way() {
    let sim = Sim::start(|asked| {
        assert_ne!(asked.flavour, Flavour::Openai);
        Answer::words("so")
            .thinking("hm")
            .call("t", json!({ "long": "argument of a call" }))
    });
    for (flavour, thought, id, pieces) in [
        (Flavour::OpenRouter, "/reasoning", "call_", true),
        (Flavour::Groq, "/reasoning", "call_", false),
        (Flavour::DeepSeek, "/reasoning_content", "call_", true),
        (Flavour::Mistral, "/content/0/thinking/0/text", "", false),
        (Flavour::Xai, "/reasoning_content", "call_", false),
        (Flavour::Ollama, "/reasoning", "call_", false),
        (Flavour::LmStudio, "/reasoning_content", "", true),
    ] {
        let heard = asked(&sim, flavour, &json!({}));
        assert_eq!(heard.status, 200, "{flavour:?} {:?}", sim.refused());
        let chunks = chunks(&heard);
        let deltas: Vec<&Value> = chunks
            .iter()
            .map(|chunk| &chunk["choices"][0]["delta"])
            .collect();
        let thoughts = deltas.iter().filter_map(|delta| delta.pointer(thought));
        assert_eq!(thoughts.collect::<Vec<_>>(), ["hm"], "{flavour:?}");
        let calls: Vec<&Value> = deltas
            .iter()
            .filter_map(|delta| delta.pointer("/tool_calls/0"))
            .collect();
        assert_eq!(calls.len() > 1, pieces, "{flavour:?}");
        let given = calls[0]["id"].as_str().expect("an id");
        assert!(given.starts_with(id), "{flavour:?} {given}");
        if flavour == Flavour::Mistral {
            assert_eq!(given.len(), 9);
        }
        let args = calls
            .iter()
            .filter_map(|call| call["function"]["arguments"].as_str());
        assert_eq!(
            args.collect::<String>(),
            "{\"long\":\"argument of a call\"}"
        );
    }
}

#[test]
fn each_tells_usage_in_its_place() {
    let sim = Sim::start(|_| Answer::words("one two").usage(5, 2));
    let said = |flavour, place: &str| {
        let chunks = chunks(&asked(&sim, flavour, &json!({})));
        let found = chunks
            .iter()
            .filter(|chunk| chunk.pointer(place) == Some(&json!(5)));
        (found.count(), chunks.len())
    };
    let usual = "/usage/prompt_tokens";
    assert_eq!(said(Flavour::Ollama, usual).0, 0, "only when asked for");
    assert_eq!(said(Flavour::OpenRouter, usual).0, 1);
    assert_eq!(said(Flavour::Mistral, usual).0, 1);
    assert_eq!(said(Flavour::DeepSeek, usual).0, 1);
    assert_eq!(said(Flavour::Groq, "/x_groq/usage/prompt_tokens").0, 1);
    let (with, all) = said(Flavour::Xai, usual);
    assert_eq!(with, all);
}

#[test]
fn a_router_comments_and_fails_in_chunks() {
    let sim = Sim::start(|_| Answer::words("one two").fault(Fault::ErrorAfter(1)));
    let heard = asked(
        &sim,
        Flavour::OpenRouter,
        &json!({ "reasoning": { "effort": "low" } }),
    );
    assert!(heard.text().starts_with(": OPENROUTER PROCESSING\n\n"));
    let last = chunks(&heard).pop().expect("one");
    assert_eq!(last["choices"][0]["finish_reason"], "error");
    assert!(last["error"]["message"].is_string());
}

#[test]
fn each_refuses_what_is_not_its_own() {
    let sim = Sim::start(|_| Answer::words("hi"));
    let refused = |flavour, code, changes: Value| {
        let heard = asked(&sim, flavour, &changes);
        assert_eq!(heard.status, code, "{flavour:?} {changes}");
    };
    refused(
        Flavour::Openai,
        400,
        json!({ "reasoning": { "effort": "low" } }),
    );
    refused(
        Flavour::Openai,
        400,
        json!({ "model": "gpt-5", "max_tokens": 5 }),
    );
    refused(
        Flavour::Openai,
        400,
        json!({ "model": "o3", "temperature": 0.5 }),
    );
    refused(
        Flavour::Openai,
        200,
        json!({ "model": "gpt-5", "max_completion_tokens": 5 }),
    );
    refused(
        Flavour::Mistral,
        422,
        json!({ "stream_options": { "include_usage": true } }),
    );
    refused(Flavour::Mistral, 422, json!({ "max_completion_tokens": 5 }));
    refused(Flavour::Mistral, 200, json!({ "max_tokens": 5 }));
    let schema = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": {} } });
    refused(Flavour::DeepSeek, 400, json!({ "response_format": schema }));
    refused(
        Flavour::Ollama,
        200,
        json!({ "response_format": schema, "think": true }),
    );
    let talk = |id: &str, more: Value| {
        let mut call = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": id, "type": "function", "function": { "name": "t", "arguments": "{}" } },
        ] });
        for (name, value) in more.as_object().expect("fields") {
            call[name] = value.clone();
        }
        let result = json!({ "role": "tool", "tool_call_id": id, "content": "r" });
        json!([{ "role": "user", "content": "hi" }, call, result])
    };
    refused(
        Flavour::Mistral,
        400,
        json!({ "messages": talk("call_too_long", json!({})) }),
    );
    refused(
        Flavour::Mistral,
        200,
        json!({ "messages": talk("abcdef123", json!({})) }),
    );
    let thought = json!({ "reasoning_content": "hm" });
    let reasoner =
        |more: &Value| json!({ "model": "deepseek-reasoner", "messages": talk("a", more.clone()) });
    refused(Flavour::DeepSeek, 400, reasoner(&json!({})));
    refused(Flavour::DeepSeek, 200, reasoner(&thought));
    refused(
        Flavour::Groq,
        400,
        json!({ "messages": talk("a", thought) }),
    );
}

#[test]
fn errors_have_each_their_shape() {
    let sim = Sim::start(|_| Answer::status(429));
    let error = |flavour| {
        let heard = asked(&sim, flavour, &json!({}));
        assert_eq!(heard.status, 429);
        heard.json()
    };
    assert_eq!(error(Flavour::Mistral)["type"], "rate_limited");
    assert!(error(Flavour::Mistral)["message"].is_string());
    assert_eq!(error(Flavour::OpenRouter)["error"]["code"], 429);
    assert_eq!(error(Flavour::Groq)["error"]["code"], "rate_limit_exceeded");
}

#[test]
fn a_flavour_lists_models_too() {
    let sim = Sim::start(|_| Answer::words("hi"));
    let list = get(&sim, "/groq/v1/models", "").json();
    assert_eq!(list["data"][0]["id"], "sim-small");
    assert_eq!(get(&sim, "/groqish/v1/models", "").status, 404);
    assert_eq!(ask(&sim, Dialect::OpenaiChat, true).status, 200);
    assert_eq!(sim.asked()[0].flavour, Flavour::Openai);
}
