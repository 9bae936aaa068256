//! Decodes the stream of `streamGenerateContent`. Pure.
//!
//! Invariant: an answer is complete once a chunk gave a finish reason and the stream ended; without
//! a reason the stream was cut. A call arrives complete or not at all.

use crate::dialect::{self, DecodedReply, StreamDecoder, text};
use crate::error::ModelError;
use crate::prompt::{ReplyDelta, StopReason};
use crate::provider_refusal;
use crate::reasoning::{self, GEMINI};
use crate::reply_builder::ReplyBuilder;
use crate::usage::{ClaimedUsage, TokenFigure};
use hob_core::failover::ErrorClass;
use hob_net::SseEvent;
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct GeminiStream {
    builder: ReplyBuilder,
    stop: Option<StopReason>,
    claim: ClaimedUsage,
}

impl StreamDecoder for GeminiStream {
    fn push_event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<bool, ModelError> {
        if event.data.trim().is_empty() {
            return Ok(false);
        }
        let chunk = dialect::parse_json(&event.data)?;
        if !chunk.is_object() {
            return Err(ModelError::protocol("A chunk of the stream is no object."));
        }
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(provider_refusal::stream_error(&chunk));
        }
        self.take_usage(&chunk);
        let blocked = text(&chunk, "/promptFeedback/blockReason");
        if !blocked.is_empty() {
            return Err(ModelError::new(
                ErrorClass::Content,
                format!("The provider refuses the prompt: {blocked}."),
            ));
        }
        // A chunk may hold only the usage.
        let Some(candidate) = chunk.pointer("/candidates/0") else {
            return Ok(false);
        };
        let parts = candidate
            .pointer("/content/parts")
            .and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.take_part(part, out)?;
        }
        let reason = text(candidate, "/finishReason");
        if !reason.is_empty() {
            self.stop = Some(stop_of(reason)?);
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<DecodedReply, ModelError> {
        let stop = self.stop.ok_or_else(ModelError::stream_cut)?;
        Ok(DecodedReply::from_builder(self.builder, stop, self.claim))
    }
}

impl GeminiStream {
    fn take_part(&mut self, part: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let said = text(part, "/text");
        let signature = text(part, "/thoughtSignature");
        if part.get("thought") == Some(&Value::Bool(true)) {
            self.builder.push_thinking(said, out)?;
            return match signature {
                "" => Ok(()),
                signature => self
                    .builder
                    .attach_signature(reasoning::tag_signature(GEMINI, signature)),
            };
        }
        if !signature.is_empty() {
            // The signature belongs to the part after it and is sent back with that part.
            let kept = reasoning::tag_signature(GEMINI, signature);
            self.builder.open_thinking(String::new(), Some(kept))?;
        }
        if let Some(call) = part.get("functionCall") {
            let args = call.get("args").cloned().unwrap_or_else(|| json!({}));
            let (id, name) = (text(call, "/id"), text(call, "/name"));
            return self.builder.push_whole_call(id, name, args, out);
        }
        self.builder.push_text(said, out)
    }

    /// Updates the usage. Each chunk holds running totals.
    fn take_usage(&mut self, chunk: &Value) {
        let Some(usage) = chunk.get("usageMetadata") else {
            return;
        };
        let at = |pointer: &str| TokenFigure::at(usage, pointer);
        self.claim = ClaimedUsage {
            input: at("/promptTokenCount").plus(at("/toolUsePromptTokenCount")),
            output: at("/candidatesTokenCount").plus(at("/thoughtsTokenCount")),
            cached: at("/cachedContentTokenCount"),
            hidden: at("/thoughtsTokenCount"),
        };
    }
}

fn stop_of(reason: &str) -> Result<StopReason, ModelError> {
    Ok(match reason {
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT" => StopReason::Content,
        // The provider could not parse the model's call. A retry usually helps, hence this class.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            return Err(ModelError::new(
                ErrorClass::Overload,
                format!("The model's answer could not be read by its provider: {reason}."),
            ));
        }
        _ => StopReason::End,
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
