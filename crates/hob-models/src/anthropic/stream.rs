//! Decodes the stream of the Messages API. Pure.
//!
//! Invariant: an answer is complete at `message_stop`; without it the stream was cut.

use crate::dialect::{self, DecodedReply, StreamDecoder, text};
use crate::error::ModelError;
use crate::prompt::{ReplyDelta, StopReason};
use crate::provider_refusal;
use crate::reasoning::{self, ANTHROPIC, ANTHROPIC_REDACTED};
use crate::reply_builder::{PartIndex, ReplyBuilder};
use crate::usage::{ClaimedUsage, TokenFigure};
use hob_net::SseEvent;
use serde_json::Value;
use std::collections::BTreeMap;

/// The most blocks of one answer.
const BLOCKS_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct AnthropicStream {
    builder: ReplyBuilder,
    /// Blocks by their index in the events.
    blocks: BTreeMap<u64, AnthropicBlock>,
    stop: Option<StopReason>,
    ended: bool,
    usage: AnthropicUsage,
}

#[derive(Clone, Debug)]
enum AnthropicBlock {
    Text,
    Thinking {
        signature: String,
    },
    /// A call with its initial arguments.
    Call {
        slot: PartIndex,
        input: Value,
        streamed: bool,
    },
    /// A block of an unknown kind.
    Other,
}

#[derive(Debug, Default)]
struct AnthropicUsage {
    input: TokenFigure,
    cache_read: TokenFigure,
    cache_written: TokenFigure,
    output: TokenFigure,
}

impl StreamDecoder for AnthropicStream {
    fn push_event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<bool, ModelError> {
        if event.data.trim().is_empty() {
            return Ok(false);
        }
        let data = dialect::parse_json(&event.data)?;
        match text(&data, "/type") {
            "message_start" => self.take_usage(data.pointer("/message/usage")),
            "content_block_start" => self.open(&data, out)?,
            "content_block_delta" => self.delta(&data, out)?,
            "content_block_stop" => self.close(&data, out)?,
            "message_delta" => {
                self.take_usage(data.get("usage"));
                let reason = text(&data, "/delta/stop_reason");
                if !reason.is_empty() {
                    self.stop = Some(stop_of(reason));
                }
            }
            "message_stop" => {
                self.ended = true;
                return Ok(true);
            }
            "error" => return Err(provider_refusal::stream_error(&data)),
            "" => return Err(ModelError::protocol("An event of the stream has no type.")),
            // `ping`, and event types added later.
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<DecodedReply, ModelError> {
        if !self.ended {
            return Err(ModelError::stream_cut());
        }
        let stop = self.stop.unwrap_or(StopReason::End);
        let claim = self.usage.claim();
        Ok(DecodedReply::from_builder(self.builder, stop, claim))
    }
}

impl AnthropicStream {
    fn open(&mut self, data: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let index = index_of(data)?;
        if self.blocks.contains_key(&index) || self.blocks.len() >= BLOCKS_MAX {
            return Err(ModelError::protocol("A block of the answer opens twice."));
        }
        let block = data.get("content_block").unwrap_or(&Value::Null);
        let opened = match text(block, "/type") {
            "text" => {
                self.builder.push_text(text(block, "/text"), out)?;
                AnthropicBlock::Text
            }
            "thinking" => {
                // Each block becomes its own part, so that its signature stays with it.
                self.builder.open_thinking(String::new(), None)?;
                self.builder.push_thinking(text(block, "/thinking"), out)?;
                AnthropicBlock::Thinking {
                    signature: text(block, "/signature").to_owned(),
                }
            }
            "redacted_thinking" => {
                let kept = reasoning::tag_signature(ANTHROPIC_REDACTED, text(block, "/data"));
                self.builder.open_thinking(String::new(), Some(kept))?;
                AnthropicBlock::Other
            }
            "tool_use" => {
                let slot = self
                    .builder
                    .open_call(text(block, "/id"), text(block, "/name"), out)?;
                AnthropicBlock::Call {
                    slot,
                    input: block.get("input").cloned().unwrap_or_default(),
                    streamed: false,
                }
            }
            _ => AnthropicBlock::Other,
        };
        self.blocks.insert(index, opened);
        Ok(())
    }

    fn delta(&mut self, data: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let index = index_of(data)?;
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(ModelError::protocol("A piece belongs to no open block."));
        };
        let delta = data.get("delta").unwrap_or(&Value::Null);
        match (text(delta, "/type"), block) {
            ("text_delta", AnthropicBlock::Text) => {
                self.builder.push_text(text(delta, "/text"), out)
            }
            ("thinking_delta", AnthropicBlock::Thinking { .. }) => {
                self.builder.push_thinking(text(delta, "/thinking"), out)
            }
            ("signature_delta", AnthropicBlock::Thinking { signature }) => {
                signature.push_str(text(delta, "/signature"));
                Ok(())
            }
            ("input_json_delta", AnthropicBlock::Call { slot, streamed, .. }) => {
                *streamed = true;
                let piece = text(delta, "/partial_json");
                self.builder.push_args(*slot, piece, out)
            }
            // Citations, and deltas of unknown blocks.
            _ => Ok(()),
        }
    }

    fn close(&mut self, data: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let index = index_of(data)?;
        match self.blocks.get(&index) {
            Some(AnthropicBlock::Thinking { signature }) if !signature.is_empty() => {
                let kept = reasoning::tag_signature(ANTHROPIC, signature);
                self.builder.attach_signature(kept)
            }
            // Without any delta, the arguments came whole with the start of the block.
            Some(AnthropicBlock::Call {
                slot,
                input,
                streamed: false,
            }) if input.is_object() => {
                let whole = input.to_string();
                self.builder.push_args(*slot, &whole, out)
            }
            Some(_) => Ok(()),
            None => Err(ModelError::protocol("A block closes that never opened.")),
        }
    }

    /// Updates the usage. Later figures are running totals and replace earlier ones.
    fn take_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let known = &mut self.usage;
        let newer = |pointer: &str, before: TokenFigure| TokenFigure::at(usage, pointer).or(before);
        known.input = newer("/input_tokens", known.input);
        known.cache_read = newer("/cache_read_input_tokens", known.cache_read);
        known.cache_written = newer("/cache_creation_input_tokens", known.cache_written);
        known.output = newer("/output_tokens", known.output);
    }
}

impl AnthropicUsage {
    /// Converts to the common form. The provider counts cached input separately. Cache writes cost a
    /// quarter more, so they are counted as a quarter more tokens to get the right cost.
    fn claim(&self) -> ClaimedUsage {
        let written = self.cache_written.plus(self.cache_written.quarter());
        ClaimedUsage {
            input: self.input.plus(self.cache_read).plus(written),
            output: self.output,
            cached: self.cache_read,
            hidden: TokenFigure::Missing,
        }
    }
}

fn index_of(data: &Value) -> Result<u64, ModelError> {
    let index = data.get("index").and_then(Value::as_u64);
    index.ok_or_else(|| ModelError::protocol("A block of the answer has no index."))
}

fn stop_of(reason: &str) -> StopReason {
    match reason {
        "tool_use" => StopReason::Tools,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Content,
        _ => StopReason::End,
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
