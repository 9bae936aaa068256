//! Messages and their content. Plain text is a JSON string; richer content is a list of parts.

use crate::id::MessageId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The author of a message.
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

/// The content of a message: a text, or a list of parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        MessageContent::Text(text.to_owned())
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ContentPart {
    /// Plain text.
    #[serde(rename_all = "camelCase")]
    Text { text: String },
    /// The model's reasoning. `signature` is the provider's proof and is sent back unchanged.
    #[serde(rename_all = "camelCase")]
    Thinking {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// An image in base64.
    #[serde(rename_all = "camelCase")]
    Image { mime_type: String, data: String },
    /// A tool call requested by the model.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
}

/// A tool call requested by a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call within its run. The result has the same id.
    pub id: String,
    pub name: String,
    pub args: serde_json::Value,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub id: String,
    pub content: Vec<ContentPart>,
    #[serde(default)]
    pub is_error: bool,
}

/// The tokens of a model call, as reported by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
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
    /// The position in its session, from 1, without gaps.
    pub seq: u64,
    pub role: Role,
    pub content: MessageContent,
    /// The commit time, in milliseconds since 1970.
    pub at: u64,
}
