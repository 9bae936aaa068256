//! What callers say about terminals and commands, and what they are told.

use crate::judgements::NewEntry;
use hob_wire::RunId;
use hob_wire::rooms::terminal::{CommandBy, Terminal, TerminalCommand, TerminalState};

/// A terminal to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTerminal {
    /// Names the folder of its recording.
    pub id: String,
    /// What its shell's marks carry.
    pub key: String,
    pub name: String,
    pub shell: String,
    pub folder: Option<String>,
    pub columns: u16,
    pub rows: u16,
    /// Terminals there may be at once.
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
    /// Up to where its recording was lived through.
    pub reached: u64,
    pub created_at: u64,
}

/// Commands of one request, to wait in a terminal.
#[derive(Clone, Debug)]
pub struct NewCommands {
    pub terminal: i64,
    pub by: CommandBy,
    pub run: Option<RunId>,
    /// In this order; checked by the caller.
    pub commands: Vec<String>,
    pub reason: Option<String>,
    pub timeout_ms: Option<u64>,
    /// Drop the rest when one fails.
    pub stop_on_failure: bool,
    /// Makes asking again the same commands.
    pub key: Option<String>,
    /// Commands that may wait in one terminal.
    pub queue_max: u32,
    /// The record of the act, when it is a person's own.
    pub entry: Option<NewEntry>,
}

/// The commands of a request as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedCommands {
    pub rows: Vec<CommandRow>,
    /// Whether they were asked for before: nothing was written.
    pub repeated: bool,
}

/// A command as it is stored, without its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// Its place in the order of the record.
    pub number: u64,
    pub command: TerminalCommand,
    pub run: Option<RunId>,
    pub timeout_ms: Option<u64>,
    /// Those of one chain are dropped when one of them fails.
    pub chain: Option<u64>,
    /// The shell's own name of a line that a person typed.
    pub shell_id: Option<String>,
}

/// What is written together about one terminal.
#[derive(Clone, Debug, Default)]
pub struct TerminalWrite {
    pub terminal: i64,
    /// Up to where the recording was lived through.
    pub reached: Option<u64>,
    /// In the order it happened.
    pub commands: Vec<CommandWrite>,
    /// What the terminal does now; told as `terminal.status`.
    pub status: Option<Terminal>,
}

/// How a command is now: begun or ended. One that has its end keeps it.
#[derive(Clone, Debug)]
pub struct CommandWrite {
    /// With its output, if it has ended.
    pub command: TerminalCommand,
    /// A line that a person typed, by the shell's own name; it may not have a row yet.
    pub shell_id: Option<String>,
}

impl TerminalWrite {
    /// Whether there is nothing to write.
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
