//! Terminal types that the pure machines share with the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a command in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandState {
    /// It waits in the queue.
    Queued,
    Running,
    /// It ended by itself; see `exitCode`.
    Done,
    /// It was dropped before it began, or interrupted by somebody.
    Cancelled,
    /// It was interrupted at its deadline.
    Timeout,
    /// The terminal ended while it ran.
    Lost,
}

impl CommandState {
    /// Returns true if the command has ended.
    pub fn is_final(self) -> bool {
        !matches!(self, CommandState::Queued | CommandState::Running)
    }
}
