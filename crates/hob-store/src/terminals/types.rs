//! The types of terminals and commands.

use crate::audit::NewAuditEntry;
use hob_wire::RunId;
use hob_wire::rooms::terminal::{CommandOrigin, TerminalCommand, TerminalInfo, TerminalState};

/// A terminal to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTerminal {
    /// Names the folder of its recording.
    pub id: String,
    /// The key in the marks of its shell, which only that shell knows.
    pub key: String,
    pub name: String,
    pub shell: String,
    pub folder: Option<String>,
    pub columns: u16,
    pub rows: u16,
    /// Terminals that may be live at once.
    pub live_max: u32,
}

/// A terminal as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalRow {
    pub row_id: i64,
    pub id: String,
    pub key: String,
    pub name: String,
    pub shell: String,
    pub folder: Option<String>,
    pub columns: u16,
    pub rows: u16,
    pub state: TerminalState,
    pub detail: Option<String>,
    /// The position up to which its recording was replayed.
    pub reached: u64,
    pub created_at: u64,
}

/// The commands of one request.
#[derive(Clone, Debug)]
pub struct NewCommands {
    pub terminal: i64,
    pub by: CommandOrigin,
    pub run: Option<RunId>,
    /// In this order; validated by the caller.
    pub commands: Vec<String>,
    pub reason: Option<String>,
    pub timeout_ms: Option<u64>,
    /// Drops the rest when one fails.
    pub stop_on_failure: bool,
    /// Makes a repeat return the same commands.
    pub key: Option<String>,
    /// Commands that may wait in one terminal.
    pub queue_max: u32,
    /// The audit entry, when a person queued them.
    pub entry: Option<NewAuditEntry>,
}

/// The stored commands of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedCommands {
    pub rows: Vec<CommandRow>,
    /// True if they were queued before: nothing was written.
    pub repeated: bool,
}

/// A command as it is stored, without its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// Its place in the order of all commands.
    pub number: u64,
    pub command: TerminalCommand,
    pub run: Option<RunId>,
    pub timeout_ms: Option<u64>,
    /// Commands of one chain are dropped when one of them fails.
    pub chain: Option<u64>,
    /// The shell's id of a line that a person typed.
    pub shell_id: Option<String>,
}

/// Changes of one terminal that are written together.
#[derive(Clone, Debug, Default)]
pub struct TerminalWrite {
    pub terminal: i64,
    /// The position up to which the recording was replayed.
    pub reached: Option<u64>,
    /// In the order they happened.
    pub commands: Vec<CommandWrite>,
    /// The present state of the terminal, logged as `terminal.status`.
    pub status: Option<TerminalInfo>,
}

/// The present state of a command: begun or ended. An ended command stays as it is.
#[derive(Clone, Debug)]
pub struct CommandWrite {
    /// With its output, if it has ended.
    pub command: TerminalCommand,
    /// The shell's id of a line that a person typed; it may not have a row yet.
    pub shell_id: Option<String>,
}

impl TerminalWrite {
    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.reached.is_none() && self.commands.is_empty() && self.status.is_none()
    }

    pub(super) fn bytes(&self) -> usize {
        let texts = self.commands.iter().map(|write| {
            let command = &write.command;
            command.command.as_ref().map_or(0, String::len)
                + command.output.as_ref().map_or(0, String::len)
        });
        texts.sum()
    }
}
