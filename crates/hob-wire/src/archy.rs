//! The documents of Archy's socket, for its clients: a request, the answer every action has, and
//! the longer answers of those that look at what a command printed.
//!
//! Invariant: fields, defaults and error texts are Archy's; the four fields of its plain answer are
//! in every answer, so that a client that knows no others is served by all of them.

use crate::analysis::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The session that is meant when none is named.
pub const DEFAULT_SESSION: &str = "archy_session";
/// Bytes of the name of a session or an application.
pub const NAME_BYTES_MAX: usize = 255;
/// Seconds that `execute_and_wait` waits when a request does not say how long.
pub const EXECUTE_WAIT_SECONDS: u64 = 300;
/// Seconds that a request may have waited for at the most.
pub const WAIT_SECONDS_MAX: u64 = 3_600;
/// Milliseconds between two looks that a request may ask for at the least.
pub const LOOK_MS_MIN: u64 = 100;

pub const UNKNOWN_ACTION: &str = "Unknown action";
pub const EMPTY_REQUEST: &str = "Empty request received";
pub const REQUEST_TOO_LARGE: &str = "Request too large";
pub const CONNECTION_TIMEOUT: &str = "Connection timeout";
/// What `execute` says of a missing command.
pub const COMMAND_REQUIRED: &str = "Missing required parameter: command";
/// What all others say of it.
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

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    pub action: String,
    /// May be anything, but must be there.
    pub data: Value,
    /// Leave the connection open for another request after the answer.
    #[serde(default)]
    pub keep: bool,
}

/// The answer every action has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    pub success: bool,
    pub output: Option<String>,
    pub error: Option<String>,
    /// Of what was asked about; null where nothing was.
    pub exists: Option<bool>,
}

impl Response {
    pub fn said(output: impl Into<String>) -> Response {
        Response {
            success: true,
            output: Some(output.into()),
            ..Response::default()
        }
    }

    pub fn failed(error: impl Into<String>) -> Response {
        Response {
            error: Some(error.into()),
            ..Response::default()
        }
    }

    #[must_use]
    pub fn with_exists(mut self, exists: bool) -> Response {
        self.exists = Some(exists);
        self
    }
}

/// Any answer, as it stands on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    Plain(Response),
    Analyzed(Box<Analyzed>),
    Batch(Box<Batch>),
    /// What a service on the bus answered.
    Given(Value),
}

impl From<Response> for Answer {
    fn from(response: Response) -> Answer {
        Answer::Plain(response)
    }
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Success,
    Error,
    /// It had not ended when the time to wait was over.
    Timeout,
}

/// A command with what it printed, looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analyzed {
    #[serde(flatten)]
    pub plain: Response,
    pub command: String,
    pub status: Status,
    /// The shell's own word; -1 where the command has not ended or did not end by itself, null of
    /// what is only on the screen.
    pub exit_code: Option<i32>,
    /// The facts of the output; an empty object where its kind has none.
    pub structured: Value,
    pub findings: Vec<Finding>,
    pub summary: String,
    /// For a person's eyes, with colours.
    pub display: String,
    pub display_plain: String,
    pub metadata: Metadata,
    /// The same facts together; null where nothing was read.
    pub parsed: Option<Parsed>,
    pub raw_output: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    pub line_count: u64,
    pub byte_count: u64,
    pub duration_ms: Option<u64>,
    /// What kind of output it is, such as `df`, `json` or `text`.
    pub format_detected: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parsed {
    pub status: Status,
    pub structured: Value,
    pub findings: Vec<Finding>,
    pub summary: String,
    pub metadata: Metadata,
    pub raw_output: String,
}

/// What became of several commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Batch {
    /// Its `output` is all of the rest as JSON.
    #[serde(flatten)]
    pub plain: Response,
    #[serde(flatten)]
    pub result: BatchResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchResult {
    pub total_commands: u64,
    pub successful: u64,
    pub failed: u64,
    /// Those that had not ended when the time to wait was over; they run on.
    pub unfinished: u64,
    pub commands: Vec<BatchCommand>,
    pub summary: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchCommand {
    /// Its place in the request, from 1.
    pub index: u64,
    pub command: String,
    pub explanation: String,
    pub success: bool,
    pub status: Status,
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
    /// The first lines it printed.
    pub output_preview: Option<String>,
    pub error: Option<String>,
}

#[cfg(test)]
#[path = "archy_tests.rs"]
mod tests;
