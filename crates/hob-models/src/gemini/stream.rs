//! The stream of `streamGenerateContent`. Pure.
//!
//! Invariant: an answer is whole once a chunk gave its reason to end and the stream ended too;
//! without a reason it was cut. A call comes whole or not at all.

use crate::assembly::Assembly;
use crate::dialect::{self, Decoded, Decoder, text};
use crate::error::ModelError;
use crate::prompt::{Piece, Stop};
use crate::reasoning::{self, GEMINI};
use crate::refusal;
use crate::usage::{Claim, Figure};
use hob_core::failover::ErrorClass;
use hob_net::SseEvent;
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct ContentStream {
    assembly: Assembly,
    stop: Option<Stop>,
    claim: Claim,
}

impl Decoder for ContentStream {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Piece>) -> Result<bool, ModelError> {
        if event.data.trim().is_empty() {
            return Ok(false);
        }
        let chunk = dialect::json(&event.data)?;
        if !chunk.is_object() {
            return Err(ModelError::protocol("A chunk of the stream is no object."));
        }
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(refusal::in_stream(&chunk));
        }
        self.take_usage(&chunk);
        let blocked = text(&chunk, "/promptFeedback/blockReason");
        if !blocked.is_empty() {
            return Err(ModelError::new(
                ErrorClass::Content,
                format!("The provider refuses the prompt: {blocked}."),
            ));
        }
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

    fn finish(self: Box<Self>) -> Result<Decoded, ModelError> {
        let stop = self.stop.ok_or_else(ModelError::cut)?;
        Ok(Decoded::of(self.assembly, stop, self.claim))
    }
}

impl ContentStream {
    fn take_part(&mut self, part: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let said = text(part, "/text");
        let signature = text(part, "/thoughtSignature");
        if part.get("thought") == Some(&Value::Bool(true)) {
            self.assembly.thinking(said, out)?;
            return match signature {
                "" => Ok(()),
                signature => self.assembly.sign(reasoning::kept(GEMINI, signature)),
            };
        }
        if !signature.is_empty() {
            // It belongs to the part after it, and goes back there.
            let kept = reasoning::kept(GEMINI, signature);
            self.assembly.open_thinking(String::new(), Some(kept))?;
        }
        if let Some(call) = part.get("functionCall") {
            let args = call.get("args").cloned().unwrap_or_else(|| json!({}));
            let (id, name) = (text(call, "/id"), text(call, "/name"));
            return self.assembly.whole_call(id, name, args, out);
        }
        self.assembly.text(said, out)
    }

    /// Each chunk's figures are sums so far.
    fn take_usage(&mut self, chunk: &Value) {
        let Some(usage) = chunk.get("usageMetadata") else {
            return;
        };
        let at = |pointer: &str| Figure::at(usage, pointer);
        self.claim = Claim {
            input: at("/promptTokenCount").plus(at("/toolUsePromptTokenCount")),
            output: at("/candidatesTokenCount").plus(at("/thoughtsTokenCount")),
            cached: at("/cachedContentTokenCount"),
            hidden: at("/thoughtsTokenCount"),
        };
    }
}

fn stop_of(reason: &str) -> Result<Stop, ModelError> {
    Ok(match reason {
        "MAX_TOKENS" => Stop::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT" => Stop::Content,
        // The model wrote a call its provider could not read; another try mostly helps.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            return Err(ModelError::new(
                ErrorClass::Overload,
                format!("The model's answer could not be read by its provider: {reason}."),
            ));
        }
        _ => Stop::End,
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
