//! Encodes the chunks of a streamed completion in OpenAI's format: `data: {…}` and an empty line
//! each.
//!
//! Invariant: fields that are equal in all chunks of a stream are encoded once. A text chunk costs
//! its own bytes and no allocation beyond the output buffer.

use crate::openai::error::OpenaiError;
use crate::openai::reply::{CompletionReply, arguments, usage_json};
use serde::Serialize;
use serde_json::json;

/// A comment line, sent while a model is silent so that no proxy or client times out.
pub(crate) const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

const CHOICE: &[u8] = br#","choices":[{"index":0,"delta":{"#;
const NOT_FINISHED: &[u8] = br#"},"logprobs":null,"finish_reason":null}]"#;

/// The encoder of one completion.
#[derive(Debug)]
pub(crate) struct ChunkEncoder {
    /// `data: {"id":…,"object":…,"created":…,"model":`
    head: Vec<u8>,
    model: String,
    include_usage: bool,
}

impl ChunkEncoder {
    pub(crate) fn new(id: &str, created: u64, model: &str, include_usage: bool) -> Self {
        // Written by hand: a serializer per chunk would encode the same fields again and again.
        let mut head = Vec::with_capacity(128);
        head.extend_from_slice(br#"data: {"id":"#);
        write_json(&mut head, id);
        head.extend_from_slice(br#","object":"chat.completion.chunk","created":"#);
        write_json(&mut head, &created);
        head.extend_from_slice(br#","model":"#);
        ChunkEncoder {
            head,
            model: model.to_owned(),
            include_usage,
        }
    }

    /// Writes the first chunk, which names the role.
    pub(crate) fn write_role(&self, out: &mut Vec<u8>) {
        self.open_choice(out, &self.model);
        out.extend_from_slice(br#""role":"assistant","content":"","refusal":null"#);
        self.close_choice(out);
    }

    pub(crate) fn write_text(&self, out: &mut Vec<u8>, text: &str) {
        self.open_choice(out, &self.model);
        out.extend_from_slice(br#""content":"#);
        write_json(out, text);
        self.close_choice(out);
    }

    /// Writes a chunk of thinking, in the field that OpenAI-compatible services use.
    pub(crate) fn write_thinking(&self, out: &mut Vec<u8>, text: &str) {
        self.open_choice(out, &self.model);
        out.extend_from_slice(br#""reasoning_content":"#);
        write_json(out, text);
        self.close_choice(out);
    }

    /// Writes the end: tool calls, finish reason, usage and `[DONE]`.
    ///
    /// Tool calls are sent only now: until the answer is complete, another model may have to give
    /// it, and a client must never run a call that was taken back.
    pub(crate) fn write_end(&self, out: &mut Vec<u8>, reply: &CompletionReply) {
        for (index, call) in reply.calls.iter().enumerate() {
            // Two chunks per call, as OpenAI sends them: the name first, then the arguments.
            let opened = json!({
                "index": index,
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": "" },
            });
            self.write_call(out, &opened);
            let arguments = json!({
                "index": index,
                "function": { "arguments": arguments(call) },
            });
            self.write_call(out, &arguments);
        }
        // The model that really answered is known only now; an alias or `hob` was asked for.
        let model = reply.model.as_deref().unwrap_or(&self.model);
        self.open_choice(out, model);
        out.extend_from_slice(br#"},"logprobs":null,"finish_reason":"#);
        write_json(out, reply.finish.as_str());
        out.extend_from_slice(b"}]");
        self.close_chunk(out);
        if self.include_usage {
            self.write_head(out, model);
            out.extend_from_slice(br#","choices":[],"usage":"#);
            write_json(out, &usage_json(&reply.cost));
            out.extend_from_slice(b"}\n\n");
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn write_call(&self, out: &mut Vec<u8>, call: &serde_json::Value) {
        self.open_choice(out, &self.model);
        out.extend_from_slice(br#""tool_calls":["#);
        write_json(out, call);
        out.push(b']');
        self.close_choice(out);
    }

    fn write_head(&self, out: &mut Vec<u8>, model: &str) {
        out.extend_from_slice(&self.head);
        write_json(out, model);
    }

    fn open_choice(&self, out: &mut Vec<u8>, model: &str) {
        self.write_head(out, model);
        out.extend_from_slice(CHOICE);
    }

    fn close_choice(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(NOT_FINISHED);
        self.close_chunk(out);
    }

    fn close_chunk(&self, out: &mut Vec<u8>) {
        if self.include_usage {
            out.extend_from_slice(br#","usage":null"#);
        }
        out.extend_from_slice(b"}\n\n");
    }
}

/// Writes an error as the last event of a stream that already began.
pub(crate) fn write_error(out: &mut Vec<u8>, error: &OpenaiError) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(error.to_json().as_bytes());
    out.extend_from_slice(b"\n\n");
}

fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Cannot fail: the values are plain JSON and a vector accepts all writes.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
#[path = "chunk_encoder_tests.rs"]
mod tests;
