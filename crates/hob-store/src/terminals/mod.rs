//! Terminals and the commands that were run in them.
//!
//! - `words`: what callers say and are told
//! - `write`: making a terminal, and what happened in it; `queue`: commands that are to wait in it
//! - `read`: looking at both; `trim`: how much of them is kept
//!
//! Invariants: one terminal of a name is alive; a command is a row before anybody types it; what
//! happened, up to where the recording was lived through, and its events are one transaction; a
//! command ends once, so that living through the recording again changes nothing.

mod queue;
mod read;
mod trim;
mod words;
mod write;

pub use words::{
    CommandRow, CommandWrite, NewCommands, NewTerminal, QueuedCommands, TerminalRow, TerminalWrite,
};

use crate::error::StoreError;
use crate::judgements::audit;
use crate::rules;
use crate::store::Store;
use hob_wire::CommandId;
use hob_wire::limits::PAGE_ROWS_DEFAULT;
use hob_wire::rooms::terminal::{HistoryParams, TerminalCommand, TerminalCommands};
use std::sync::Arc;

impl Store {
    /// Keeps a new terminal; a conflict when one of its name is alive.
    pub async fn add_terminal(&self, new: NewTerminal) -> Result<TerminalRow, StoreError> {
        self.write(0, move |batch| write::add(batch, &new)).await
    }

    /// Every terminal that is alive, by name.
    pub async fn live_terminals(&self) -> Result<Vec<TerminalRow>, StoreError> {
        self.read(read::live).await
    }

    /// The newest terminal of a name, alive or not.
    pub async fn terminal(&self, name: &str) -> Result<Option<TerminalRow>, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| read::newest(sql, &name)).await
    }

    /// The ids of all terminals there is a row of; folders of others are left over.
    pub async fn terminal_ids(&self) -> Result<Vec<String>, StoreError> {
        self.read(read::ids).await
    }

    /// Records commands that are to wait in a terminal, all or none. Those that this key asked
    /// for before are answered as they are.
    pub async fn queue_commands(&self, new: NewCommands) -> Result<QueuedCommands, StoreError> {
        new.key.as_deref().map_or(Ok(()), rules::idempotency_key)?;
        let entries: Vec<_> = new.entry.iter().cloned().collect();
        let texts: usize = new.commands.iter().map(String::len).sum();
        let bytes = audit::check(&entries)? + texts;
        self.write(bytes, move |batch| {
            let queued = queue::queue(batch, &new)?;
            if !queued.repeated {
                audit::append(batch, &entries)?;
            }
            hob_kit::failpoint::reach("terminal.queued");
            Ok(queued)
        })
        .await
    }

    /// Writes what happened in a terminal; what was written before is not written again. The
    /// caller keeps its own hold of it, to try again.
    pub async fn write_terminal(&self, happened: Arc<TerminalWrite>) -> Result<(), StoreError> {
        let bytes = happened.bytes();
        self.write(bytes, move |batch| {
            hob_kit::failpoint::reach("terminal.write.before");
            write::happened(batch, &happened)?;
            hob_kit::failpoint::reach("terminal.write.after");
            Ok(())
        })
        .await
    }

    /// Commands of a terminal that have not ended, in their order.
    pub async fn live_commands(&self, terminal: i64) -> Result<Vec<CommandRow>, StoreError> {
        self.read(move |sql| read::unended(sql, terminal)).await
    }

    /// A command with its output, as far as that is kept.
    pub async fn command(&self, id: CommandId) -> Result<TerminalCommand, StoreError> {
        self.read(move |sql| read::command(sql, id)).await
    }

    /// Commands, the newest first, without their outputs.
    pub async fn command_history(
        &self,
        params: HistoryParams,
    ) -> Result<TerminalCommands, StoreError> {
        let rows = rules::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        self.read(move |sql| read::history(sql, &params, rows))
            .await
    }
}

#[cfg(test)]
#[path = "terminals_tests.rs"]
mod tests;
