//! Decodes the stream of the Responses API. Pure.
//!
//! Invariant: an answer is complete at `response.completed` or `response.incomplete`; without one of
//! them the stream was cut.

use crate::dialect::{self, DecodedReply, StreamDecoder, text};
use crate::error::ModelError;
use crate::prompt::{ReplyDelta, StopReason};
use crate::provider_refusal;
use crate::reasoning::{self, OPENAI};
use crate::reply_builder::{PartIndex, ReplyBuilder};
use crate::usage::{ClaimedUsage, TokenFigure};
use hob_net::SseEvent;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct OpenaiResponsesStream {
    builder: ReplyBuilder,
    /// Calls by output index.
    calls: BTreeMap<u64, PartIndex>,
    stop: Option<StopReason>,
    claim: ClaimedUsage,
    refused: bool,
}

impl StreamDecoder for OpenaiResponsesStream {
    fn push_event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<bool, ModelError> {
        let trimmed = event.data.trim();
        if trimmed.is_empty() || trimmed == "[DONE]" {
            return Ok(false);
        }
        let data = dialect::parse_json(trimmed)?;
        match text(&data, "/type") {
            "response.output_item.added" => self.open(&data, out)?,
            "response.output_item.done" => self.close(&data, out)?,
            "response.output_text.delta" => self.builder.push_text(text(&data, "/delta"), out)?,
            "response.refusal.delta" => {
                self.refused = true;
                self.builder.push_text(text(&data, "/delta"), out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.builder.push_thinking(text(&data, "/delta"), out)?;
            }
            "response.reasoning_summary_part.added"
                if data.get("summary_index").and_then(Value::as_u64) > Some(0) =>
            {
                self.builder.push_thinking("\n\n", out)?;
            }
            "response.function_call_arguments.delta" => {
                let slot = self.slot(&data)?;
                let delta = text(&data, "/delta");
                self.builder.push_args(slot, delta, out)?;
            }
            "response.completed" | "response.incomplete" => {
                self.end(data.get("response").unwrap_or(&Value::Null));
                return Ok(true);
            }
            "response.failed" | "error" | "response.error" => {
                return Err(provider_refusal::stream_error(&data));
            }
            "" if data.get("error").is_some() => return Err(provider_refusal::stream_error(&data)),
            "" => return Err(ModelError::protocol("An event of the stream has no type.")),
            // Start and end events that add nothing.
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<DecodedReply, ModelError> {
        let mut stop = self.stop.ok_or_else(ModelError::stream_cut)?;
        if self.refused && stop == StopReason::End {
            stop = StopReason::Content;
        }
        Ok(DecodedReply::from_builder(self.builder, stop, self.claim))
    }
}

impl OpenaiResponsesStream {
    fn open(&mut self, data: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let item = data.get("item").unwrap_or(&Value::Null);
        match text(item, "/type") {
            "function_call" => {
                let index = index_of(data)?;
                let (id, name) = (text(item, "/call_id"), text(item, "/name"));
                let slot = self.builder.open_call(id, name, out)?;
                if self.calls.insert(index, slot).is_some() {
                    return Err(ModelError::protocol("An item of the answer opens twice."));
                }
                self.builder.push_args(slot, text(item, "/arguments"), out)
            }
            // Each item becomes its own part, so that its encrypted content stays with it.
            "reasoning" => self.builder.open_thinking(String::new(), None),
            _ => Ok(()),
        }
    }

    fn close(&mut self, data: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let item = data.get("item").unwrap_or(&Value::Null);
        match text(item, "/type") {
            "function_call" => {
                let index = index_of(data)?;
                // A server may send a finished call without announcing it first.
                if !self.calls.contains_key(&index) {
                    self.open(data, out)?;
                }
                let slot = self.slot(data)?;
                let whole = item.get("arguments").and_then(Value::as_str);
                whole.map_or(Ok(()), |whole| self.builder.replace_args(slot, whole))
            }
            "reasoning" if !text(item, "/encrypted_content").is_empty() => {
                let kept = reasoning::tag_signature(OPENAI, &sealed(item).to_string());
                self.builder.attach_signature(kept)
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, response: &Value) {
        let usage = response.get("usage").unwrap_or(&Value::Null);
        self.claim = ClaimedUsage {
            input: TokenFigure::at(usage, "/input_tokens"),
            output: TokenFigure::at(usage, "/output_tokens"),
            cached: TokenFigure::at(usage, "/input_tokens_details/cached_tokens"),
            hidden: TokenFigure::at(usage, "/output_tokens_details/reasoning_tokens"),
        };
        self.stop = Some(match text(response, "/incomplete_details/reason") {
            "" if self.builder.call_count() > 0 => StopReason::Tools,
            "" => StopReason::End,
            "content_filter" => StopReason::Content,
            _ => StopReason::Length,
        });
    }

    fn slot(&self, data: &Value) -> Result<PartIndex, ModelError> {
        let slot = self.calls.get(&index_of(data)?).copied();
        slot.ok_or_else(|| ModelError::protocol("A piece belongs to no open call."))
    }
}

/// A reasoning item as it is sent back: the encrypted content without the status fields.
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
