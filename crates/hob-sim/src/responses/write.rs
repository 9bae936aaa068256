//! An answer as the responses API writes it: items, each announced, filled and closed by typed
//! events with a running number.

use crate::answer::AnswerEnding;
use crate::draft::{AnswerDraft, CREATED, DraftCall, ReportedUsage, StreamFrame, total};
use serde_json::{Value, json};

/// The stream, from `response.created` to `response.completed` or `response.incomplete`.
pub(crate) fn frames(draft: &AnswerDraft) -> Vec<StreamFrame> {
    let mut stream = ResponsesEventWriter {
        draft,
        frames: Vec::new(),
        sequence: 0,
        output: 0,
    };
    let begun = response(draft, "in_progress", &[]);
    stream.around("response.created", json!({ "response": begun }));
    stream.around("response.in_progress", json!({ "response": begun }));
    if !draft.thinking.is_empty() {
        stream.thinking();
    }
    if !draft.words.is_empty() {
        stream.words();
    }
    for at in 0..draft.calls.len() {
        stream.call(at);
    }
    let (status, kind) = match draft.ending {
        AnswerEnding::Done => ("completed", "response.completed"),
        AnswerEnding::Length | AnswerEnding::Content => ("incomplete", "response.incomplete"),
    };
    let ended = response(draft, status, &items(draft));
    stream.around(kind, json!({ "response": ended }));
    stream.frames
}

/// The answer in one piece.
pub(crate) fn whole(draft: &AnswerDraft) -> Value {
    let status = match draft.ending {
        AnswerEnding::Done => "completed",
        AnswerEnding::Length | AnswerEnding::Content => "incomplete",
    };
    response(draft, status, &items(draft))
}

/// A failure inside the stream, after which nothing follows.
pub(crate) fn error_frames() -> Vec<StreamFrame> {
    let error = json!({
        "type": "error",
        "code": "server_error",
        "message": "The server had an error while processing your request. Sorry about that!",
        "param": null,
        "sequence_number": 99,
    });
    vec![StreamFrame::around(format!(
        "event: error\ndata: {error}\n\n"
    ))]
}

struct ResponsesEventWriter<'a> {
    draft: &'a AnswerDraft,
    frames: Vec<StreamFrame>,
    sequence: usize,
    /// The place of the item under way.
    output: usize,
}

impl ResponsesEventWriter<'_> {
    fn thinking(&mut self) {
        let text = self.draft.thinking.concat();
        let id = format!("rs_{}", self.draft.id);
        let opened = json!({ "id": id, "type": "reasoning", "summary": [] });
        self.open(&opened);
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let place = json!({ "item_id": self.item(&id), "summary_index": 0 });
        let added = with(&place, "part", part(""));
        self.within("response.reasoning_summary_part.added", &added);
        for piece in &self.draft.thinking {
            let delta = with(&place, "delta", json!(piece));
            let bytes = self.event("response.reasoning_summary_text.delta", &delta);
            self.frames.push(StreamFrame::token(bytes));
        }
        let done = with(&place, "text", json!(text));
        self.within("response.reasoning_summary_text.done", &done);
        let done = with(&place, "part", part(&text));
        self.within("response.reasoning_summary_part.done", &done);
        self.close(&reasoning_item(self.draft));
    }

    fn words(&mut self) {
        let text = self.draft.words.concat();
        let id = format!("msg_{}", self.draft.id);
        let opened = json!({
            "id": id,
            "type": "message",
            "status": "in_progress",
            "role": "assistant",
            "content": [],
        });
        self.open(&opened);
        let place = json!({ "item_id": self.item(&id), "content_index": 0 });
        let added = with(&place, "part", text_part(""));
        self.within("response.content_part.added", &added);
        for word in &self.draft.words {
            let delta = with(&place, "delta", json!(word));
            let delta = with(&delta, "logprobs", json!([]));
            let bytes = self.event("response.output_text.delta", &delta);
            self.frames.push(self.draft.word_frame(bytes));
        }
        let done = with(&place, "text", json!(text));
        let done = with(&done, "logprobs", json!([]));
        self.within("response.output_text.done", &done);
        let done = with(&place, "part", text_part(&text));
        self.within("response.content_part.done", &done);
        self.close(&message_item(self.draft));
    }

    fn call(&mut self, at: usize) {
        let Some(call) = self.draft.calls.get(at) else {
            return;
        };
        let id = format!("fc_{}_{at}", self.draft.id);
        self.open(&call_item(&id, call, "in_progress", ""));
        let place = json!({ "item_id": self.item(&id) });
        for piece in call.pieces() {
            let delta = with(&place, "delta", json!(piece));
            let bytes = self.event("response.function_call_arguments.delta", &delta);
            self.frames.push(StreamFrame::token(bytes));
        }
        let done = with(&place, "arguments", json!(call.args));
        let done = with(&done, "name", json!(call.name));
        self.within("response.function_call_arguments.done", &done);
        self.close(&call_item(&id, call, "completed", &call.args));
    }

    /// The id events use for an item; of wrong ids, one that no item has.
    fn item(&self, id: &str) -> String {
        if self.draft.wrong_ids {
            format!("{id}_nobody")
        } else {
            id.to_owned()
        }
    }

    fn open(&mut self, item: &Value) {
        self.within("response.output_item.added", &json!({ "item": item }));
    }

    fn close(&mut self, item: &Value) {
        self.within("response.output_item.done", &json!({ "item": item }));
        self.output += 1;
    }

    /// An event of the item under way.
    fn within(&mut self, kind: &str, fields: &Value) {
        let bytes = self.event(kind, fields);
        self.frames.push(StreamFrame::around(bytes));
    }

    fn event(&mut self, kind: &str, fields: &Value) -> String {
        let astray = if self.draft.wrong_ids { 40 } else { 0 };
        let place = json!(self.output + astray);
        self.encode(kind, with(fields, "output_index", place))
    }

    /// An event of the whole response.
    fn around(&mut self, kind: &str, fields: Value) {
        let bytes = self.encode(kind, fields);
        self.frames.push(StreamFrame::around(bytes));
    }

    fn encode(&mut self, kind: &str, fields: Value) -> String {
        let mut data = json!({ "type": kind, "sequence_number": self.sequence });
        self.sequence += 1;
        if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
            data.extend(fields);
        }
        format!("event: {kind}\ndata: {data}\n\n")
    }
}

