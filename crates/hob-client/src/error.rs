//! Errors between a client and its daemon. Every message says what to do next.

use hob_kit::duration::format_ms;
use hob_wire::{ErrorCode, WireError};

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClientError {
    /// No daemon listens for this home.
    #[error("No daemon is running for {home}. Start it with `hob up`.")]
    NotRunning { home: String },
    /// A daemon should listen but cannot be reached.
    #[error("Cannot reach the daemon at {address}: {reason}. `hob doctor` looks for the cause.")]
    Unreachable { address: String, reason: String },
    /// The daemon does not know the token.
    #[error("The daemon refused the token: {message}")]
    RefusedToken { message: String },
    /// Client and daemon speak different protocol versions.
    #[error(
        "This hob speaks protocol {ours}, but the daemon ({daemon}) speaks protocol {theirs}. \
         Restart the daemon with the newer hob: `hob restart`."
    )]
    ProtocolSkew {
        ours: u32,
        theirs: u32,
        /// The version of the daemon, if known.
        daemon: String,
    },
    /// The connection broke during a call.
    #[error("The connection to the daemon was lost during `{method}`. {}", repeat_advice(*.repeatable))]
    ConnectionLost { method: String, repeatable: bool },
    /// No answer came within the timeout.
    #[error("`{method}` did not answer within {}. {}", format_ms(*.after_ms), repeat_advice(*.repeatable))]
    TimedOut {
        method: String,
        after_ms: u64,
        repeatable: bool,
    },
    /// The request is larger than a frame.
    #[error(
        "The params of `{method}` take {bytes} bytes; a frame holds at most {max}. Send less at once."
    )]
    TooLarge {
        method: String,
        bytes: usize,
        max: usize,
    },
    /// The answer does not fit the type that this version knows.
    #[error(
        "The answer of `{method}` is not what this hob expects: {reason}. Compare `hob version` with `hob status`."
    )]
    Unreadable { method: String, reason: String },
    /// The daemon answered with an error.
    #[error("{}", .0.message)]
    Wire(WireError),
    /// Starting the daemon failed.
    #[error("The daemon did not start: {reason}")]
    NotStarted { reason: String },
    /// The target or the request is not valid.
    #[error("{reason}")]
    BadTarget { reason: String },
    /// The event is not in the log, which belongs to other files of this home.
    #[error(
        "Event {since} is not in this daemon's log, whose last event is {last}. Read again from the start with since 0."
    )]
    CursorAhead { since: u64, last: u64 },
    /// The client's task has ended.
    #[error("This client is closed.")]
    Closed,
}

impl ClientError {
    /// Returns true if the daemon cannot be reached.
    pub fn is_daemon_absent(&self) -> bool {
        matches!(
            self,
            ClientError::NotRunning { .. }
                | ClientError::Unreachable { .. }
                | ClientError::ConnectionLost { .. }
        )
    }

    /// Returns true if the call failed with the connection and can be repeated safely.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            ClientError::ConnectionLost { repeatable, .. } => *repeatable,
            _ => false,
        }
    }

    /// Returns true if a later attempt to connect may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            ClientError::TimedOut { .. } => true,
            ClientError::Wire(error) => {
                matches!(
                    error.code,
                    ErrorCode::Overloaded | ErrorCode::ServiceUnavailable | ErrorCode::Timeout
                ) || error.retryable == Some(true)
            }
            other => other.is_daemon_absent(),
        }
    }

    /// Returns the wire's error code, if the daemon answered with one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::Wire(error) => Some(error.code),
            ClientError::RefusedToken { .. } => Some(ErrorCode::Unauthorized),
            _ => None,
        }
    }
}

impl From<WireError> for ClientError {
    fn from(error: WireError) -> Self {
        match error.code {
            ErrorCode::Unauthorized => ClientError::RefusedToken {
                message: error.message,
            },
            _ => ClientError::Wire(error),
        }
    }
}

fn repeat_advice(repeatable: bool) -> &'static str {
    if repeatable {
        "It is safe to try again."
    } else {
        "It may have happened: look before you try again."
    }
}
