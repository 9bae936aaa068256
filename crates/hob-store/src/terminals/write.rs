//! Creation of a terminal, and the changes that happen in it.

use super::read;
use super::trim;
use super::types::{CommandWrite, NewTerminal, TerminalRow, TerminalWrite};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::value::{int, number, uint};
use hob_wire::rooms::terminal::{
    CommandOrigin, CommandState, TerminalCommand, TerminalCommandChanged, TerminalInfo,
    TerminalState, TerminalStatus,
};
use rusqlite::OptionalExtension;

pub(super) fn add(
    batch: &mut WriteBatch<'_>,
    new: &NewTerminal,
) -> Result<TerminalRow, QueryError> {
    let alive: u64 = batch
        .sql
        .prepare_cached("SELECT count(*) FROM terminals WHERE ended_at IS NULL")?
        .query_row([], |row| number(row, 0))?;
    if alive >= u64::from(new.live_max) {
        return Err(StoreError::Conflict(format!(
            "There are {alive} terminals, the most allowed. Close some."
        ))
        .into());
    }
    let of_name = "SELECT 1 FROM terminals WHERE name = ?1 AND ended_at IS NULL";
    if batch.sql.prepare_cached(of_name)?.exists([&new.name])? {
        let message = format!("There is a terminal '{}' already.", new.name);
        return Err(StoreError::Conflict(message).into());
    }
    let row_id = batch.sql.prepare_cached(ADD)?.insert(rusqlite::params![
        new.id,
        new.name,
        new.key,
        new.shell,
        new.folder,
        new.columns,
        new.rows,
        read::state_name(TerminalState::Starting),
        int(batch.now_ms),
    ])?;
    // Each new terminal deletes a part of an old one, so no timer is needed.
    trim::trim_ended_terminals(batch)?;
    Ok(TerminalRow {
        row_id,
        id: new.id.clone(),
        key: new.key.clone(),
        name: new.name.clone(),
        shell: new.shell.clone(),
        folder: new.folder.clone(),
        columns: new.columns,
        rows: new.rows,
        state: TerminalState::Starting,
        detail: None,
        reached: 0,
        created_at: batch.now_ms,
    })
}

/// Returns the name of a live terminal.
pub(super) fn live_name(batch: &WriteBatch<'_>, terminal: i64) -> Result<String, QueryError> {
    let name = batch
        .sql
        .prepare_cached("SELECT name FROM terminals WHERE row_id = ?1 AND ended_at IS NULL")?
        .query_row([terminal], |row| row.get(0))
        .optional()?;
    name.ok_or_else(|| StoreError::NotFound("This terminal is gone.".to_owned()).into())
}

pub(super) fn apply(
    batch: &mut WriteBatch<'_>,
    happened: &TerminalWrite,
) -> Result<(), QueryError> {
    // Before the status: the end of a terminal ends every command that has no end by then.
    for write in &happened.commands {
        write_command(batch, happened.terminal, write)?;
    }
    if let Some(reached) = happened.reached {
        // Never backwards: a restart replays the recording from here.
        batch
            .sql
            .prepare_cached("UPDATE terminals SET reached = max(reached, ?2) WHERE row_id = ?1")?
            .execute((happened.terminal, int(reached)))?;
    }
    if let Some(status) = &happened.status {
        write_status(batch, happened.terminal, status)?;
    }
    Ok(())
}

fn write_status(
    batch: &mut WriteBatch<'_>,
    row_id: i64,
    status: &TerminalInfo,
) -> Result<(), QueryError> {
    let is_over = matches!(status.state, TerminalState::Lost | TerminalState::Closed);
    let changed = batch
        .sql
        .prepare_cached(STATUS)?
        .execute(rusqlite::params![
            row_id,
            read::state_name(status.state),
            status.detail,
            status.folder,
            status.columns,
            status.rows,
            is_over.then_some(int(batch.now_ms)),
        ])?;
    if changed > 0 {
        batch.log_topic::<TerminalStatus>(status)?;
    }
    // Once: a repeat of the end must not touch commands again.
    if is_over && changed > 0 {
        end_leftover_commands(batch, row_id)?;
    }
    Ok(())
}

