//! Words of terminals that the pure machines share with the wire: what becomes of a command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command in a terminal is doing, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandState {
    /// Waits for its turn.
    Queued,
    Running,
    /// It ended by itself; `exitCode` says how.
    Done,
    /// Dropped before it began, or interrupted by somebody.
    Cancelled,
    /// Interrupted at its deadline.
    Timeout,
    /// The terminal went away under it.
    Lost,
}

impl CommandState {
    /// Whether nothing more will happen to the command.
    pub fn is_final(self) -> bool {
        !matches!(self, CommandState::Queued | CommandState::Running)
    }
}
