//! The types of `agent.chat`: a conversation that the caller stores.

use crate::content::{ContentPart, MessageContent, Role};
use crate::id::RunId;
use crate::rooms::agent::{Budget, Cost, RunEndCause};
use crate::rooms::tool::Tier;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A conversation to answer. The answer is streamed as `run.delta` events of the session
/// `chat:CHAT_ID`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentChatParams {
    /// Chosen by the caller, so that it can subscribe first and stop the chat with `agent.abort`.
    pub chat_id: RunId,
    pub messages: Vec<ChatMessage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tools that the caller runs. A call of one ends the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ClientTool>,
    /// The client tool the model must call, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The tools of hob that the model may use; none when missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Tier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(default)]
    pub options: SamplingParams,
}

/// The sampling parameters of a model call. The provider chooses missing ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SamplingParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The reasoning effort, for models that support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
}

/// The reasoning effort of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// The lowest level the provider allows.
    Off,
    Low,
    Medium,
    High,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatMessage {
    pub role: Role,
    pub content: MessageContent,
}

/// A tool that the caller runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientTool {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// A JSON Schema of its arguments, which are an object.
    pub parameters: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    Auto,
    None,
    Required,
    /// The tool of this name.
    Named(String),
}

/// The text of one step of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatStep {
    pub step: u32,
    /// The attempt whose text it is.
    pub attempt: u32,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentChatResult {
    /// Text and calls of client tools, in order.
    pub content: Vec<ContentPart>,
    /// The texts of the steps before this answer, after which hob ran tools. With them the result
    /// has all text that `run.delta` told of, so no client depends on a delta.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<ChatStep>,
    pub success: bool,
    pub cause: RunEndCause,
    /// The cause as a sentence; missing if the model answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answer was cut at the output limit.
    #[serde(default)]
    pub cut: bool,
    pub cost: Cost,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
