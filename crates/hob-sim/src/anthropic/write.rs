//! An answer as Anthropic writes it: a message of blocks.

use crate::answer::AnswerEnding;
use crate::draft::{AnswerDraft, DraftCall, FrameTemplate, ReportedUsage, StreamFrame, signature};
use serde_json::{Value, json};

/// The offset of an index that belongs to no block.
const STRAY_INDEX: usize = 40;

/// The stream: `message_start`, each block with its deltas, `message_delta`, `message_stop`.
pub(crate) fn frames(draft: &AnswerDraft) -> Vec<StreamFrame> {
    let mut message = message(draft, &json!([]), &Value::Null);
    if let (Some(usage), ReportedUsage::Said(..)) = (message.get_mut("usage"), &draft.usage) {
        usage["output_tokens"] = json!(1);
    }
    let opening = json!({ "type": "message_start", "message": message });
    let mut blocks = AnthropicBlockWriter {
        frames: vec![around("message_start", &opening)],
        index: 0,
        astray: if draft.wrong_ids { STRAY_INDEX } else { 0 },
    };
    if !draft.thinking.is_empty() {
        blocks.thinking(draft);
    }
    if !draft.words.is_empty() {
        blocks.words(draft);
    }
    for call in &draft.calls {
        blocks.call(call);
    }
    let mut frames = blocks.frames;
    // The provider sends one early on, and readers have to live with it anywhere.
    frames.insert(
        frames.len().min(2),
        around("ping", &json!({ "type": "ping" })),
    );
    let mut ending = json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop(draft), "stop_sequence": null },
    });
    if let Some(usage) = usage(draft) {
        ending["usage"] = usage;
    }
    frames.push(around("message_delta", &ending));
    frames.push(around("message_stop", &json!({ "type": "message_stop" })));
    frames
}

/// The answer in one piece.
pub(crate) fn whole(draft: &AnswerDraft) -> Value {
    let mut content = Vec::new();
    if !draft.thinking.is_empty() {
        let thinking = draft.thinking.concat();
        let proof = signature(&thinking);
        content.push(json!({ "type": "thinking", "thinking": thinking, "signature": proof }));
    }
    if !draft.words.is_empty() {
        content.push(json!({ "type": "text", "text": draft.words.concat() }));
    }
    for call in &draft.calls {
        let mut block = tool_use(call);
        block["input"] = call.value();
        content.push(block);
    }
    message(draft, &json!(content), &json!(stop(draft)))
}

/// The list of models, or the one that was asked for.
pub(crate) fn models(models: &[String], one: bool) -> Value {
    let rows = models.iter().map(|id| {
        json!({
            "type": "model",
            "id": id,
            "display_name": id,
            "created_at": "2026-01-01T00:00:00Z",
        })
    });
    let mut rows: Vec<Value> = rows.collect();
    match rows.pop() {
        Some(row) if one => row,
        last => {
            rows.extend(last);
            json!({
                "data": rows,
                "has_more": false,
                "first_id": models.first(),
                "last_id": models.last(),
            })
        }
    }
}

/// A failure inside the stream, after which nothing follows.
pub(crate) fn error_frames() -> Vec<StreamFrame> {
    let error = json!({
        "type": "error",
        "error": { "type": "overloaded_error", "message": "Overloaded" },
        "request_id": "req_011CSim0000000000000000",
    });
    vec![around("error", &error)]
}

struct AnthropicBlockWriter {
    frames: Vec<StreamFrame>,
    index: usize,
    /// Added to the index of every delta.
    astray: usize,
}

impl AnthropicBlockWriter {
    fn thinking(&mut self, draft: &AnswerDraft) {
        self.start(&json!({ "type": "thinking", "thinking": "", "signature": "" }));
        for piece in &draft.thinking {
            let delta = self.delta(&json!({ "type": "thinking_delta", "thinking": piece }));
            self.frames.push(StreamFrame::token(delta));
        }
        let proof = signature(&draft.thinking.concat());
        let delta = self.delta(&json!({ "type": "signature_delta", "signature": proof }));
        self.frames.push(StreamFrame::around(delta));
        self.stop();
    }

    fn words(&mut self, draft: &AnswerDraft) {
        self.start(&json!({ "type": "text", "text": "" }));
        let said = |word: &str| json!({ "type": "text_delta", "text": word });
        let template = FrameTemplate::new(&self.delta(&said(FrameTemplate::PLACE)));
        for word in &draft.words {
            let delta = match &template {
                Some(template) => template.fill(word),
                None => self.delta(&said(word)),
            };
            self.frames.push(draft.word_frame(delta));
        }
        self.stop();
    }

    fn call(&mut self, call: &DraftCall) {
        self.start(&tool_use(call));
        let first = std::iter::once(String::new());
        for piece in first.chain(call.pieces()) {
            let delta = self.delta(&json!({ "type": "input_json_delta", "partial_json": piece }));
            self.frames.push(StreamFrame::token(delta));
        }
        self.stop();
    }

    fn start(&mut self, block: &Value) {
        let start = json!({
            "type": "content_block_start",
            "index": self.index,
            "content_block": block,
        });
        self.frames.push(around("content_block_start", &start));
    }

    fn delta(&self, delta: &Value) -> String {
        let data = json!({
            "type": "content_block_delta",
            "index": self.index + self.astray,
            "delta": delta,
        });
        event("content_block_delta", &data)
    }

    fn stop(&mut self) {
        let stop = json!({ "type": "content_block_stop", "index": self.index });
        self.frames.push(around("content_block_stop", &stop));
        self.index += 1;
    }
}

fn message(draft: &AnswerDraft, content: &Value, stop: &Value) -> Value {
    let mut message = json!({
        "id": format!("msg_{}", draft.id),
        "type": "message",
        "role": "assistant",
        "model": draft.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
    });
    if let Some(usage) = usage(draft) {
        message["usage"] = usage;
    }
    message
}

fn tool_use(call: &DraftCall) -> Value {
    json!({ "type": "tool_use", "id": call.id("toolu_"), "name": call.name, "input": {} })
}

fn around(kind: &str, data: &Value) -> StreamFrame {
    StreamFrame::around(event(kind, data))
}

fn event(kind: &str, data: &Value) -> String {
    format!("event: {kind}\ndata: {data}\n\n")
}

fn stop(draft: &AnswerDraft) -> &'static str {
    match draft.ending {
        AnswerEnding::Length => "max_tokens",
        AnswerEnding::Content => "refusal",
        AnswerEnding::Done if draft.calls.is_empty() => "end_turn",
        AnswerEnding::Done => "tool_use",
    }
}

fn usage(draft: &AnswerDraft) -> Option<Value> {
    match &draft.usage {
        ReportedUsage::Said(input, output) => Some(json!({
            "input_tokens": input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output,
            "service_tier": "standard",
        })),
        ReportedUsage::Raw(raw) => Some(raw.clone()),
        ReportedUsage::Missing => None,
    }
}
