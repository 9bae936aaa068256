//! What a message is made of. Plain text is a JSON string; everything richer is a list of parts.

use crate::id::MessageId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// The content of a message: a text, or parts in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Content::Text(text.to_owned())
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    /// Words.
    #[serde(rename_all = "camelCase")]
    Text { text: String },
    /// What the model thought aloud; `signature` is the provider's proof, sent back unchanged.
    #[serde(rename_all = "camelCase")]
    Thinking {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A picture, base64.
    #[serde(rename_all = "camelCase")]
    Image { mime_type: String, data: String },
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What the tool answered.
    ToolResult(ToolResult),
}

/// A tool the model wants run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The call's id within its run; the result names it.
    pub id: String,
    pub name: String,
    pub args: serde_json::Value,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub id: String,
    pub content: Vec<Part>,
    #[serde(default)]
    pub is_error: bool,
}

/// What a model call used, as far as the provider says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
}

/// A message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub id: MessageId,
    /// Position in its session, from 1, without holes.
    pub seq: u64,
    pub role: Role,
    pub content: Content,
    /// When it was committed, in milliseconds since 1970.
    pub at: u64,
}
