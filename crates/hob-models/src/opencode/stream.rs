//! Decodes the events of a session as one answer. Pure.
//!
//! Invariants: only assistant messages count; the text of a part is emitted once, whether it came
//! in deltas or complete; an answer is complete once its session is idle.

use crate::dialect::{self, DecodedReply, StreamDecoder, text};
use crate::error::ModelError;
use crate::prompt::{ReplyDelta, StopReason};
use crate::provider_refusal::{self, ProviderRefusal};
use crate::reply_builder::ReplyBuilder;
use crate::usage::{ClaimedUsage, TokenFigure};
use hob_core::failover::ErrorClass;
use hob_net::SseEvent;
use serde_json::Value;
use std::collections::BTreeMap;

/// The most parts of one answer, including those of tools.
const PARTS_MAX: usize = 4_096;
/// The most unseen tokens of one agent step: its system text, its tools and their results.
const STEP_TOKENS_MAX: u64 = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct OpencodeStream {
    /// Ids of user messages. Their parts arrive as events too and are ignored.
    user_messages: Vec<String>,
    parts: BTreeMap<String, OpencodePart>,
    builder: ReplyBuilder,
    claim: ClaimedUsage,
    steps: u64,
    micro_dollars: Option<u64>,
    stop: Option<StopReason>,
    idle: bool,
}

