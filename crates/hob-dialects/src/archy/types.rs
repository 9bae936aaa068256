//! The types of Archy's socket protocol, for its clients: the request, the plain response, and the
//! longer responses of actions that analyse a command's output.
//!
//! Invariant: fields, defaults and error texts are Archy's. Every response has the four fields of
//! the plain response, so that a client that knows only those can read all of them.

use hob_wire::analysis::{Importance, OutputFinding};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The default session.
pub(crate) const DEFAULT_SESSION: &str = "archy_session";
/// Longest name of a session or an application, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 255;
/// Seconds that `execute_and_wait` waits by default.
pub(crate) const EXECUTE_WAIT_SECONDS: u64 = 300;
/// Longest wait of a request, in seconds.
pub(crate) const WAIT_SECONDS_MAX: u64 = 3_600;
/// Shortest polling interval of a request, in milliseconds.
pub(crate) const LOOK_MS_MIN: u64 = 100;

pub(crate) const UNKNOWN_ACTION: &str = "Unknown action";
pub(crate) const EMPTY_REQUEST: &str = "Empty request received";
pub(crate) const REQUEST_TOO_LARGE: &str = "Request too large";
pub(crate) const CONNECTION_TIMEOUT: &str = "Connection timeout";
/// The error of `execute` for a missing command.
pub(crate) const COMMAND_REQUIRED: &str = "Missing required parameter: command";
/// The error of all other actions for a missing command.
pub(crate) const COMMAND_MISSING: &str = "Missing command parameter";
pub(crate) const COMMAND_EMPTY: &str = "Command cannot be empty";
pub(crate) const COMMAND_WITH_NUL: &str = "Invalid command: contains null byte";
pub(crate) const COMMAND_TOO_LONG: &str = "Command too long (max 8192 characters)";
pub(crate) const COMMANDS_MISSING: &str = "Missing or invalid 'commands' array";
pub(crate) const COMMAND_TIMEOUT: &str = "Command timeout - may still be running";
pub(crate) const SESSION_NOT_FOUND: &str = "Session not found or already closed";
pub(crate) const DIRECTORY_NOT_FOUND: &str = "Could not extract directory from prompt";
pub(crate) const TERMINAL_UNKNOWN: &str = "Invalid terminal specified";
pub(crate) const TERMINAL_NOT_FOUND: &str = "No terminal emulator found";

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArchyRequest {
    pub(crate) action: String,
    /// Any JSON value. Required.
    pub(crate) data: Value,
    /// Keeps the connection open for another request.
    #[serde(default)]
    pub(crate) keep: bool,
}

/// The plain response, which is part of every response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchyResponse {
    pub(crate) success: bool,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    /// The existence of the requested object; null if the action does not ask for one.
    pub(crate) exists: Option<bool>,
}

impl ArchyResponse {
    pub(crate) fn success_with(output: impl Into<String>) -> ArchyResponse {
        ArchyResponse {
            success: true,
            output: Some(output.into()),
            ..ArchyResponse::default()
        }
    }

    pub(crate) fn failed(error: impl Into<String>) -> ArchyResponse {
        ArchyResponse {
            error: Some(error.into()),
            ..ArchyResponse::default()
        }
    }

    #[must_use]
    pub(crate) fn with_exists(mut self, exists: bool) -> ArchyResponse {
        self.exists = Some(exists);
        self
    }
}

/// Any response, as written on the wire.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum ArchyAnswer {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ArchyStatus {
    Success,
    Error,
    /// It did not end within the waiting time.
    Timeout,
}

/// A command with its analysed output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArchyAnalysis {
    #[serde(flatten)]
    pub(crate) plain: ArchyResponse,
    pub(crate) command: String,
    pub(crate) status: ArchyStatus,
    /// The exit code from the shell; -1 if the command has not ended or did not end by itself, null
    /// if only the screen was read.
    pub(crate) exit_code: Option<i32>,
    /// The facts, always an object; see `structured_facts`.
    pub(crate) structured: Value,
    pub(crate) findings: Vec<ArchyFinding>,
    pub(crate) summary: String,
    /// For people, with colours.
    pub(crate) display: String,
    pub(crate) display_plain: String,
    pub(crate) metadata: ArchyMetadata,
    /// The same facts in one object; null if nothing was parsed.
    pub(crate) parsed: Option<ArchyParsed>,
    pub(crate) raw_output: String,
}

/// Something in the output that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchyFinding {
    pub(crate) category: String,
    pub(crate) message: String,
    pub(crate) importance: ArchyImportance,
}

/// Archy's clients compare these words by letter: `High`, not `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ArchyImportance {
    Low,
    Medium,
    High,
    Critical,
}

impl From<&OutputFinding> for ArchyFinding {
    fn from(finding: &OutputFinding) -> ArchyFinding {
        ArchyFinding {
            category: finding.category.clone(),
            message: finding.message.clone(),
            importance: match finding.importance {
                Importance::Low => ArchyImportance::Low,
                Importance::Medium => ArchyImportance::Medium,
                Importance::High => ArchyImportance::High,
                Importance::Critical => ArchyImportance::Critical,
            },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchyMetadata {
    pub(crate) line_count: u64,
    pub(crate) byte_count: u64,
    pub(crate) duration_ms: Option<u64>,
    /// Archy's name of the format, such as `disk_usage`, `json` or `plain_text`.
    pub(crate) format_detected: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArchyParsed {
    pub(crate) status: ArchyStatus,
    pub(crate) structured: Value,
    pub(crate) findings: Vec<ArchyFinding>,
    pub(crate) summary: String,
    pub(crate) metadata: ArchyMetadata,
    pub(crate) raw_output: String,
}

/// The outcome of several commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchyBatch {
    /// Its `output` is the rest of the response as JSON text.
    #[serde(flatten)]
    pub(crate) plain: ArchyResponse,
    #[serde(flatten)]
    pub(crate) result: ArchyBatchResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchyBatchResult {
    pub(crate) total_commands: u64,
    pub(crate) successful: u64,
    pub(crate) failed: u64,
    /// Commands that did not end within the waiting time. They continue.
    pub(crate) unfinished: u64,
    pub(crate) commands: Vec<ArchyBatchCommand>,
    pub(crate) summary: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchyBatchCommand {
    /// Its position in the request, from 1.
    pub(crate) index: u64,
    pub(crate) command: String,
    pub(crate) explanation: String,
    pub(crate) success: bool,
    pub(crate) status: ArchyStatus,
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_ms: Option<u64>,
    /// The first lines of its output.
    pub(crate) output_preview: Option<String>,
    pub(crate) error: Option<String>,
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
