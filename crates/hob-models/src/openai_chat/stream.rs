//! Decodes the stream of chat completions. Pure.
//!
//! Invariant: an answer is complete once a chunk gave a finish reason; without one the stream was
//! cut.

use crate::dialect::{self, DecodedReply, StreamDecoder, text};
use crate::error::ModelError;
use crate::prompt::{ReplyDelta, StopReason};
use crate::provider_refusal;
use crate::reasoning;
use crate::reply_builder::{PartIndex, ReplyBuilder};
use crate::usage::{ClaimedUsage, TokenFigure};
use hob_net::SseEvent;
use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct OpenaiChatStream {
    builder: ReplyBuilder,
    /// Calls with the index and id of their chunks.
    calls: Vec<OpenaiChatCall>,
    stop: Option<StopReason>,
    claim: ClaimedUsage,
    /// The `reasoning_details` of a router, to be sent back.
    details: Vec<Value>,
    refused: bool,
}

#[derive(Debug)]
struct OpenaiChatCall {
    index: Option<u64>,
    id: String,
    slot: PartIndex,
}

impl StreamDecoder for OpenaiChatStream {
    fn push_event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<bool, ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(true);
        }
        if data.is_empty() {
            return Ok(false);
        }
        let chunk = dialect::parse_json(data)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) || event.event == "error" {
            return Err(provider_refusal::stream_error(&chunk));
        }
        if !chunk.is_object() {
            return Err(ModelError::protocol("A chunk of the stream is no object."));
        }
        self.take_usage(&chunk);
        // Only one choice is requested, so any other is ignored.
        let Some(choice) = chunk.pointer("/choices/0") else {
            return Ok(false);
        };
        // Some servers send a whole message in place of a delta.
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.take_delta(delta, out)?;
        }
        let reason = text(choice, "/finish_reason");
        if !reason.is_empty() {
            self.stop = Some(stop_of(reason, &chunk)?);
        }
        Ok(false)
    }

    fn finish(mut self: Box<Self>) -> Result<DecodedReply, ModelError> {
        let mut stop = self.stop.ok_or_else(ModelError::stream_cut)?;
        if self.refused && stop == StopReason::End {
            stop = StopReason::Content;
        }
        if !self.details.is_empty() {
            let details = Value::Array(std::mem::take(&mut self.details)).to_string();
            let signature = reasoning::tag_signature(reasoning::DETAILS, &details);
            self.builder.open_thinking(String::new(), Some(signature))?;
        }
        Ok(DecodedReply::from_builder(self.builder, stop, self.claim))
    }
}

impl OpenaiChatStream {
    fn take_delta(&mut self, delta: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        // Some servers send the same thought in both fields, so only the first one counts.
        for field in ["/reasoning_content", "/reasoning"] {
            let thought = text(delta, field);
            if !thought.is_empty() {
                self.builder.push_thinking(thought, out)?;
                break;
            }
        }
        if let Some(Value::Array(details)) = delta.get("reasoning_details") {
            self.details.extend(details.iter().cloned());
        }
        match delta.get("content") {
            Some(Value::String(said)) => self.builder.push_text(said, out)?,
            Some(Value::Array(parts)) => self.take_parts(parts, out)?,
            _ => {}
        }
        // A refusal comes in a field of its own, in place of the content.
        let refusal = text(delta, "/refusal");
        if !refusal.is_empty() {
            self.refused = true;
            self.builder.push_text(refusal, out)?;
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.take_call(call, out)?;
        }
        Ok(())
    }

    /// Reads content parts. Mistral's reasoning models send thoughts as parts.
    fn take_parts(&mut self, parts: &[Value], out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        for part in parts {
            match text(part, "/type") {
                "text" => self.builder.push_text(text(part, "/text"), out)?,
                "thinking" => {
                    let thoughts = part.get("thinking").and_then(Value::as_array);
                    for thought in thoughts.into_iter().flatten() {
                        self.builder.push_thinking(text(thought, "/text"), out)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take_call(&mut self, call: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let index = call.get("index").and_then(Value::as_u64);
        let id = text(call, "/id");
        let name = text(call, "/function/name");
        let known = self.known_call(index, id, name);
        let slot = if let Some(slot) = known {
            // Some servers send the id or the name only with a later piece.
            self.builder.complete_call(slot, id, name);
            slot
        } else if id.is_empty() && name.is_empty() {
            return Err(ModelError::protocol("A piece belongs to no open call."));
        } else {
            let slot = self.builder.open_call(id, name, out)?;
            self.calls.push(OpenaiChatCall {
                index,
                id: id.to_owned(),
                slot,
            });
            slot
        };
        match call.pointer("/function/arguments") {
            Some(Value::String(delta)) => self.builder.push_args(slot, delta, out),
            // A server that sends arguments as an object sends them complete.
            Some(whole @ Value::Object(_)) => self.builder.push_args(slot, &whole.to_string(), out),
            _ => Ok(()),
        }
    }

    /// Returns the call a chunk continues. Some servers give every call the index 0: there, a new id
    /// with a name opens a new call.
    fn known_call(&self, index: Option<u64>, id: &str, name: &str) -> Option<PartIndex> {
        let same = |call: &&OpenaiChatCall| match index {
            Some(_) => call.index == index,
            None => id.is_empty() || call.id == id,
        };
        let call = self.calls.iter().rev().find(same)?;
        let other = !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty();
        (!other).then_some(call.slot)
    }

    fn take_usage(&mut self, chunk: &Value) {
        let usage = chunk
            .get("usage")
            .filter(|usage| usage.is_object())
            // Groq's usage field.
            .or_else(|| chunk.pointer("/x_groq/usage"));
        let Some(usage) = usage else { return };
        self.claim = ClaimedUsage {
            input: TokenFigure::at(usage, "/prompt_tokens"),
            output: TokenFigure::at(usage, "/completion_tokens"),
            cached: TokenFigure::at(usage, "/prompt_tokens_details/cached_tokens")
                // DeepSeek's name of the field.
                .or(TokenFigure::at(usage, "/prompt_cache_hit_tokens")),
            hidden: TokenFigure::at(usage, "/completion_tokens_details/reasoning_tokens"),
        };
    }
}

fn stop_of(reason: &str, chunk: &Value) -> Result<StopReason, ModelError> {
    Ok(match reason {
        "tool_calls" | "function_call" => StopReason::Tools,
        "length" | "model_length" | "max_tokens" => StopReason::Length,
        "content_filter" => StopReason::Content,
        "error" => return Err(provider_refusal::stream_error(chunk)),
        // `stop`, `eos`, and the names of other servers.
        _ => StopReason::End,
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
