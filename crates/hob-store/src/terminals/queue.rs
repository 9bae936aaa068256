//! Queueing of commands in a terminal.

use super::read::{self, COMMAND};
use super::types::{CommandRow, NewCommands, QueuedCommands};
use super::{trim, write};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::value::{int, number, uint};
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{CommandState, TerminalCommand};

pub(super) fn queue(
    batch: &mut WriteBatch<'_>,
    new: &NewCommands,
) -> Result<QueuedCommands, QueryError> {
    let name = write::live_name(batch, new.terminal)?;
    if let Some(rows) = queued_before(batch, new)? {
        return Ok(QueuedCommands {
            rows,
            repeated: true,
        });
    }
    // After the test for a repeat: one is answered even if the queue is full by now.
    let waiting: u64 = batch
        .sql
        .prepare_cached("SELECT count(*) FROM commands WHERE terminal = ?1 AND ended_at IS NULL")?
        .query_row([new.terminal], |row| number(row, 0))?;
    if waiting + new.commands.len() as u64 > u64::from(new.queue_max) {
        return Err(StoreError::Overloaded(format!(
            "{waiting} commands are waiting in the terminal '{name}', and at most {} may. \
             Wait for some to end, or cancel them.",
            new.queue_max
        ))
        .into());
    }
    let mut rows: Vec<CommandRow> = Vec::with_capacity(new.commands.len());
    for (place, command) in new.commands.iter().enumerate() {
        let id = CommandId(batch.ids.next(batch.now_ms));
        // A chain is named by the number of its first command.
        let chain = rows.first().and_then(|row| row.chain);
        let number = batch.sql.prepare_cached(INSERT)?.insert(rusqlite::params![
            &id.0.as_bytes()[..],
            new.terminal,
            read::by_name(new.by),
            new.run.map(|run| run.0.as_bytes().to_vec()),
            command,
            new.reason,
            int(batch.now_ms),
            new.timeout_ms.map(int),
            chain.map(int),
            new.key,
            // One key covers several commands, and the place tells them apart in its unique index.
            new.key.as_ref().map(|_| int(place as u64)),
        ])?;
        let number = uint(number);
        let starts_chain = new.stop_on_failure && place == 0 && new.commands.len() > 1;
        // The number is known only after the insert.
        if starts_chain {
            let chain = "UPDATE commands SET chain = number WHERE number = ?1";
            batch.sql.prepare_cached(chain)?.execute([int(number)])?;
        }
        rows.push(CommandRow {
            number,
            command: waiting_command(id, &name, new, command, batch.now_ms),
            run: new.run,
            timeout_ms: new.timeout_ms,
            chain: if starts_chain { Some(number) } else { chain },
            shell_id: None,
        });
        trim::trim_if_due(batch, new.terminal, number)?;
    }
    Ok(QueuedCommands {
        rows,
        repeated: false,
    })
}

/// Returns the commands that this key queued before.
fn queued_before(
    batch: &WriteBatch<'_>,
    new: &NewCommands,
) -> Result<Option<Vec<CommandRow>>, QueryError> {
    let Some(key) = &new.key else {
        return Ok(None);
    };
    let found = format!("{COMMAND} WHERE c.terminal = ?1 AND c.key = ?2 ORDER BY c.place");
    let mut select = batch.sql.prepare_cached(&found)?;
    let rows = select.query_map((new.terminal, key), read::command_row)?;
    let rows: Vec<CommandRow> = rows.collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let before = rows.iter().map(|row| row.command.command.as_deref());
    if !before.eq(new.commands.iter().map(|text| Some(text.as_str()))) {
        let message = "This `idempotencyKey` was used for other commands in this terminal.";
        return Err(StoreError::Conflict(message.to_owned()).into());
    }
    Ok(Some(rows))
}

fn waiting_command(
    id: CommandId,
    name: &str,
    new: &NewCommands,
    command: &str,
    now_ms: u64,
) -> TerminalCommand {
    TerminalCommand {
        id,
        terminal: name.to_owned(),
        by: new.by,
        command: Some(command.to_owned()),
        reason: new.reason.clone(),
        state: CommandState::Queued,
        exit_code: None,
        duration_ms: None,
        queued_at: now_ms,
        started_at: None,
        ended_at: None,
        output: None,
        output_bytes: 0,
        recorded: None,
        truncated: false,
        detail: None,
    }
}

const INSERT: &str = "INSERT INTO commands
     (id, terminal, by, run, command, reason, state, queued_at, timeout_ms, chain, key, place)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7, ?8, ?9, ?10, ?11)";
