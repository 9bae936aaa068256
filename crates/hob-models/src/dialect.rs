//! What a protocol must be able to do; each lives in a folder of its own.
//!
//! Everything here is pure: a request is built from a prompt, pieces come from events. The one
//! place that sends and reads is `exchange`.

use crate::assembly::Assembly;
use crate::error::ModelError;
use crate::history::Turn;
use crate::prompt::{Piece, Prompt, Stop, ToolWord};
use crate::providers::Quirks;
use crate::usage::Claim;
use hob_kit::secret::Secret;
use hob_net::{Request, SseEvent};
use hob_wire::content::Part;
use hob_wire::rooms::model::{Price, ProviderKind};
use serde_json::Value;

/// What a request is built from.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) prompt: &'a Prompt,
    /// The prompt's system layers, with what its messages had to say as system.
    pub(crate) system: &'a [String],
    /// The prompt's messages, in an order every provider takes.
    pub(crate) turns: &'a [Turn],
    pub(crate) quirks: &'a Quirks,
}

impl Ask<'_> {
    /// The tools on offer, each in the protocol's shape; none when there are none.
    pub(crate) fn tools(&self, shape: impl Fn(&ToolWord) -> Value) -> Option<Vec<Value>> {
        let tools = &self.prompt.tools;
        (!tools.is_empty()).then(|| tools.iter().map(shape).collect())
    }
}

/// A request as data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// What follows the provider's address.
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// A page of a provider's models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListPage {
    pub(crate) models: Vec<Listed>,
    /// The path of the next page.
    pub(crate) next: Option<String>,
}

/// A model as its provider lists it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) price: Option<Price>,
}

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By one request, whose answer is the stream.
    Post,
    /// In a session that is made for it, by the events of that session. Tools go as text.
    Session,
}

/// A protocol.
pub(crate) trait Dialect: Send + Sync {
    /// The address as its paths are appended to it, from what a person wrote.
    fn base(&self, url: &str) -> String;
    fn call(&self, ask: &Ask<'_>) -> Call;
    fn way(&self) -> Way {
        Way::Post
    }
    /// Headers every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn authorize(&self, request: Request, key: &Secret) -> Request {
        let bearer = Secret::new(format!("Bearer {}", key.expose()));
        request.secret_header("authorization", bearer)
    }
    fn decoder(&self) -> Box<dyn Decoder>;
    /// The path of the first page of models.
    fn list_path(&self) -> &'static str;
    fn read_list(&self, body: &Value) -> Option<ListPage>;
}

/// A stream in the reading.
pub(crate) trait Decoder: Send {
    /// Takes an event and gives the pieces it holds; true after the last one.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Piece>) -> Result<bool, ModelError>;
    /// The stream ended in order; whether the answer did too is decided here.
    fn finish(self: Box<Self>) -> Result<Decoded, ModelError>;
}

/// A whole answer as its protocol gave it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Stop,
    pub(crate) claim: Claim,
    /// Bytes of the answer, for checking the claim.
    pub(crate) bytes: usize,
    /// The most tokens it may have used beside what was sent and received: an agent's own steps.
    pub(crate) unseen_tokens: u64,
    /// What it cost, in millionths of a dollar, if it said so.
    pub(crate) micro_dollars: Option<u64>,
}

impl Decoded {
    /// What was assembled; whether an answer was cut by its length decides how its calls are read.
    pub(crate) fn of(assembly: Assembly, stop: Stop, claim: Claim) -> Self {
        let bytes = assembly.bytes();
        Decoded {
            parts: assembly.finish(stop != Stop::Length),
            stop,
            claim,
            bytes,
            unseen_tokens: 0,
            micro_dollars: None,
        }
    }
}

/// The protocol of a kind of provider.
pub(crate) fn of(kind: ProviderKind) -> &'static dyn Dialect {
    match kind {
        ProviderKind::Openai => &crate::openai_chat::OpenaiChat,
        ProviderKind::Ollama => &crate::openai_chat::Ollama,
        ProviderKind::OpenaiResponses => &crate::openai_responses::OpenaiResponses,
        ProviderKind::Anthropic => &crate::anthropic::Anthropic,
        ProviderKind::Gemini => &crate::gemini::Gemini,
        ProviderKind::Opencode => &crate::opencode::Opencode,
    }
}

/// The JSON of an event. Bare `NaN` and `Infinity`, which some servers write where a number is
/// missing, count as null.
pub(crate) fn json(data: &str) -> Result<Value, ModelError> {
    if let Ok(value) = serde_json::from_str(data) {
        return Ok(value);
    }
    let garbage = |_| ModelError::protocol("An event of the stream is not JSON.");
    serde_json::from_str(&without_nan(data)).map_err(garbage)
}

fn without_nan(data: &str) -> String {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut clean = String::with_capacity(data.len());
    let mut in_text = false;
    let mut escaped = false;
    let mut rest = data;
    while let Some(letter) = rest.chars().next() {
        if !in_text && let Some(word) = WORDS.iter().find(|word| rest.starts_with(**word)) {
            clean.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        if letter == '"' && !escaped {
            in_text = !in_text;
        }
        escaped = in_text && letter == '\\' && !escaped;
        clean.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    clean
}

/// A text at a path of keys; empty when there is none.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
