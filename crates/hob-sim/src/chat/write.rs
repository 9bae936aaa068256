//! An answer as chat completions write it, each provider in its way.

use super::flavour::{FlavourQuirks, ThinkingField, UsageTiming, quirks};
use crate::answer::AnswerEnding;
use crate::draft::{
    AnswerDraft, CREATED, DraftCall, FrameTemplate, ReportedUsage, StreamFrame, total,
};
use crate::request::{Flavour, SimRequest};
use serde_json::{Value, json};

/// The offset of an index that belongs to no call.
const STRAY_INDEX: usize = 40;

/// The stream: chunks, the reason it stopped, the usage if it was asked for, `[DONE]`.
pub(crate) fn frames(asked: &SimRequest, draft: &AnswerDraft) -> Vec<StreamFrame> {
    let quirks = quirks(asked.flavour);
    let mut stream = ChatChunkWriter {
        draft,
        quirks,
        usage_null: asked.wants_usage && matches!(quirks.usage, UsageTiming::Asked),
        chunks: 0,
    };
    let mut frames: Vec<StreamFrame> = quirks
        .comment
        .map(StreamFrame::around)
        .into_iter()
        .collect();
    let opening = json!({ "role": "assistant", "content": "", "refusal": null });
    frames.push(StreamFrame::around(stream.delta(&opening)));
    for piece in &draft.thinking {
        let delta = thinking_delta(quirks, piece);
        frames.push(StreamFrame::token(stream.delta(&delta)));
    }
    let template = FrameTemplate::new(&stream.delta(&json!({ "content": FrameTemplate::PLACE })));
    for word in &draft.words {
        let chunk = match &template {
            Some(template) if !draft.wrong_ids => template.fill(word),
            _ => stream.delta(&json!({ "content": word })),
        };
        frames.push(draft.word_frame(chunk));
    }
    for (at, call) in draft.calls.iter().enumerate() {
        frames.extend(stream.call(at, call));
    }
    frames.push(StreamFrame::around(stream.last()));
    let own_chunk = matches!(quirks.usage, UsageTiming::Asked | UsageTiming::Groq);
    if asked.wants_usage && own_chunk && !matches!(draft.usage, ReportedUsage::Missing) {
        frames.push(StreamFrame::around(stream.usage()));
    }
    frames.push(StreamFrame::around("data: [DONE]\n\n"));
    frames
}

/// The answer in one piece.
pub(crate) fn whole(asked: &SimRequest, draft: &AnswerDraft) -> Value {
    let quirks = quirks(asked.flavour);
    let text = draft.words.concat();
    let silent = text.is_empty() && !draft.calls.is_empty();
    let mut message = json!({
        "role": "assistant",
        "content": if silent { Value::Null } else { json!(text) },
        "refusal": null,
    });
    if !draft.thinking.is_empty() {
        let thinking = thinking_delta(quirks, &draft.thinking.concat());
        for (field, value) in thinking.as_object().into_iter().flatten() {
            message[field] = match (field.as_str(), value) {
                ("content", Value::Array(parts)) => {
                    let said = json!({ "type": "text", "text": text });
                    parts.iter().cloned().chain([said]).collect()
                }
                _ => value.clone(),
            };
        }
    }
    if !draft.calls.is_empty() {
        let calls = draft
            .calls
            .iter()
            .map(|call| tool_call_json(quirks, call, &call.args));
        message["tool_calls"] = calls.collect();
    }
    let mut body = json!({
        "id": format!("chatcmpl-{}", draft.id),
        "object": "chat.completion",
        "created": CREATED,
        "model": draft.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": stop(draft),
        }],
        "service_tier": "default",
        "system_fingerprint": "fp_sim",
    });
    if let Some(usage) = usage(draft) {
        body["usage"] = usage;
    }
    body
}

/// The list of models, or the one that was asked for.
pub(crate) fn models(models: &[String], one: bool) -> Value {
    let rows = models.iter().map(
        |id| json!({ "id": id, "object": "model", "created": CREATED, "owned_by": "hob-sim" }),
    );
    let mut rows: Vec<Value> = rows.collect();
    match rows.pop() {
        Some(row) if one => row,
        last => {
            rows.extend(last);
            json!({ "object": "list", "data": rows })
        }
    }
}

/// A failure inside the stream, after which nothing follows.
pub(crate) fn error_frames(flavour: Flavour) -> Vec<StreamFrame> {
    let mut error = json!({ "error": {
        "message": "The server had an error while processing your request. Sorry about that!",
        "type": "server_error",
        "param": null,
        "code": null,
    }});
    if flavour == Flavour::OpenRouter {
        // Its errors are chunks like the others.
        error["error"]["code"] = json!(502);
        error["object"] = json!("chat.completion.chunk");
        error["choices"] = json!([{
            "index": 0,
            "delta": { "content": "" },
            "finish_reason": "error",
        }]);
    }
    vec![StreamFrame::around(event(&error))]
}

