//! The stream of messages. Pure.
//!
//! Invariant: an answer is whole at `message_stop`; without it the stream was cut.

use crate::assembly::{Assembly, Slot};
use crate::dialect::{self, Decoded, Decoder, text};
use crate::error::ModelError;
use crate::prompt::{Piece, Stop};
use crate::reasoning::{self, ANTHROPIC, ANTHROPIC_REDACTED};
use crate::refusal;
use crate::usage::{Claim, Figure};
use hob_net::SseEvent;
use serde_json::Value;
use std::collections::BTreeMap;

/// Blocks of one answer.
const BLOCKS_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct MessageStream {
    assembly: Assembly,
    /// By the index their events name.
    blocks: BTreeMap<u64, Block>,
    stop: Option<Stop>,
    ended: bool,
    usage: Figures,
}

#[derive(Clone, Debug)]
enum Block {
    Text,
    Thinking {
        signature: String,
    },
    /// A call, with the arguments it opened with.
    Call {
        slot: Slot,
        input: Value,
        streamed: bool,
    },
    /// A block of a kind that was not asked for.
    Other,
}

#[derive(Debug, Default)]
struct Figures {
    input: Figure,
    cache_read: Figure,
    cache_written: Figure,
    output: Figure,
}

impl Decoder for MessageStream {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Piece>) -> Result<bool, ModelError> {
        if event.data.trim().is_empty() {
            return Ok(false);
        }
        let data = dialect::json(&event.data)?;
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
            "error" => return Err(refusal::in_stream(&data)),
            "" => return Err(ModelError::protocol("An event of the stream has no type.")),
            // `ping`, and events of a later time.
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Decoded, ModelError> {
        if !self.ended {
            return Err(ModelError::cut());
        }
        let stop = self.stop.unwrap_or(Stop::End);
        let claim = self.usage.claim();
        Ok(Decoded::of(self.assembly, stop, claim))
    }
}

impl MessageStream {
    fn open(&mut self, data: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let index = index_of(data)?;
        if self.blocks.contains_key(&index) || self.blocks.len() >= BLOCKS_MAX {
            return Err(ModelError::protocol("A block of the answer opens twice."));
        }
        let block = data.get("content_block").unwrap_or(&Value::Null);
        let opened = match text(block, "/type") {
            "text" => {
                self.assembly.text(text(block, "/text"), out)?;
                Block::Text
            }
            "thinking" => {
                // Each block is a part of its own, so that its signature stays with it.
                self.assembly.open_thinking(String::new(), None)?;
                self.assembly.thinking(text(block, "/thinking"), out)?;
                Block::Thinking {
                    signature: text(block, "/signature").to_owned(),
                }
            }
            "redacted_thinking" => {
                let kept = reasoning::kept(ANTHROPIC_REDACTED, text(block, "/data"));
                self.assembly.open_thinking(String::new(), Some(kept))?;
                Block::Other
            }
            "tool_use" => {
                let slot =
                    self.assembly
                        .open_call(text(block, "/id"), text(block, "/name"), out)?;
                Block::Call {
                    slot,
                    input: block.get("input").cloned().unwrap_or_default(),
                    streamed: false,
                }
            }
            _ => Block::Other,
        };
        self.blocks.insert(index, opened);
        Ok(())
    }

    fn delta(&mut self, data: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let index = index_of(data)?;
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(ModelError::protocol("A piece belongs to no open block."));
        };
        let delta = data.get("delta").unwrap_or(&Value::Null);
        match (text(delta, "/type"), block) {
            ("text_delta", Block::Text) => self.assembly.text(text(delta, "/text"), out),
            ("thinking_delta", Block::Thinking { .. }) => {
                self.assembly.thinking(text(delta, "/thinking"), out)
            }
            ("signature_delta", Block::Thinking { signature }) => {
                signature.push_str(text(delta, "/signature"));
                Ok(())
            }
            ("input_json_delta", Block::Call { slot, streamed, .. }) => {
                *streamed = true;
                let piece = text(delta, "/partial_json");
                self.assembly.call_delta(*slot, piece, out)
            }
            // Citations, and pieces of blocks that were not asked for.
            _ => Ok(()),
        }
    }

    fn close(&mut self, data: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let index = index_of(data)?;
        match self.blocks.get(&index) {
            Some(Block::Thinking { signature }) if !signature.is_empty() => {
                let kept = reasoning::kept(ANTHROPIC, signature);
                self.assembly.sign(kept)
            }
            Some(Block::Call {
                slot,
                input,
                streamed: false,
            }) if input.is_object() => {
                let whole = input.to_string();
                self.assembly.call_delta(*slot, &whole, out)
            }
            Some(_) => Ok(()),
            None => Err(ModelError::protocol("A block closes that never opened.")),
        }
    }

    /// Later figures replace earlier ones: they are sums.
    fn take_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let known = &mut self.usage;
        let newer = |pointer: &str, before: Figure| Figure::at(usage, pointer).or(before);
        known.input = newer("/input_tokens", known.input);
        known.cache_read = newer("/cache_read_input_tokens", known.cache_read);
        known.cache_written = newer("/cache_creation_input_tokens", known.cache_written);
        known.output = newer("/output_tokens", known.output);
    }
}

impl Figures {
    /// The provider counts cached input apart. What it writes to its cache costs a quarter more:
    /// it is counted as a quarter more tokens, so that the sum of money is right.
    fn claim(&self) -> Claim {
        let written = self.cache_written.plus(self.cache_written.quarter());
        Claim {
            input: self.input.plus(self.cache_read).plus(written),
            output: self.output,
            cached: self.cache_read,
            hidden: Figure::Missing,
        }
    }
}

fn index_of(data: &Value) -> Result<u64, ModelError> {
    let index = data.get("index").and_then(Value::as_u64);
    index.ok_or_else(|| ModelError::protocol("A block of the answer has no index."))
}

fn stop_of(reason: &str) -> Stop {
    match reason {
        "tool_use" => Stop::Tools,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Content,
        _ => Stop::End,
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
