//! The stream of responses. Pure.
//!
//! Invariant: an answer is whole at `response.completed` or `response.incomplete`; without one of
//! them the stream was cut.

use crate::assembly::{Assembly, Slot};
use crate::dialect::{self, Decoded, Decoder, text};
use crate::error::ModelError;
use crate::prompt::{Piece, Stop};
use crate::reasoning::{self, OPENAI};
use crate::refusal;
use crate::usage::{Claim, Figure};
use hob_net::SseEvent;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct ResponseStream {
    assembly: Assembly,
    /// Calls by the index of their item.
    calls: BTreeMap<u64, Slot>,
    stop: Option<Stop>,
    claim: Claim,
    refused: bool,
}

impl Decoder for ResponseStream {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Piece>) -> Result<bool, ModelError> {
        let trimmed = event.data.trim();
        if trimmed.is_empty() || trimmed == "[DONE]" {
            return Ok(false);
        }
        let data = dialect::json(trimmed)?;
        match text(&data, "/type") {
            "response.output_item.added" => self.open(&data, out)?,
            "response.output_item.done" => self.close(&data, out)?,
            "response.output_text.delta" => self.assembly.text(text(&data, "/delta"), out)?,
            "response.refusal.delta" => {
                self.refused = true;
                self.assembly.text(text(&data, "/delta"), out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.assembly.thinking(text(&data, "/delta"), out)?;
            }
            "response.reasoning_summary_part.added"
                if data.get("summary_index").and_then(Value::as_u64) > Some(0) =>
            {
                self.assembly.thinking("\n\n", out)?;
            }
            "response.function_call_arguments.delta" => {
                let slot = self.slot(&data)?;
                let delta = text(&data, "/delta");
                self.assembly.call_delta(slot, delta, out)?;
            }
            "response.completed" | "response.incomplete" => {
                self.end(data.get("response").unwrap_or(&Value::Null));
                return Ok(true);
            }
            "response.failed" | "error" | "response.error" => {
                return Err(refusal::in_stream(&data));
            }
            "" if data.get("error").is_some() => return Err(refusal::in_stream(&data)),
            "" => return Err(ModelError::protocol("An event of the stream has no type.")),
            // Beginnings and ends that say nothing new.
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Decoded, ModelError> {
        let mut stop = self.stop.ok_or_else(ModelError::cut)?;
        if self.refused && stop == Stop::End {
            stop = Stop::Content;
        }
        Ok(Decoded::of(self.assembly, stop, self.claim))
    }
}

impl ResponseStream {
    fn open(&mut self, data: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let item = data.get("item").unwrap_or(&Value::Null);
        match text(item, "/type") {
            "function_call" => {
                let index = index_of(data)?;
                let (id, name) = (text(item, "/call_id"), text(item, "/name"));
                let slot = self.assembly.open_call(id, name, out)?;
                if self.calls.insert(index, slot).is_some() {
                    return Err(ModelError::protocol("An item of the answer opens twice."));
                }
                self.assembly
                    .call_delta(slot, text(item, "/arguments"), out)
            }
            // Each is a part of its own, so that its seal stays with it.
            "reasoning" => self.assembly.open_thinking(String::new(), None),
            _ => Ok(()),
        }
    }

    fn close(&mut self, data: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let item = data.get("item").unwrap_or(&Value::Null);
        match text(item, "/type") {
            "function_call" => {
                let index = index_of(data)?;
                if !self.calls.contains_key(&index) {
                    self.open(data, out)?;
                }
                let slot = self.slot(data)?;
                let whole = item.get("arguments").and_then(Value::as_str);
                whole.map_or(Ok(()), |whole| self.assembly.settle_call(slot, whole))
            }
            "reasoning" if !text(item, "/encrypted_content").is_empty() => {
                let kept = reasoning::kept(OPENAI, &sealed(item).to_string());
                self.assembly.sign(kept)
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, response: &Value) {
        let usage = response.get("usage").unwrap_or(&Value::Null);
        self.claim = Claim {
            input: Figure::at(usage, "/input_tokens"),
            output: Figure::at(usage, "/output_tokens"),
            cached: Figure::at(usage, "/input_tokens_details/cached_tokens"),
            hidden: Figure::at(usage, "/output_tokens_details/reasoning_tokens"),
        };
        self.stop = Some(match text(response, "/incomplete_details/reason") {
            "" if self.assembly.calls() > 0 => Stop::Tools,
            "" => Stop::End,
            "content_filter" => Stop::Content,
            _ => Stop::Length,
        });
    }

    fn slot(&self, data: &Value) -> Result<Slot, ModelError> {
        let slot = self.calls.get(&index_of(data)?).copied();
        slot.ok_or_else(|| ModelError::protocol("A piece belongs to no open call."))
    }
}

/// A thought as it is sent back: what the provider sealed, without the state of its making.
fn sealed(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.retain(|key, _| {
            matches!(
                key.as_str(),
                "type" | "id" | "summary" | "encrypted_content"
            )
        });
    }
    item
}

fn index_of(data: &Value) -> Result<u64, ModelError> {
    let index = data.get("output_index").and_then(Value::as_u64);
    index.ok_or_else(|| ModelError::protocol("An item of the answer has no index."))
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