struct ChatChunkWriter<'a> {
    draft: &'a AnswerDraft,
    quirks: &'static FlavourQuirks,
    /// Every chunk before the last says `usage: null` when usage was asked for.
    usage_null: bool,
    chunks: usize,
}

impl ChatChunkWriter<'_> {
    fn delta(&mut self, delta: &Value) -> String {
        let chunk = self.chunk(delta, &Value::Null);
        event(&chunk)
    }

    /// The chunk that says why the answer ended.
    fn last(&mut self) -> String {
        let mut chunk = self.chunk(&json!({}), &json!(stop(self.draft)));
        if let Some(usage) = usage(self.draft) {
            match self.quirks.usage {
                UsageTiming::Last => chunk["usage"] = usage,
                UsageTiming::Groq => chunk["x_groq"] = json!({ "id": "req_sim", "usage": usage }),
                UsageTiming::Asked | UsageTiming::Each => {}
            }
        }
        event(&chunk)
    }

    fn chunk(&mut self, delta: &Value, stop: &Value) -> Value {
        let choices = json!([{
            "index": 0,
            "delta": delta,
            "logprobs": null,
            "finish_reason": stop,
        }]);
        let mut chunk = self.envelope(&choices);
        if self.usage_null {
            chunk["usage"] = Value::Null;
        }
        if matches!(self.quirks.usage, UsageTiming::Each)
            && let Some(usage) = usage(self.draft)
        {
            chunk["usage"] = usage;
        }
        chunk
    }

    fn usage(&mut self) -> String {
        let mut chunk = self.envelope(&json!([]));
        chunk["usage"] = usage(self.draft).unwrap_or_default();
        event(&chunk)
    }

    fn envelope(&mut self, choices: &Value) -> Value {
        self.chunks += 1;
        let id = if self.draft.wrong_ids {
            format!("chatcmpl-{}-{}", self.draft.id, self.chunks)
        } else {
            format!("chatcmpl-{}", self.draft.id)
        };
        json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.draft.model,
            "service_tier": "default",
            "system_fingerprint": "fp_sim",
            "choices": choices,
        })
    }

    /// One tool call: whole, or its name first and then its arguments in pieces.
    fn call(&mut self, at: usize, call: &DraftCall) -> Vec<StreamFrame> {
        let first = if self.quirks.calls_whole {
            &call.args
        } else {
            ""
        };
        let mut opening = tool_call_json(self.quirks, call, first);
        opening["index"] = json!(at);
        let mut frames = vec![StreamFrame::token(
            self.delta(&json!({ "tool_calls": [opening] })),
        )];
        if self.quirks.calls_whole {
            return frames;
        }
        let index = if self.draft.wrong_ids {
            at + STRAY_INDEX
        } else {
            at
        };
        for piece in call.pieces() {
            let delta = json!({ "tool_calls": [{
                "index": index,
                "function": { "arguments": piece },
            }]});
            frames.push(StreamFrame::token(self.delta(&delta)));
        }
        frames
    }
}

fn thinking_delta(quirks: &FlavourQuirks, piece: &str) -> Value {
    match quirks.thinking {
        ThinkingField::ReasoningContent => json!({ "reasoning_content": piece }),
        ThinkingField::Reasoning => json!({ "reasoning": piece }),
        ThinkingField::Details => json!({
            "reasoning": piece,
            "reasoning_details": [{
                "type": "reasoning.text",
                "text": piece,
                "format": "unknown",
                "index": 0,
            }],
        }),
        ThinkingField::Parts => json!({ "content": [{
            "type": "thinking",
            "thinking": [{ "type": "text", "text": piece }],
        }]}),
    }
}

fn tool_call_json(quirks: &FlavourQuirks, call: &DraftCall, args: &str) -> Value {
    json!({
        "id": call.short_id(quirks.id_prefix, quirks.id_len),
        "type": "function",
        "function": { "name": call.name, "arguments": args },
    })
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn stop(draft: &AnswerDraft) -> &'static str {
    match draft.ending {
        AnswerEnding::Length => "length",
        AnswerEnding::Content => "content_filter",
        AnswerEnding::Done if draft.calls.is_empty() => "stop",
        AnswerEnding::Done => "tool_calls",
    }
}

fn usage(draft: &AnswerDraft) -> Option<Value> {
    match &draft.usage {
        ReportedUsage::Said(input, output) => Some(json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": total(input, output),
            "prompt_tokens_details": { "cached_tokens": 0, "audio_tokens": 0 },
            "completion_tokens_details": { "reasoning_tokens": draft.thinking.len() },
        })),
        ReportedUsage::Raw(raw) => Some(raw.clone()),
        ReportedUsage::Missing => None,
    }
}
