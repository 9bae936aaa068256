//! The interface of a protocol. Each protocol lives in its own folder.
//!
//! Everything here is pure: a request is built from a prompt, deltas are decoded from events.
//! Network I/O is in `exchange`.

use crate::error::ModelError;
use crate::history::ConversationTurn;
use crate::prompt::{Prompt, ReplyDelta, StopReason, ToolDefinition};
use crate::providers::ProviderQuirks;
use crate::reply_builder::ReplyBuilder;
use crate::usage::ClaimedUsage;
use hob_kit::secret::Secret;
use hob_net::{HttpRequest, SseEvent};
use hob_wire::content::ContentPart;
use hob_wire::rooms::model::{ModelPrice, ProviderKind};
use serde_json::Value;

/// The input of a request builder.
#[derive(Debug)]
pub(crate) struct RequestInput<'a> {
    pub(crate) prompt: &'a Prompt,
    /// The prompt's system layers, followed by its system messages.
    pub(crate) system: &'a [String],
    /// The prompt's messages, in an order every provider accepts.
    pub(crate) turns: &'a [ConversationTurn],
    pub(crate) quirks: &'a ProviderQuirks,
}

impl RequestInput<'_> {
    /// The offered tools in the protocol's shape; `None` if there are none.
    pub(crate) fn tools(&self, shape: impl Fn(&ToolDefinition) -> Value) -> Option<Vec<Value>> {
        let tools = &self.prompt.tools;
        (!tools.is_empty()).then(|| tools.iter().map(shape).collect())
    }
}

/// A request as data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProviderRequest {
    /// The path, appended to the provider's base URL.
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// A page of a provider's models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelListPage {
    pub(crate) models: Vec<ProviderModel>,
    /// The path of the next page.
    pub(crate) next: Option<String>,
}

/// A model as its provider lists it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProviderModel {
    pub(crate) name: String,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) price: Option<ModelPrice>,
}

/// The way an answer is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerTransport {
    /// One request whose response is the stream.
    Post,
    /// A session per prompt; the answer is read from its events. Tools are sent as text.
    Session,
}

/// A protocol.
pub(crate) trait ProviderDialect: Send + Sync {
    /// Normalizes a configured URL to the base that paths are appended to.
    fn base_url(&self, url: &str) -> String;
    fn build_request(&self, ask: &RequestInput<'_>) -> ProviderRequest;
    fn transport(&self) -> AnswerTransport {
        AnswerTransport::Post
    }
    /// Headers of every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn authorize(&self, request: HttpRequest, key: &Secret) -> HttpRequest {
        let bearer = Secret::new(format!("Bearer {}", key.expose()));
        request.secret_header("authorization", bearer)
    }
    fn decoder(&self) -> Box<dyn StreamDecoder>;
    /// The path of the first page of models.
    fn models_path(&self) -> &'static str;
    fn parse_models(&self, body: &Value) -> Option<ModelListPage>;
}

/// The decoder of one answer's stream.
pub(crate) trait StreamDecoder: Send {
    /// Decodes an event and appends its deltas to `out`. Returns true after the last event.
    fn push_event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<bool, ModelError>;
    /// Called when the stream ended cleanly. Fails if the answer is incomplete.
    fn finish(self: Box<Self>) -> Result<DecodedReply, ModelError>;
}

/// A complete answer as the protocol delivered it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DecodedReply {
    pub(crate) parts: Vec<ContentPart>,
    pub(crate) stop: StopReason,
    pub(crate) claim: ClaimedUsage,
    /// Bytes of the answer, to check the claimed usage.
    pub(crate) bytes: usize,
    /// The most tokens an agent's own steps may have used beyond what was sent and received.
    pub(crate) unseen_tokens: u64,
    /// The reported cost, in millionths of a dollar.
    pub(crate) micro_dollars: Option<u64>,
}

impl DecodedReply {
    /// Finishes the builder. An answer cut by its length limit may end in incomplete arguments.
    pub(crate) fn from_builder(
        builder: ReplyBuilder,
        stop: StopReason,
        claim: ClaimedUsage,
    ) -> Self {
        let bytes = builder.byte_count();
        DecodedReply {
            parts: builder.finish(stop != StopReason::Length),
            stop,
            claim,
            bytes,
            unseen_tokens: 0,
            micro_dollars: None,
        }
    }
}

/// The protocol of a kind of provider.
pub(crate) fn for_kind(kind: ProviderKind) -> &'static dyn ProviderDialect {
    match kind {
        ProviderKind::Openai => &crate::openai_chat::OpenaiChatDialect,
        ProviderKind::Ollama => &crate::openai_chat::OllamaDialect,
        ProviderKind::OpenaiResponses => &crate::openai_responses::OpenaiResponsesDialect,
        ProviderKind::Anthropic => &crate::anthropic::AnthropicDialect,
        ProviderKind::Gemini => &crate::gemini::GeminiDialect,
        ProviderKind::Opencode => &crate::opencode::OpencodeDialect,
    }
}

/// Parses the JSON of an event. Bare `NaN` and `Infinity`, which some servers write for a missing
/// number, become null.
pub(crate) fn parse_json(data: &str) -> Result<Value, ModelError> {
    // Nearly every event is valid JSON, so the copy below is rarely made.
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

/// The string at a JSON pointer; empty if there is none.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
