//! The words of AgentLoop's protocol, for its clients: commands `{type, payload}` come in, flat
//! events `{type, …}` go out. There are no request ids and no acknowledgements.
//!
//! Invariant: unknown fields are tolerated and unknown commands are not, as by AgentLoop itself.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "payload")]
pub enum Command {
    /// A new session, or the one with this id; nothing of it is wiped.
    #[serde(rename = "session.create")]
    SessionCreate(Option<SessionCreate>),
    /// A message to a session, which is made if it is not there.
    #[serde(rename = "session.send")]
    SessionSend(SessionSend),
    /// How a session's next messages are answered.
    #[serde(rename = "session.configure")]
    SessionConfigure(SessionConfigure),
    /// Stops what a session is doing.
    #[serde(rename = "session.cancel")]
    SessionCancel(OfSession),
    #[serde(rename = "agent.list")]
    AgentList(Option<Nothing>),
    #[serde(rename = "service.start")]
    ServiceStart(OfService),
    #[serde(rename = "service.stop")]
    ServiceStop(OfService),
    /// One service, or all that are not plainly stopped.
    #[serde(rename = "service.status")]
    ServiceStatus(Option<MaybeService>),
}

/// The types of commands, in the order of [`Command`].
pub const COMMANDS: [&str; 8] = [
    "session.create",
    "session.send",
    "session.configure",
    "session.cancel",
    "agent.list",
    "service.start",
    "service.stop",
    "service.status",
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nothing {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSend {
    pub session_id: String,
    pub content: String,
    /// Paths of pictures on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfigure {
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_mode: Option<RoutingMode>,
    /// Missing: as it was. Null: none.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub agent: Option<Option<String>>,
    /// Missing: as it was. Null: none.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub session_prompt: Option<Option<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfSession {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfService {
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MaybeService {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Who chooses the agent of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoutingMode {
    /// The router, by the message's words.
    #[default]
    Auto,
    /// The person.
    Pinned,
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Event {
    #[serde(rename = "session.created")]
    SessionCreated { session_id: String },
    #[serde(rename = "session.status")]
    SessionStatus {
        session_id: String,
        status: SessionState,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    #[serde(rename = "agent.list")]
    AgentList { agents: Vec<Agent> },
    /// Which agent answers a message, and why.
    #[serde(rename = "router.decision")]
    RouterDecision {
        session_id: String,
        routing_mode: RoutingMode,
        agent: String,
        tools_allowed: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    #[serde(rename = "assistant.token")]
    AssistantToken { session_id: String, token: String },
    /// The whole answer.
    #[serde(rename = "assistant.message")]
    AssistantMessage {
        session_id: String,
        message_id: String,
        content: String,
    },
    #[serde(rename = "tool.call")]
    ToolCall { session_id: String, tool: Tool },
    #[serde(rename = "tool.result")]
    ToolResult {
        session_id: String,
        tool_id: String,
        result: Value,
    },
    #[serde(rename = "perf.metric")]
    PerfMetric {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        name: String,
        duration_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
    #[serde(rename = "service.status")]
    ServiceStatus { service: Service },
    #[serde(rename = "service.log")]
    ServiceLog {
        name: String,
        stream: crate::rooms::tool::OutputStream,
        line: String,
    },
    #[serde(rename = "error")]
    Error {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        error: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    Idle,
    Thinking,
    Streaming,
    ToolUse,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub tools: Vec<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    pub id: String,
    pub name: String,
    pub args: Value,
    pub status: ToolState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolState {
    Pending,
    Running,
    Completed,
    Failed,
}

/// A service and what it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    pub name: String,
    pub status: ServiceState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    Stopped,
    Starting,
    Running,
    Stopping,
    Error,
}

/// How a client finds the listener: the file `run/agentloop.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Engine {
    pub host: String,
    pub port: u16,
    pub pid: u32,
    /// Milliseconds since 1970.
    pub started_at: u64,
}

/// Tells a null that was sent from nothing sent.
#[expect(clippy::option_option, reason = "the outer one is whether it was sent")]
fn given<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(reader).map(Some)
}

#[cfg(test)]
#[path = "agentloop_tests.rs"]
mod tests;
