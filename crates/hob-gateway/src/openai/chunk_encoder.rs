//! The pieces of a streamed completion as OpenAI writes them: `data: {…}` and an empty line each.
//!
//! Invariant: what is the same in every piece of a stream is encoded once; a piece of text costs
//! its own bytes and no allocation beyond the buffer it is written to.

use crate::openai::fault::Fault;
use crate::openai::reply::{Reply, arguments, usage_json};
use serde::Serialize;
use serde_json::json;

/// Sent while a model is silent, so that nobody between us and the client gives up.
pub(crate) const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

const CHOICE: &[u8] = br#","choices":[{"index":0,"delta":{"#;
const GOES_ON: &[u8] = br#"},"logprobs":null,"finish_reason":null}]"#;

/// Writes the chunks of one completion.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// `data: {"id":…,"object":…,"created":…,"model":`
    head: Vec<u8>,
    model: String,
    include_usage: bool,
}

impl Chunks {
    pub(crate) fn new(id: &str, created: u64, model: &str, include_usage: bool) -> Self {
        let mut head = Vec::with_capacity(128);
        head.extend_from_slice(br#"data: {"id":"#);
        write_json(&mut head, id);
        head.extend_from_slice(br#","object":"chat.completion.chunk","created":"#);
        write_json(&mut head, &created);
        head.extend_from_slice(br#","model":"#);
        Chunks {
            head,
            model: model.to_owned(),
            include_usage,
        }
    }

    /// The first chunk: who speaks.
    pub(crate) fn role(&self, out: &mut Vec<u8>) {
        self.open(out, &self.model);
        out.extend_from_slice(br#""role":"assistant","content":"","refusal":null"#);
        self.close(out);
    }

    pub(crate) fn text(&self, out: &mut Vec<u8>, text: &str) {
        self.open(out, &self.model);
        out.extend_from_slice(br#""content":"#);
        write_json(out, text);
        self.close(out);
    }

    /// What a model thinks aloud, in the field that compatible services use for it.
    pub(crate) fn thinking(&self, out: &mut Vec<u8>, text: &str) {
        self.open(out, &self.model);
        out.extend_from_slice(br#""reasoning_content":"#);
        write_json(out, text);
        self.close(out);
    }

    /// The end: calls for the client, why it ended, what it used, and `[DONE]`.
    ///
    /// Calls come whole and only now: until the answer is finished another model may have to give
    /// it, and a client must never run a call that was taken back.
    pub(crate) fn end(&self, out: &mut Vec<u8>, reply: &Reply) {
        for (index, call) in reply.calls.iter().enumerate() {
            let opened = json!({
                "index": index,
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": "" },
            });
            self.call(out, &opened);
            let arguments = json!({
                "index": index,
                "function": { "arguments": arguments(call) },
            });
            self.call(out, &arguments);
        }
        let model = reply.model.as_deref().unwrap_or(&self.model);
        self.open(out, model);
        out.extend_from_slice(br#"},"logprobs":null,"finish_reason":"#);
        write_json(out, reply.finish.as_str());
        out.extend_from_slice(b"}]");
        self.shut(out);
        if self.include_usage {
            self.begin(out, model);
            out.extend_from_slice(br#","choices":[],"usage":"#);
            write_json(out, &usage_json(&reply.cost));
            out.extend_from_slice(b"}\n\n");
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn call(&self, out: &mut Vec<u8>, call: &serde_json::Value) {
        self.open(out, &self.model);
        out.extend_from_slice(br#""tool_calls":["#);
        write_json(out, call);
        out.push(b']');
        self.close(out);
    }

    fn begin(&self, out: &mut Vec<u8>, model: &str) {
        out.extend_from_slice(&self.head);
        write_json(out, model);
    }

    fn open(&self, out: &mut Vec<u8>, model: &str) {
        self.begin(out, model);
        out.extend_from_slice(CHOICE);
    }

    fn close(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(GOES_ON);
        self.shut(out);
    }

    fn shut(&self, out: &mut Vec<u8>) {
        if self.include_usage {
            out.extend_from_slice(br#","usage":null"#);
        }
        out.extend_from_slice(b"}\n\n");
    }
}

/// A failure after the stream began: its last event.
pub(crate) fn failure(out: &mut Vec<u8>, fault: &Fault) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(fault.to_json().as_bytes());
    out.extend_from_slice(b"\n\n");
}

fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Texts, numbers and plain values: a vector takes all of them.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
#[path = "chunk_tests.rs"]
mod tests;
