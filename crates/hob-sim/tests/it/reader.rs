//! The tiny reader: events, then what each dialect says with them.

use hob_sim::Dialect;
use serde_json::Value;

/// One event of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) data: String,
}

/// What a stream said.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) thinking: String,
    pub(crate) words: String,
    /// Id, name, arguments.
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) stop: String,
    pub(crate) usage: Option<(Value, Value)>,
    pub(crate) signature: String,
    pub(crate) ended: bool,
}

/// Takes a body apart into events, whatever its ends of line.
pub(crate) fn events(body: &[u8]) -> Vec<Event> {
    let text = String::from_utf8(body.to_vec()).expect("UTF-8");
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    let mut events = Vec::new();
    for block in blocks {
        let mut event = Event {
            kind: String::new(),
            data: String::new(),
        };
        for line in block.lines() {
            if let Some(kind) = line.strip_prefix("event: ") {
                kind.clone_into(&mut event.kind);
            } else if let Some(data) = line.strip_prefix("data: ") {
                event.data.push_str(data);
            } else {
                assert!(
                    line.starts_with(':') || line.is_empty(),
                    "odd line {line:?}"
                );
            }
        }
        if !event.data.is_empty() {
            events.push(event);
        }
    }
    events
}

/// What the events of a dialect say.
pub(crate) fn told(dialect: Dialect, events: &[Event]) -> Told {
    let mut told = Told::default();
    for event in events {
        if event.data == "[DONE]" {
            assert_eq!(dialect, Dialect::OpenaiChat);
            told.ended = true;
            continue;
        }
        assert!(!told.ended, "something after the end: {event:?}");
        let data: Value = serde_json::from_str(&event.data).expect("JSON in data");
        match dialect {
            Dialect::OpenaiChat => chat(&mut told, &data),
            Dialect::OpenaiResponses => responses(&mut told, event, &data),
            Dialect::Anthropic => anthropic(&mut told, event, &data),
            Dialect::Gemini => gemini(&mut told, &data),
        }
    }
    told
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn chat(told: &mut Told, data: &Value) {
    assert_eq!(data["object"], "chat.completion.chunk");
    if let Some(usage) = data["usage"].as_object() {
        assert_eq!(data["choices"], serde_json::json!([]));
        told.usage = Some((
            usage["prompt_tokens"].clone(),
            usage["completion_tokens"].clone(),
        ));
        return;
    }
    let choice = &data["choices"][0];
    let delta = &choice["delta"];
    told.words.push_str(text(&delta["content"]));
    told.thinking.push_str(text(&delta["reasoning_content"]));
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        let index = usize::try_from(call["index"].as_u64().expect("an index")).expect("small");
        if let Some(id) = call["id"].as_str() {
            assert_eq!(index, told.calls.len(), "calls open in order");
            let name = text(&call["function"]["name"]).to_owned();
            told.calls.push((id.to_owned(), name, String::new()));
        }
        let piece = text(&call["function"]["arguments"]);
        told.calls[index].2.push_str(piece);
    }
    if let Some(stop) = choice["finish_reason"].as_str() {
        stop.clone_into(&mut told.stop);
    }
}

fn responses(told: &mut Told, event: &Event, data: &Value) {
    assert_eq!(data["type"], event.kind.as_str());
    match event.kind.as_str() {
        "response.output_text.delta" => told.words.push_str(text(&data["delta"])),
        "response.reasoning_summary_text.delta" => told.thinking.push_str(text(&data["delta"])),
        "response.output_item.added" if data["item"]["type"] == "function_call" => {
            let item = &data["item"];
            let (id, name) = (text(&item["call_id"]), text(&item["name"]));
            told.calls
                .push((id.to_owned(), name.to_owned(), String::new()));
        }
        "response.function_call_arguments.delta" => {
            let call = told.calls.last_mut().expect("an open call");
            call.2.push_str(text(&data["delta"]));
        }
        "response.completed" | "response.incomplete" => {
            let response = &data["response"];
            text(&response["status"]).clone_into(&mut told.stop);
            if let Some(usage) = response["usage"].as_object() {
                told.usage = Some((
                    usage["input_tokens"].clone(),
                    usage["output_tokens"].clone(),
                ));
            }
            told.ended = true;
        }
        _ => {}
    }
}

fn anthropic(told: &mut Told, event: &Event, data: &Value) {
    assert_eq!(data["type"], event.kind.as_str());
    let delta = &data["delta"];
    match event.kind.as_str() {
        "content_block_start" if data["content_block"]["type"] == "tool_use" => {
            let block = &data["content_block"];
            assert_eq!(block["input"], serde_json::json!({}));
            let (id, name) = (text(&block["id"]), text(&block["name"]));
            told.calls
                .push((id.to_owned(), name.to_owned(), String::new()));
        }
        "content_block_delta" => match text(&delta["type"]) {
            "text_delta" => told.words.push_str(text(&delta["text"])),
            "thinking_delta" => told.thinking.push_str(text(&delta["thinking"])),
            "signature_delta" => told.signature.push_str(text(&delta["signature"])),
            "input_json_delta" => {
                let call = told.calls.last_mut().expect("an open call");
                call.2.push_str(text(&delta["partial_json"]));
            }
            other => panic!("an unknown delta {other}"),
        },
        "message_delta" => {
            text(&delta["stop_reason"]).clone_into(&mut told.stop);
            if let Some(usage) = data["usage"].as_object() {
                told.usage = Some((
                    usage["input_tokens"].clone(),
                    usage["output_tokens"].clone(),
                ));
            }
        }
        "message_stop" => told.ended = true,
        _ => {}
    }
}

fn gemini(told: &mut Told, data: &Value) {
    let candidate = &data["candidates"][0];
    for part in candidate["content"]["parts"].as_array().expect("parts") {
        if part["thought"] == true {
            told.thinking.push_str(text(&part["text"]));
        } else {
            told.words.push_str(text(&part["text"]));
        }
        let call = &part["functionCall"];
        if call.is_object() {
            let (id, name) = (text(&call["id"]), text(&call["name"]));
            told.calls
                .push((id.to_owned(), name.to_owned(), call["args"].to_string()));
            told.signature.push_str(text(&part["thoughtSignature"]));
        }
    }
    if let Some(usage) = data["usageMetadata"].as_object() {
        told.usage = Some((
            usage["promptTokenCount"].clone(),
            usage["candidatesTokenCount"].clone(),
        ));
    }
    if let Some(stop) = candidate["finishReason"].as_str() {
        stop.clone_into(&mut told.stop);
        told.ended = true;
    }
}
