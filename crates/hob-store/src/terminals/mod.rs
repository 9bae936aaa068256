//! Terminals and the commands that were run in them.
//!
//! - `types`: the types of terminals and commands
//! - `write`: creates a terminal and applies its changes; `queue`: queues commands
//! - `read`: reads of both; `trim`: deletes old rows
//!
//! Invariants: one terminal of a name is live; a command is a row before it is typed; changes, the
//! position up to which the recording was replayed, and their events are one transaction; a command
//! ends once, so that replaying the recording again changes nothing.

mod queue;
mod read;
mod trim;
mod types;
mod write;

pub use types::{
    CommandRow, CommandWrite, NewCommands, NewTerminal, QueuedCommands, TerminalRow, TerminalWrite,
};

use crate::audit::audit_log;
use crate::error::StoreError;
use crate::store::Store;
use crate::validate;
use hob_wire::CommandId;
use hob_wire::limits::PAGE_ROWS_DEFAULT;
use hob_wire::rooms::terminal::{TerminalCommand, TerminalHistoryParams, TerminalHistoryResult};
use std::sync::Arc;

impl Store {
    /// Stores a new terminal; a conflict when one of its name is live.
    pub async fn add_terminal(&self, new: NewTerminal) -> Result<TerminalRow, StoreError> {
        self.write(0, move |batch| write::add(batch, &new)).await
    }

    /// Returns every live terminal, by name.
    pub async fn live_terminals(&self) -> Result<Vec<TerminalRow>, StoreError> {
        self.read(read::live).await
    }

    /// Returns the newest terminal of a name, live or not.
    pub async fn terminal(&self, name: &str) -> Result<Option<TerminalRow>, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| read::newest(sql, &name)).await
    }

    /// Returns the ids of all stored terminals. Folders of others are leftovers.
    pub async fn terminal_ids(&self) -> Result<Vec<String>, StoreError> {
        self.read(read::ids).await
    }

    /// Queues commands in a terminal, all or none. Commands that this key queued before are
    /// returned as they are.
    pub async fn queue_commands(&self, new: NewCommands) -> Result<QueuedCommands, StoreError> {
        new.key
            .as_deref()
            .map_or(Ok(()), validate::idempotency_key)?;
        let entries: Vec<_> = new.entry.iter().cloned().collect();
        let texts: usize = new.commands.iter().map(String::len).sum();
        let bytes = audit_log::check(&entries)? + texts;
        self.write(bytes, move |batch| {
            let queued = queue::queue(batch, &new)?;
            // The first request wrote the entry. A repeat is not a second act.
            if !queued.repeated {
                audit_log::append(batch, &entries)?;
            }
            hob_kit::failpoint::reach("terminal.queued");
            Ok(queued)
        })
        .await
    }

    /// Applies changes of a terminal. Changes that were applied before have no effect. The caller
    /// keeps a reference, to try again.
    pub async fn write_terminal(&self, happened: Arc<TerminalWrite>) -> Result<(), StoreError> {
        let bytes = happened.bytes();
        self.write(bytes, move |batch| {
            hob_kit::failpoint::reach("terminal.write.before");
            write::apply(batch, &happened)?;
            hob_kit::failpoint::reach("terminal.write.after");
            Ok(())
        })
        .await
    }

    /// Returns the commands of a terminal that have not ended, in order.
    pub async fn live_commands(&self, terminal: i64) -> Result<Vec<CommandRow>, StoreError> {
        self.read(move |sql| read::unended(sql, terminal)).await
    }

    /// Returns a command with its output, as far as that is stored.
    pub async fn command(&self, id: CommandId) -> Result<TerminalCommand, StoreError> {
        self.read(move |sql| read::command(sql, id)).await
    }

    /// Returns commands, the newest first, without their outputs.
    pub async fn command_history(
        &self,
        params: TerminalHistoryParams,
    ) -> Result<TerminalHistoryResult, StoreError> {
        let rows = validate::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        self.read(move |sql| read::history(sql, &params, rows))
            .await
    }
}

#[cfg(test)]
#[path = "terminals_tests.rs"]
mod tests;
