//! What a model is asked and what it answers, in words no provider owns.

use hob_wire::content::{Part, Role, Usage};
use hob_wire::rooms::agent::{Sampling, ToolChoice};
use serde_json::Value;
use std::collections::BTreeSet;

/// Everything one call of a model is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// The provider's own name of the model; a candidate puts its own here.
    pub model: String,
    /// Layers of the system text, the stable ones first so that a provider's cache finds them.
    pub system: Vec<String>,
    pub messages: Vec<PromptMessage>,
    pub tools: Vec<ToolWord>,
    pub tool_choice: Option<ToolChoice>,
    /// A JSON Schema the answer must fit.
    pub schema: Option<Value>,
    pub options: Sampling,
}

/// One message. Tool results have the role `Tool`.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    pub role: Role,
    pub parts: Vec<Part>,
}

impl PromptMessage {
    pub fn text(role: Role, text: impl Into<String>) -> PromptMessage {
        let text = text.into();
        PromptMessage {
            role,
            parts: vec![Part::Text { text }],
        }
    }
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolWord {
    pub name: String,
    pub description: String,
    /// A JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// A piece of an answer, as it streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Before the prompt is sent: who gets it, where a server was found on this machine and not
    /// configured.
    Server {
        server: String,
        model: String,
    },
    Text(String),
    Thinking(String),
    /// Of the call number `index` of this answer.
    Tool {
        index: usize,
        name: String,
        /// The next characters of its arguments' JSON.
        delta: String,
    },
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// In the order the model gave them. A call whose arguments were no JSON object has them as a
    /// string and must not run.
    pub parts: Vec<Part>,
    /// Ids, as they stand in `parts`, of calls that came with the id of an earlier call of the same
    /// answer. They may be that call once more and must not run.
    pub repeated_calls: BTreeSet<String>,
    /// Always there after a whole answer: the provider's figures, or ours.
    pub usage: Option<Usage>,
    /// The provider gave no figures, or impossible ones: `usage` is our own count.
    pub usage_estimated: bool,
    /// What it cost in millionths of a dollar, where the provider itself says so.
    pub micro_dollars: Option<u64>,
    pub stop: Stop,
    /// `provider/model`.
    pub model: String,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The model was done.
    End,
    /// It waits for tools.
    Tools,
    /// Its output limit or the window was reached.
    Length,
    /// The provider withheld content.
    Content,
}