/// Ends commands that were queued while their terminal ended.
fn end_leftover_commands(batch: &mut WriteBatch<'_>, terminal: i64) -> Result<(), QueryError> {
    for row in read::unended(batch.sql, terminal)? {
        let left = CommandWrite {
            command: TerminalCommand {
                state: CommandState::Lost,
                ended_at: Some(batch.now_ms),
                detail: Some("Its terminal ended before it began.".to_owned()),
                ..row.command
            },
            shell_id: row.shell_id,
        };
        write_command(batch, terminal, &left)?;
    }
    Ok(())
}

fn write_command(
    batch: &mut WriteBatch<'_>,
    terminal: i64,
    write: &CommandWrite,
) -> Result<(), QueryError> {
    let command = &write.command;
    let id = &command.id.0.as_bytes()[..];
    let recorded = command.recorded.as_ref();
    let is_over = command.state.is_final();
    let ended_at = is_over.then(|| int(command.ended_at.unwrap_or(batch.now_ms)));
    let mut number: Option<i64> = batch
        .sql
        .prepare_cached(CHANGE)?
        .query_row(
            rusqlite::params![
                id,
                read::command_state_name(command.state),
                command.command,
                command.exit_code,
                command.duration_ms.map(int),
                command.started_at.map(int),
                ended_at,
                int(command.output_bytes),
                command.truncated,
                command.detail,
                recorded.map(|it| int(it.from)),
                recorded.and_then(|it| it.to).map(int),
            ],
            |row| row.get(0),
        )
        .optional()?;
    // No update: the row is missing, has ended, or has this state already.
    if number.is_none() && command.by == CommandOrigin::Person {
        number = insert_typed(batch, terminal, write, ended_at)?;
    }
    // The recording was replayed: this change is stored already.
    let Some(number) = number else {
        return Ok(());
    };
    if let Some(output) = command.output.as_ref().filter(|_| is_over) {
        batch
            .sql
            .prepare_cached(
                "INSERT OR IGNORE INTO command_outputs (command, terminal, text)
                 VALUES (?1, ?2, ?3)",
            )?
            .execute((number, terminal, output))?;
    }
    // An output may be large, so whoever wants it asks for it.
    let event = TerminalCommand {
        output: None,
        ..command.clone()
    };
    batch.log_topic::<TerminalCommandChanged>(&event)?;
    trim::trim_if_due(batch, terminal, uint(number))
}

/// Inserts a line that a person typed, which has no row before it begins.
fn insert_typed(
    batch: &WriteBatch<'_>,
    terminal: i64,
    write: &CommandWrite,
    ended_at: Option<i64>,
) -> Result<Option<i64>, QueryError> {
    let command = &write.command;
    let recorded = command.recorded.as_ref();
    let inserted = batch
        .sql
        .prepare_cached(TYPED)?
        .query_row(
            rusqlite::params![
                &command.id.0.as_bytes()[..],
                terminal,
                read::by_name(command.by),
                command.command,
                read::command_state_name(command.state),
                command.exit_code,
                command.duration_ms.map(int),
                int(command.queued_at),
                command.started_at.map(int),
                ended_at,
                int(command.output_bytes),
                command.truncated,
                command.detail,
                write.shell_id,
                recorded.map(|it| int(it.from)),
                recorded.and_then(|it| it.to).map(int),
            ],
            |row| row.get(0),
        )
        .optional()?;
    Ok(inserted)
}

const ADD: &str = "INSERT INTO terminals
     (id, name, key, shell, folder, columns, rows, state, reached, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9)";
const STATUS: &str = "UPDATE terminals SET state = ?2, detail = ?3, folder = ?4, columns = ?5,
     rows = ?6, ended_at = ?7 WHERE row_id = ?1 AND ended_at IS NULL";
const CHANGE: &str = "UPDATE commands SET state = ?2, command = ifnull(?3, command),
     exit_code = ?4, duration_ms = ?5, started_at = ifnull(?6, started_at), ended_at = ?7,
     output_bytes = ?8, truncated = ?9, detail = ?10, output_from = ?11, output_to = ?12
     WHERE id = ?1 AND ended_at IS NULL AND state <> ?2 RETURNING number";
const TYPED: &str = "INSERT INTO commands
     (id, terminal, by, command, state, exit_code, duration_ms, queued_at, started_at, ended_at,
      output_bytes, truncated, detail, shell_id, output_from, output_to)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
     ON CONFLICT (id) DO NOTHING RETURNING number";
