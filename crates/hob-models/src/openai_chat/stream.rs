//! The stream of chat completions. Pure.
//!
//! Invariant: an answer is whole once a chunk gave its reason to end; without one the stream was
//! cut.

use crate::assembly::{Assembly, Slot};
use crate::dialect::{self, Decoded, Decoder, text};
use crate::error::ModelError;
use crate::prompt::{Piece, Stop};
use crate::reasoning;
use crate::refusal;
use crate::usage::{Claim, Figure};
use hob_kit::failpoint;
use hob_net::SseEvent;
use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct ChatStream {
    assembly: Assembly,
    /// Calls by the index and id their chunks name.
    calls: Vec<OpenCall>,
    stop: Option<Stop>,
    claim: Claim,
    /// Details a router sends along with thoughts, to be given back.
    details: Vec<Value>,
    refused: bool,
}

#[derive(Debug)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    slot: Slot,
}

impl Decoder for ChatStream {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Piece>) -> Result<bool, ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(true);
        }
        if data.is_empty() {
            return Ok(false);
        }
        let chunk = dialect::json(data)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) || event.event == "error" {
            return Err(refusal::in_stream(&chunk));
        }
        if !chunk.is_object() {
            return Err(ModelError::protocol("A chunk of the stream is no object."));
        }
        self.take_usage(&chunk);
        // Other choices than the first were not asked for.
        let Some(choice) = chunk.pointer("/choices/0") else {
            return Ok(false);
        };
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.take_delta(delta, out)?;
        }
        let reason = text(choice, "/finish_reason");
        if !reason.is_empty() {
            self.stop = Some(stop_of(reason, &chunk)?);
        }
        Ok(false)
    }

    fn finish(mut self: Box<Self>) -> Result<Decoded, ModelError> {
        let end = self.stop.or(failpoint::broken(53).then_some(Stop::End));
        let mut stop = end.ok_or_else(ModelError::cut)?;
        if self.refused && stop == Stop::End {
            stop = Stop::Content;
        }
        if !self.details.is_empty() {
            let details = Value::Array(std::mem::take(&mut self.details)).to_string();
            let signature = reasoning::kept(reasoning::DETAILS, &details);
            self.assembly
                .open_thinking(String::new(), Some(signature))?;
        }
        Ok(Decoded::of(self.assembly, stop, self.claim))
    }
}

impl ChatStream {
    fn take_delta(&mut self, delta: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        for field in ["/reasoning_content", "/reasoning"] {
            let thought = text(delta, field);
            if !thought.is_empty() {
                self.assembly.thinking(thought, out)?;
                break;
            }
        }
        if let Some(Value::Array(details)) = delta.get("reasoning_details") {
            self.details.extend(details.iter().cloned());
        }
        match delta.get("content") {
            Some(Value::String(said)) => self.assembly.text(said, out)?,
            Some(Value::Array(parts)) => self.take_parts(parts, out)?,
            _ => {}
        }
        let refusal = text(delta, "/refusal");
        if !refusal.is_empty() {
            self.refused = true;
            self.assembly.text(refusal, out)?;
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.take_call(call, out)?;
        }
        Ok(())
    }

    /// Mistral's reasoning models give content as parts, thoughts among them.
    fn take_parts(&mut self, parts: &[Value], out: &mut Vec<Piece>) -> Result<(), ModelError> {
        for part in parts {
            match text(part, "/type") {
                "text" => self.assembly.text(text(part, "/text"), out)?,
                "thinking" => {
                    let thoughts = part.get("thinking").and_then(Value::as_array);
                    for thought in thoughts.into_iter().flatten() {
                        self.assembly.thinking(text(thought, "/text"), out)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take_call(&mut self, call: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let index = call.get("index").and_then(Value::as_u64);
        let id = text(call, "/id");
        let name = text(call, "/function/name");
        let known = self.known_call(index, id, name);
        let slot = if let Some(slot) = known {
            self.assembly.name_call(slot, id, name);
            slot
        } else if id.is_empty() && name.is_empty() {
            return Err(ModelError::protocol("A piece belongs to no open call."));
        } else {
            let slot = self.assembly.open_call(id, name, out)?;
            self.calls.push(OpenCall {
                index,
                id: id.to_owned(),
                slot,
            });
            slot
        };
        match call.pointer("/function/arguments") {
            Some(Value::String(delta)) => self.assembly.call_delta(slot, delta, out),
            // A server that gives arguments as an object gives them whole.
            Some(whole @ Value::Object(_)) => {
                self.assembly.call_delta(slot, &whole.to_string(), out)
            }
            _ => Ok(()),
        }
    }

    /// The call a chunk goes on with. Some servers give every call of an answer the index 0: a
    /// new id with a name then opens a new one.
    fn known_call(&self, index: Option<u64>, id: &str, name: &str) -> Option<Slot> {
        let same = |call: &&OpenCall| match index {
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
            // Groq puts it there.
            .or_else(|| chunk.pointer("/x_groq/usage"));
        let Some(usage) = usage else { return };
        self.claim = Claim {
            input: Figure::at(usage, "/prompt_tokens"),
            output: Figure::at(usage, "/completion_tokens"),
            cached: Figure::at(usage, "/prompt_tokens_details/cached_tokens")
                // DeepSeek calls it so.
                .or(Figure::at(usage, "/prompt_cache_hit_tokens")),
            hidden: Figure::at(usage, "/completion_tokens_details/reasoning_tokens"),
        };
    }
}

fn stop_of(reason: &str, chunk: &Value) -> Result<Stop, ModelError> {
    Ok(match reason {
        "tool_calls" | "function_call" => Stop::Tools,
        "length" | "model_length" | "max_tokens" => Stop::Length,
        "content_filter" => Stop::Content,
        "error" => return Err(refusal::in_stream(chunk)),
        // `stop`, `eos`, and whatever a server of one's own may call it.
        _ => Stop::End,
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