/// A part so far.
#[derive(Debug)]
struct OpencodePart {
    kind: OpencodePartKind,
    /// Bytes of its text that were emitted.
    taken: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpencodePartKind {
    Text,
    Thought,
    /// A tool of the agent, reported once.
    Tool,
    Other,
}

impl StreamDecoder for OpencodeStream {
    fn push_event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<bool, ModelError> {
        let event = dialect::parse_json(&event.data)?;
        let about = event.get("properties").unwrap_or(&Value::Null);
        match text(&event, "/type") {
            "message.updated" => self.take_message(about)?,
            "message.part.updated" => self.take_part(about, out)?,
            "message.part.delta" => self.take_delta(about, out)?,
            "session.error" => {
                return Err(session_error(about.get("error").unwrap_or(&Value::Null)));
            }
            "permission.asked" | "permission.updated" => return Err(permission_error(about)),
            "question.asked" => {
                return Err(request_error(
                    "OpenCode asks a question, and nobody can be asked there.",
                ));
            }
            "session.idle" => {
                self.idle = true;
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<DecodedReply, ModelError> {
        if !self.idle {
            return Err(ModelError::stream_cut());
        }
        let Some(stop) = self.stop else {
            return Err(ModelError::protocol("OpenCode ended without an answer."));
        };
        let mut decoded = DecodedReply::from_builder(self.builder, stop, self.claim);
        decoded.unseen_tokens = self.steps.saturating_mul(STEP_TOKENS_MAX);
        decoded.micro_dollars = self.micro_dollars;
        Ok(decoded)
    }
}

impl OpencodeStream {
    fn take_message(&mut self, about: &Value) -> Result<(), ModelError> {
        let info = about.get("info").unwrap_or(&Value::Null);
        if text(info, "/role") == "user" {
            let id = text(info, "/id").to_owned();
            if !self.user_messages.contains(&id) && self.user_messages.len() < PARTS_MAX {
                self.user_messages.push(id);
            }
            return Ok(());
        }
        match info.get("error") {
            Some(error) if !error.is_null() => return Err(session_error(error)),
            _ => {}
        }
        let reason = text(info, "/finish");
        if !reason.is_empty() {
            self.stop = Some(match reason {
                "length" => StopReason::Length,
                "content-filter" => StopReason::Content,
                _ => StopReason::End,
            });
        }
        Ok(())
    }

    fn take_part(&mut self, about: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        let part = about.get("part").unwrap_or(&Value::Null);
        if self.is_user_message(text(part, "/messageID")) {
            return Ok(());
        }
        let kind = match text(part, "/type") {
            "text" => OpencodePartKind::Text,
            "reasoning" => OpencodePartKind::Thought,
            "tool" => OpencodePartKind::Tool,
            "step-finish" => {
                self.take_step(part);
                return Ok(());
            }
            _ => OpencodePartKind::Other,
        };
        let (taken, is_new) = self.track_part(text(part, "/id"), kind)?;
        match kind {
            OpencodePartKind::Text | OpencodePartKind::Thought => {
                let whole = text(part, "/text");
                let more = whole.get(taken..).unwrap_or_default().to_owned();
                self.push_more(text(part, "/id"), &more, out)
            }
            OpencodePartKind::Tool if is_new => {
                let told = format!("\nOpenCode uses its tool {}.\n", text(part, "/tool"));
                self.builder.push_thinking(&told, out)
            }
            OpencodePartKind::Tool | OpencodePartKind::Other => Ok(()),
        }
    }

    fn take_delta(&mut self, about: &Value, out: &mut Vec<ReplyDelta>) -> Result<(), ModelError> {
        if text(about, "/field") != "text" || self.is_user_message(text(about, "/messageID")) {
            return Ok(());
        }
        let id = text(about, "/partID").to_owned();
        // A text part is announced before its deltas, so an unknown id is no text.
        self.push_more(&id, text(about, "/delta"), out)
    }

    fn push_more(
        &mut self,
        id: &str,
        more: &str,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<(), ModelError> {
        let Some(seen) = self.parts.get_mut(id) else {
            return Ok(());
        };
        seen.taken += more.len();
        match seen.kind {
            OpencodePartKind::Text => self.builder.push_text(more, out),
            OpencodePartKind::Thought => self.builder.push_thinking(more, out),
            OpencodePartKind::Tool | OpencodePartKind::Other => Ok(()),
        }
    }

    /// Returns the emitted bytes of a part, and true if it is new.
    fn track_part(
        &mut self,
        id: &str,
        kind: OpencodePartKind,
    ) -> Result<(usize, bool), ModelError> {
        if let Some(seen) = self.parts.get(id) {
            return Ok((seen.taken, false));
        }
        if self.parts.len() >= PARTS_MAX {
            return Err(ModelError::protocol(format!(
                "The answer has more than {PARTS_MAX} parts."
            )));
        }
        self.parts
            .insert(id.to_owned(), OpencodePart { kind, taken: 0 });
        Ok((0, true))
    }

    fn is_user_message(&self, message: &str) -> bool {
        self.user_messages.iter().any(|id| id == message)
    }

    /// Adds the usage of a step.
    fn take_step(&mut self, part: &Value) {
        self.steps += 1;
        let figure = |pointer: &str| TokenFigure::at(part, pointer);
        let cached = figure("/tokens/cache/read");
        let input = figure("/tokens/input")
            .plus(cached)
            .plus(figure("/tokens/cache/write"));
        let hidden = figure("/tokens/reasoning");
        self.claim = ClaimedUsage {
            input: self.claim.input.plus(input),
            output: self
                .claim
                .output
                .plus(figure("/tokens/output"))
                .plus(hidden),
            cached: self.claim.cached.plus(cached),
            hidden: self.claim.hidden.plus(hidden),
        };
        let cost = part.get("cost").and_then(super::micro_dollars);
        // OpenCode reports zero for a model without a known price.
        if let Some(cost) = cost.filter(|cost| *cost > 0) {
            let before = self.micro_dollars.unwrap_or(0);
            self.micro_dollars = Some(before.saturating_add(cost));
        }
    }
}

/// Converts an error event.
fn session_error(error: &Value) -> ModelError {
    let said = text(error, "/data/message").trim_end_matches('.');
    match text(error, "/name") {
        "MessageAbortedError" => ModelError::new(
            ErrorClass::Network,
            "OpenCode ended the answer before it was whole.",
        ),
        "ProviderAuthError" => ModelError::new(
            ErrorClass::Auth,
            format!(
                "OpenCode's provider does not accept its key: {said}. Log in again with `opencode auth login`."
            ),
        ),
        "ContextOverflowError" => ModelError::new(
            ErrorClass::Context,
            format!("The conversation is larger than the model's window: {said}."),
        ),
        "APIError" => {
            let status = error.pointer("/data/statusCode").and_then(Value::as_u64);
            provider_refusal::to_error(ProviderRefusal {
                status: status
                    .and_then(|status| u16::try_from(status).ok())
                    .unwrap_or(0),
                body: said,
                retry_after_ms: None,
            })
        }
        // OpenCode gives this error neither a class nor a status.
        _ if said.starts_with("Model not found") || said.starts_with("Provider not found") => {
            request_error(&format!("OpenCode has no such model: {said}."))
        }
        name => ModelError::new(
            ErrorClass::Overload,
            format!("OpenCode failed ({name}): {said}."),
        ),
    }
}

/// The error for a permission request, which nobody can answer there.
fn permission_error(about: &Value) -> ModelError {
    let what = [text(about, "/permission"), text(about, "/type")];
    let what = what.into_iter().find(|what| !what.is_empty());
    request_error(&format!(
        "OpenCode asks whether it may use {}, and nobody can be asked there: allow or deny it in OpenCode's own configuration.",
        what.unwrap_or("a tool")
    ))
}

fn request_error(why: &str) -> ModelError {
    ModelError::new(ErrorClass::Request, why)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
