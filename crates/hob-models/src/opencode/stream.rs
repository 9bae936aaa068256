//! The events of a session, read as one answer. Pure.
//!
//! Invariants: only what the assistant says is taken; what a part holds is said once, whether it
//! came in pieces or whole; an answer is whole once its session is idle.

use crate::assembly::Assembly;
use crate::dialect::{self, Decoded, Decoder, text};
use crate::error::ModelError;
use crate::prompt::{Piece, Stop};
use crate::refusal::{self, Refusal};
use crate::usage::{Claim, Figure};
use hob_core::failover::ErrorClass;
use hob_net::SseEvent;
use serde_json::Value;
use std::collections::BTreeMap;

/// Parts of one answer, its tools' included.
const PARTS_MAX: usize = 4_096;
/// What a step of its own may use that was neither sent nor received here: its system text, the
/// tools it offers, what its tools answered.
const STEP_TOKENS_MAX: u64 = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Messages of the person, whose parts come along too.
    asked: Vec<String>,
    parts: BTreeMap<String, Seen>,
    assembly: Assembly,
    claim: Claim,
    steps: u64,
    micro_dollars: Option<u64>,
    stop: Option<Stop>,
    idle: bool,
}

/// A part so far.
#[derive(Debug)]
struct Seen {
    kind: Kind,
    /// Bytes of its text that were taken.
    taken: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    /// A tool of its own, told of once.
    Tool,
    Other,
}

impl Decoder for Turn {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Piece>) -> Result<bool, ModelError> {
        let event = dialect::json(&event.data)?;
        let about = event.get("properties").unwrap_or(&Value::Null);
        match text(&event, "/type") {
            "message.updated" => self.take_message(about)?,
            "message.part.updated" => self.take_part(about, out)?,
            "message.part.delta" => self.take_delta(about, out)?,
            "session.error" => return Err(failure(about.get("error").unwrap_or(&Value::Null))),
            "permission.asked" | "permission.updated" => return Err(unasked(about)),
            "question.asked" => {
                return Err(refused(
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

    fn finish(self: Box<Self>) -> Result<Decoded, ModelError> {
        if !self.idle {
            return Err(ModelError::cut());
        }
        let Some(stop) = self.stop else {
            return Err(ModelError::protocol("OpenCode ended without an answer."));
        };
        let mut decoded = Decoded::of(self.assembly, stop, self.claim);
        decoded.unseen_tokens = self.steps.saturating_mul(STEP_TOKENS_MAX);
        decoded.micro_dollars = self.micro_dollars;
        Ok(decoded)
    }
}

impl Turn {
    fn take_message(&mut self, about: &Value) -> Result<(), ModelError> {
        let info = about.get("info").unwrap_or(&Value::Null);
        if text(info, "/role") == "user" {
            let id = text(info, "/id").to_owned();
            if !self.asked.contains(&id) && self.asked.len() < PARTS_MAX {
                self.asked.push(id);
            }
            return Ok(());
        }
        match info.get("error") {
            Some(error) if !error.is_null() => return Err(failure(error)),
            _ => {}
        }
        let reason = text(info, "/finish");
        if !reason.is_empty() {
            self.stop = Some(match reason {
                "length" => Stop::Length,
                "content-filter" => Stop::Content,
                _ => Stop::End,
            });
        }
        Ok(())
    }

    fn take_part(&mut self, about: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let part = about.get("part").unwrap_or(&Value::Null);
        if self.is_asked(text(part, "/messageID")) {
            return Ok(());
        }
        let kind = match text(part, "/type") {
            "text" => Kind::Text,
            "reasoning" => Kind::Thought,
            "tool" => Kind::Tool,
            "step-finish" => {
                self.take_step(part);
                return Ok(());
            }
            _ => Kind::Other,
        };
        let (taken, is_new) = self.seen(text(part, "/id"), kind)?;
        match kind {
            Kind::Text | Kind::Thought => {
                let whole = text(part, "/text");
                let more = whole.get(taken..).unwrap_or_default().to_owned();
                self.say(text(part, "/id"), &more, out)
            }
            Kind::Tool if is_new => {
                let told = format!("\nOpenCode uses its tool {}.\n", text(part, "/tool"));
                self.assembly.thinking(&told, out)
            }
            Kind::Tool | Kind::Other => Ok(()),
        }
    }

    fn take_delta(&mut self, about: &Value, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        if text(about, "/field") != "text" || self.is_asked(text(about, "/messageID")) {
            return Ok(());
        }
        let id = text(about, "/partID").to_owned();
        // A part is announced before its pieces; whatever is not is no text.
        self.say(&id, text(about, "/delta"), out)
    }

    fn say(&mut self, id: &str, more: &str, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        let Some(seen) = self.parts.get_mut(id) else {
            return Ok(());
        };
        seen.taken += more.len();
        match seen.kind {
            Kind::Text => self.assembly.text(more, out),
            Kind::Thought => self.assembly.thinking(more, out),
            Kind::Tool | Kind::Other => Ok(()),
        }
    }

    /// How much of a part was taken, and whether it is new.
    fn seen(&mut self, id: &str, kind: Kind) -> Result<(usize, bool), ModelError> {
        if let Some(seen) = self.parts.get(id) {
            return Ok((seen.taken, false));
        }
        if self.parts.len() >= PARTS_MAX {
            return Err(ModelError::protocol(format!(
                "The answer has more than {PARTS_MAX} parts."
            )));
        }
        self.parts.insert(id.to_owned(), Seen { kind, taken: 0 });
        Ok((0, true))
    }

    fn is_asked(&self, message: &str) -> bool {
        self.asked.iter().any(|id| id == message)
    }

    /// A step's figures; an answer's are their sum.
    fn take_step(&mut self, part: &Value) {
        self.steps += 1;
        let figure = |pointer: &str| Figure::at(part, pointer);
        let cached = figure("/tokens/cache/read");
        let input = figure("/tokens/input")
            .plus(cached)
            .plus(figure("/tokens/cache/write"));
        let hidden = figure("/tokens/reasoning");
        self.claim = Claim {
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
        // Nothing is what a model costs whose price it does not know.
        if let Some(cost) = cost.filter(|cost| *cost > 0) {
            let before = self.micro_dollars.unwrap_or(0);
            self.micro_dollars = Some(before.saturating_add(cost));
        }
    }
}

/// What its own error means.
fn failure(error: &Value) -> ModelError {
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
            refusal::read(Refusal {
                status: status
                    .and_then(|status| u16::try_from(status).ok())
                    .unwrap_or(0),
                body: said,
                retry_after_ms: None,
            })
        }
        // It has neither a class nor a status of its own.
        _ if said.starts_with("Model not found") || said.starts_with("Provider not found") => {
            refused(&format!("OpenCode has no such model: {said}."))
        }
        name => ModelError::new(
            ErrorClass::Overload,
            format!("OpenCode failed ({name}): {said}."),
        ),
    }
}

/// It wants to act and waits for a yes that nobody can give.
fn unasked(about: &Value) -> ModelError {
    let what = [text(about, "/permission"), text(about, "/type")];
    let what = what.into_iter().find(|what| !what.is_empty());
    refused(&format!(
        "OpenCode asks whether it may use {}, and nobody can be asked there: allow or deny it in OpenCode's own configuration.",
        what.unwrap_or("a tool")
    ))
}

fn refused(why: &str) -> ModelError {
    ModelError::new(ErrorClass::Request, why)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