fn with(fields: &Value, name: &str, value: Value) -> Value {
    let mut fields = fields.clone();
    fields[name] = value;
    fields
}

fn response(draft: &AnswerDraft, status: &str, output: &[Value]) -> Value {
    let reason = match draft.ending {
        AnswerEnding::Length => json!({ "reason": "max_output_tokens" }),
        AnswerEnding::Content => json!({ "reason": "content_filter" }),
        AnswerEnding::Done => Value::Null,
    };
    let over = status != "in_progress";
    json!({
        "id": format!("resp_{}", draft.id),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": if over { reason } else { Value::Null },
        "instructions": null,
        "max_output_tokens": null,
        "model": draft.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null },
        "store": false,
        "temperature": 1.0,
        "text": { "format": { "type": "text" } },
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": if over { usage(draft) } else { Value::Null },
        "user": null,
        "metadata": {},
    })
}

fn items(draft: &AnswerDraft) -> Vec<Value> {
    let mut items = Vec::new();
    if !draft.thinking.is_empty() {
        items.push(reasoning_item(draft));
    }
    if !draft.words.is_empty() {
        items.push(message_item(draft));
    }
    for (at, call) in draft.calls.iter().enumerate() {
        let id = format!("fc_{}_{at}", draft.id);
        items.push(call_item(&id, call, "completed", &call.args));
    }
    items
}

fn reasoning_item(draft: &AnswerDraft) -> Value {
    json!({
        "id": format!("rs_{}", draft.id),
        "type": "reasoning",
        "summary": [{ "type": "summary_text", "text": draft.thinking.concat() }],
    })
}

fn message_item(draft: &AnswerDraft) -> Value {
    let whole = draft.ending == AnswerEnding::Done;
    json!({
        "id": format!("msg_{}", draft.id),
        "type": "message",
        "status": if whole { "completed" } else { "incomplete" },
        "role": "assistant",
        "content": [text_part(&draft.words.concat())],
    })
}

fn call_item(id: &str, call: &DraftCall, status: &str, args: &str) -> Value {
    json!({
        "id": id,
        "type": "function_call",
        "status": status,
        "arguments": args,
        "call_id": call.id("call_"),
        "name": call.name,
    })
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text })
}

fn usage(draft: &AnswerDraft) -> Value {
    match &draft.usage {
        ReportedUsage::Said(input, output) => json!({
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output,
            "output_tokens_details": { "reasoning_tokens": draft.thinking.len() },
            "total_tokens": total(input, output),
        }),
        ReportedUsage::Raw(raw) => raw.clone(),
        ReportedUsage::Missing => Value::Null,
    }
}
