//! The types of AgentLoop's protocol, for its clients. Clients send commands `{type, payload}` and
//! receive flat events `{type, …}`. There are no request ids and no acknowledgements.
//!
//! Invariant: unknown fields are ignored and unknown commands are refused, as in AgentLoop itself.

#![expect(
    clippy::option_option,
    reason = "null clears a value, a missing field keeps it"
)]

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A command of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload")]
pub(crate) enum AgentLoopCommand {
    /// Creates a session, or returns the one with this id unchanged.
    #[serde(rename = "session.create")]
    SessionCreate(Option<AgentLoopSessionCreate>),
    /// Sends a message to a session. Creates the session if it does not exist.
    #[serde(rename = "session.send")]
    SessionSend(AgentLoopSessionSend),
    /// Sets the routing, agent and prompt for the next messages of a session.
    #[serde(rename = "session.configure")]
    SessionConfigure(AgentLoopSessionConfigure),
    /// Stops the current turn of a session.
    #[serde(rename = "session.cancel")]
    SessionCancel(AgentLoopSessionRef),
    #[serde(rename = "agent.list")]
    AgentList(Option<AgentLoopEmpty>),
    #[serde(rename = "service.start")]
    ServiceStart(AgentLoopServiceRef),
    #[serde(rename = "service.stop")]
    ServiceStop(AgentLoopServiceRef),
    /// Queries one service, or all services that are not simply stopped.
    #[serde(rename = "service.status")]
    ServiceStatus(Option<AgentLoopServiceFilter>),
}

/// The `type` of each command, in the order of [`AgentLoopCommand`].
pub(crate) const COMMANDS: [&str; 8] = [
    "session.create",
    "session.send",
    "session.configure",
    "session.cancel",
    "agent.list",
    "service.start",
    "service.stop",
    "service.status",
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentLoopEmpty {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLoopSessionCreate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLoopSessionSend {
    pub(crate) session_id: String,
    pub(crate) content: String,
    /// Paths of images on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) images: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLoopSessionConfigure {
    pub(crate) session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) routing_mode: Option<RoutingMode>,
    /// Missing keeps the value; null clears it.
    #[serde(
        default,
        with = "hob_wire::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) agent: Option<Option<String>>,
    /// Missing keeps the value; null clears it.
    #[serde(
        default,
        with = "hob_wire::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) session_prompt: Option<Option<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLoopSessionRef {
    pub(crate) session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentLoopServiceRef {
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentLoopServiceFilter {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

/// The way the agent of a message is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RoutingMode {
    /// The router chooses by the words of the message.
    #[default]
    Auto,
    /// The user chooses.
    Pinned,
}

/// An event for a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(crate) enum AgentLoopEvent {
    #[serde(rename = "session.created")]
    SessionCreated { session_id: String },
    #[serde(rename = "session.status")]
    SessionStatus {
        session_id: String,
        status: AgentLoopSessionState,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    #[serde(rename = "agent.list")]
    AgentList { agents: Vec<AgentLoopAgent> },
    /// The agent that answers a message, and the reason.
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
    ToolCall {
        session_id: String,
        tool: AgentLoopToolCall,
    },
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
    ServiceStatus { service: AgentLoopService },
    #[serde(rename = "service.log")]
    ServiceLog {
        name: String,
        stream: hob_wire::rooms::tool::OutputStream,
        line: String,
    },
    #[serde(rename = "error")]
    Error {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        error: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AgentLoopSessionState {
    Idle,
    Thinking,
    Streaming,
    ToolUse,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentLoopAgent {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    pub(crate) tools: Vec<String>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentLoopToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) args: Value,
    pub(crate) status: AgentLoopToolStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AgentLoopToolStatus {
    Pending,
    Running,
    Completed,
    Failed,
}

/// A service and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLoopService {
    pub(crate) name: String,
    pub(crate) status: AgentLoopServiceStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AgentLoopServiceStatus {
    Stopped,
    Starting,
    Running,
    Stopping,
    Error,
}

/// The content of `run/agentloop.json`, by which a client finds the listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLoopEndpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) pid: u32,
    /// Milliseconds since 1970.
    pub(crate) started_at: u64,
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
