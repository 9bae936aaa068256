//! Provider-neutral prompts and answers.

use hob_wire::content::{ContentPart, Role, TokenUsage};
use hob_wire::rooms::agent::{SamplingParams, ToolChoice};
use serde_json::Value;
use std::collections::BTreeSet;

/// The input of one model call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// The provider's name of the model. A candidate overwrites it with its own.
    pub model: String,
    /// Layers of the system text. Stable layers come first, for the provider's prompt cache.
    pub system: Vec<String>,
    pub messages: Vec<PromptMessage>,
    pub tools: Vec<ToolDefinition>,
    pub tool_choice: Option<ToolChoice>,
    /// A JSON Schema the answer must fit.
    pub schema: Option<Value>,
    pub options: SamplingParams,
    /// The penalty on tokens that came already, for models that need one. Only llama.cpp's server
    /// knows the parameter.
    pub repeat_penalty: Option<f64>,
}

/// One message. Tool results have the role `Tool`.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    pub role: Role,
    pub parts: Vec<ContentPart>,
}

impl PromptMessage {
    pub fn text(role: Role, text: impl Into<String>) -> PromptMessage {
        let text = text.into();
        PromptMessage {
            role,
            parts: vec![ContentPart::Text { text }],
        }
    }
}

/// A tool as it is described to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// A JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// A streamed piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyDelta {
    /// Sent before the prompt: the server that gets it, if it was found on this machine and not
    /// configured, or the demo model.
    Server {
        server: String,
        model: String,
        demo: bool,
    },
    Text(String),
    Thinking(String),
    /// A piece of call number `index` of this answer.
    Tool {
        index: usize,
        name: String,
        /// The next characters of its arguments' JSON.
        delta: String,
    },
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// The parts in the model's order. A call whose arguments are a string, because they were not a
    /// JSON object, must not run.
    pub parts: Vec<ContentPart>,
    /// The ids, as in `parts`, of calls that came with the id of an earlier call of the same answer.
    /// They may be duplicates and must not run.
    pub repeated_calls: BTreeSet<String>,
    /// Always set for a complete answer: the provider's figures, or our estimate.
    pub usage: Option<TokenUsage>,
    /// True if `usage` is our estimate, because the provider's figures are missing or impossible.
    pub usage_estimated: bool,
    /// The cost the provider reports, in millionths of a dollar.
    pub micro_dollars: Option<u64>,
    pub stop: StopReason,
    /// `provider/model`.
    pub model: String,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model finished.
    End,
    /// The model waits for tool results.
    Tools,
    /// The output limit or the context window was reached.
    Length,
    /// The provider withheld content.
    Content,
    /// The model repeated itself, so the stream was closed.
    Repeated,
}
