//! The types of Archy's socket protocol, for its clients: the request, the plain response, and the
//! longer responses of actions that analyse a command's output.
//!
//! Invariant: fields, defaults and error texts are Archy's. Every response has the four fields of
//! the plain response, so that a client that knows only those can read all of them.

use crate::analysis::OutputFinding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The default session.
pub const DEFAULT_SESSION: &str = "archy_session";
/// Longest name of a session or an application, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Seconds that `execute_and_wait` waits by default.
pub const EXECUTE_WAIT_SECONDS: u64 = 300;
/// Longest wait of a request, in seconds.
pub const WAIT_SECONDS_MAX: u64 = 3_600;
/// Shortest polling interval of a request, in milliseconds.
pub const LOOK_MS_MIN: u64 = 100;

pub const UNKNOWN_ACTION: &str = "Unknown action";
pub const EMPTY_REQUEST: &str = "Empty request received";
pub const REQUEST_TOO_LARGE: &str = "Request too large";
pub const CONNECTION_TIMEOUT: &str = "Connection timeout";
/// The error of `execute` for a missing command.
pub const COMMAND_REQUIRED: &str = "Missing required parameter: command";
/// The error of all other actions for a missing command.
pub const COMMAND_MISSING: &str = "Missing command parameter";
pub const COMMAND_EMPTY: &str = "Command cannot be empty";
pub const COMMAND_WITH_NUL: &str = "Invalid command: contains null byte";
pub const COMMAND_TOO_LONG: &str = "Command too long (max 8192 characters)";
pub const COMMANDS_MISSING: &str = "Missing or invalid 'commands' array";
pub const COMMAND_TIMEOUT: &str = "Command timeout - may still be running";
pub const SESSION_NOT_FOUND: &str = "Session not found or already closed";
pub const DIRECTORY_NOT_FOUND: &str = "Could not extract directory from prompt";
pub const TERMINAL_UNKNOWN: &str = "Invalid terminal specified";
pub const TERMINAL_NOT_FOUND: &str = "No terminal emulator found";

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyRequest {
    pub action: String,
    /// Any JSON value. Required.
    pub data: Value,
    /// Keeps the connection open for another request.
    #[serde(default)]
    pub keep: bool,
}

/// The plain response, which is part of every response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyResponse {
    pub success: bool,
    pub output: Option<String>,
    pub error: Option<String>,
    /// The existence of the requested object; null if the action does not ask for one.
    pub exists: Option<bool>,
}

impl ArchyResponse {
    pub fn success_with(output: impl Into<String>) -> ArchyResponse {
        ArchyResponse {
            success: true,
            output: Some(output.into()),
            ..ArchyResponse::default()
        }
    }

    pub fn failed(error: impl Into<String>) -> ArchyResponse {
        ArchyResponse {
            error: Some(error.into()),
            ..ArchyResponse::default()
        }
    }

    #[must_use]
    pub fn with_exists(mut self, exists: bool) -> ArchyResponse {
        self.exists = Some(exists);
        self
    }
}

/// Any response, as written on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ArchyAnswer {
    Plain(ArchyResponse),
    Analyzed(Box<ArchyAnalysis>),
    Batch(Box<ArchyBatch>),
    /// The answer of a service on the bus.
    Service(Value),
}

impl From<ArchyResponse> for ArchyAnswer {
    fn from(response: ArchyResponse) -> ArchyAnswer {
        ArchyAnswer::Plain(response)
    }
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArchyStatus {
    Success,
    Error,
    /// It did not end within the waiting time.
    Timeout,
}

/// A command with its analysed output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyAnalysis {
    #[serde(flatten)]
    pub plain: ArchyResponse,
    pub command: String,
    pub status: ArchyStatus,
    /// The exit code from the shell; -1 if the command has not ended or did not end by itself, null
    /// if only the screen was read.
    pub exit_code: Option<i32>,
    /// The parsed facts; an empty object if the format has none.
    pub structured: Value,
    pub findings: Vec<OutputFinding>,
    pub summary: String,
    /// For people, with colours.
    pub display: String,
    pub display_plain: String,
    pub metadata: ArchyMetadata,
    /// The same facts in one object; null if nothing was parsed.
    pub parsed: Option<ArchyParsed>,
    pub raw_output: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyMetadata {
    pub line_count: u64,
    pub byte_count: u64,
    pub duration_ms: Option<u64>,
    /// The format of the output, such as `df`, `json` or `text`.
    pub format_detected: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyParsed {
    pub status: ArchyStatus,
    pub structured: Value,
    pub findings: Vec<OutputFinding>,
    pub summary: String,
    pub metadata: ArchyMetadata,
    pub raw_output: String,
}

/// The outcome of several commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyBatch {
    /// Its `output` is the rest of the response as JSON text.
    #[serde(flatten)]
    pub plain: ArchyResponse,
    #[serde(flatten)]
    pub result: ArchyBatchResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyBatchResult {
    pub total_commands: u64,
    pub successful: u64,
    pub failed: u64,
    /// Commands that did not end within the waiting time. They continue.
    pub unfinished: u64,
    pub commands: Vec<ArchyBatchCommand>,
    pub summary: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchyBatchCommand {
    /// Its position in the request, from 1.
    pub index: u64,
    pub command: String,
    pub explanation: String,
    pub success: bool,
    pub status: ArchyStatus,
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
    /// The first lines of its output.
    pub output_preview: Option<String>,
    pub error: Option<String>,
}

#[cfg(test)]
#[path = "archy_tests.rs"]
mod tests;
