//! An answer as chat completions write it.

use crate::answer::Ending;
use crate::asked::Asked;
use crate::draft::{CREATED, Draft, Frame, Used, total};
use serde_json::{Value, json};

/// The stream: chunks, the reason it stopped, the usage if it was asked for, `[DONE]`.
pub(crate) fn frames(asked: &Asked, draft: &Draft) -> Vec<Frame> {
    let mut stream = Stream {
        draft,
        usage_null: asked.wants_usage,
        chunks: 0,
    };
    let mut frames = Vec::new();
    let opening = json!({ "role": "assistant", "content": "", "refusal": null });
    frames.push(Frame::around(stream.delta(&opening)));
    for piece in &draft.thinking {
        let delta = json!({ "reasoning_content": piece });
        frames.push(Frame::token(stream.delta(&delta)));
    }
    for word in &draft.words {
        let chunk = stream.delta(&json!({ "content": word }));
        frames.push(draft.word_frame(chunk));
    }
    for at in 0..draft.calls.len() {
        frames.extend(stream.call(at));
    }
    frames.push(Frame::around(stream.chunk(&json!({}), &stop(draft).into())));
    if asked.wants_usage && !matches!(draft.usage, Used::Missing) {
        frames.push(Frame::around(stream.usage()));
    }
    frames.push(Frame::around("data: [DONE]\n\n"));
    frames
}

/// The answer in one piece.
pub(crate) fn whole(draft: &Draft) -> Value {
    let text = draft.words.concat();
    let silent = text.is_empty() && !draft.calls.is_empty();
    let mut message = json!({
        "role": "assistant",
        "content": if silent { Value::Null } else { json!(text) },
        "refusal": null,
    });
    if !draft.thinking.is_empty() {
        message["reasoning_content"] = json!(draft.thinking.concat());
    }
    if !draft.calls.is_empty() {
        let calls = draft.calls.iter().map(|call| {
            json!({
                "id": call.id("call_"),
                "type": "function",
                "function": { "name": call.name, "arguments": call.args },
            })
        });
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
pub(crate) fn error_frames() -> Vec<Frame> {
    let error = json!({ "error": {
        "message": "The server had an error while processing your request. Sorry about that!",
        "type": "server_error",
        "param": null,
        "code": null,
    }});
    vec![Frame::around(event(&error))]
}

struct Stream<'a> {
    draft: &'a Draft,
    /// Every chunk before the last says `usage: null` when usage was asked for.
    usage_null: bool,
    chunks: usize,
}

impl Stream<'_> {
    fn delta(&mut self, delta: &Value) -> String {
        self.chunk(delta, &Value::Null)
    }

    fn chunk(&mut self, delta: &Value, stop: &Value) -> String {
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
        event(&chunk)
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

    /// One tool call: its name first, then its arguments in pieces.
    fn call(&mut self, at: usize) -> Vec<Frame> {
        let draft = self.draft;
        let Some(call) = draft.calls.get(at) else {
            return Vec::new();
        };
        let opening = json!({ "tool_calls": [{
            "index": at,
            "id": call.id("call_"),
            "type": "function",
            "function": { "name": call.name, "arguments": "" },
        }]});
        let mut frames = vec![Frame::token(self.delta(&opening))];
        // A delta for an index that was never opened.
        let index = if draft.wrong_ids { at + 40 } else { at };
        for piece in call.pieces() {
            let delta = json!({ "tool_calls": [{
                "index": index,
                "function": { "arguments": piece },
            }]});
            frames.push(Frame::token(self.delta(&delta)));
        }
        frames
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn stop(draft: &Draft) -> &'static str {
    match draft.ending {
        Ending::Length => "length",
        Ending::Content => "content_filter",
        Ending::Done if draft.calls.is_empty() => "stop",
        Ending::Done => "tool_calls",
    }
}

fn usage(draft: &Draft) -> Option<Value> {
    match &draft.usage {
        Used::Said(input, output) => Some(json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": total(input, output),
            "prompt_tokens_details": { "cached_tokens": 0, "audio_tokens": 0 },
            "completion_tokens_details": { "reasoning_tokens": draft.thinking.len() },
        })),
        Used::Raw(raw) => Some(raw.clone()),
        Used::Missing => None,
    }
}
