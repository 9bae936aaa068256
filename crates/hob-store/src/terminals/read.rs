//! Reads of terminals and commands.

use super::types::{CommandRow, TerminalRow};
use crate::error::{QueryError, StoreError};
use crate::value::{int, number, optional_number, optional_uuid, uuid};
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::terminal::{
    CommandOrigin, CommandState, RecordedRange, TerminalCommand, TerminalHistoryParams,
    TerminalHistoryResult, TerminalState,
};
use hob_wire::{CommandId, RunId};
use rusqlite::{Connection, OptionalExtension, Row};

/// Terminals read at once; there are never more live ones.
const LIVE_ROWS_MAX: i64 = 1_024;

/// Selects a command with its terminal's name, for `command_row`.
pub(super) const COMMAND: &str = "SELECT c.number, c.id, t.name, c.by, c.run, c.command, c.reason,
     c.state, c.exit_code, c.duration_ms, c.queued_at, c.started_at, c.ended_at, c.output_bytes,
     c.truncated, c.detail, c.timeout_ms, c.chain, c.shell_id, t.id, c.output_from, c.output_to
     FROM commands c JOIN terminals t ON t.row_id = c.terminal";

const TERMINAL: &str = "SELECT row_id, id, key, name, shell, folder, columns, rows, state, detail,
     reached, created_at FROM terminals";

const STATES: [(TerminalState, &str); 5] = [
    (TerminalState::Starting, "starting"),
    (TerminalState::Idle, "idle"),
    (TerminalState::Busy, "busy"),
    (TerminalState::Lost, "lost"),
    (TerminalState::Closed, "closed"),
];

const BYS: [(CommandOrigin, &str); 3] = [
    (CommandOrigin::Person, "person"),
    (CommandOrigin::Client, "client"),
    (CommandOrigin::Model, "model"),
];

const COMMAND_STATES: [(CommandState, &str); 6] = [
    (CommandState::Queued, "queued"),
    (CommandState::Running, "running"),
    (CommandState::Done, "done"),
    (CommandState::Cancelled, "cancelled"),
    (CommandState::Timeout, "timeout"),
    (CommandState::Lost, "lost"),
];

pub(super) fn state_name(state: TerminalState) -> &'static str {
    name_of(&STATES, state)
}

pub(super) fn by_name(by: CommandOrigin) -> &'static str {
    name_of(&BYS, by)
}

pub(super) fn command_state_name(state: CommandState) -> &'static str {
    name_of(&COMMAND_STATES, state)
}

fn name_of<T: Copy + PartialEq>(names: &[(T, &'static str)], wanted: T) -> &'static str {
    let mut names = names.iter();
    names
        .find(|(one, _)| *one == wanted)
        .map_or("", |(_, name)| name)
}

fn parse_name<T: Copy>(names: &[(T, &str)], row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let name = row.get_ref(column)?.as_str()?;
    let mut names = names.iter();
    let found = names.find(|(_, one)| *one == name).map(|(it, _)| *it);
    // An unknown word is reported as damage, not taken for some state.
    found.ok_or_else(|| rusqlite::types::FromSqlError::InvalidType.into())
}

pub(super) fn live(sql: &Connection) -> Result<Vec<TerminalRow>, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{TERMINAL} WHERE ended_at IS NULL ORDER BY name LIMIT ?1"
    ))?;
    let rows = select.query_map([LIVE_ROWS_MAX], terminal_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn newest(sql: &Connection, name: &str) -> Result<Option<TerminalRow>, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{TERMINAL} WHERE name = ?1 ORDER BY row_id DESC LIMIT 1"
    ))?;
    Ok(select.query_row([name], terminal_row).optional()?)
}

pub(super) fn ids(sql: &Connection) -> Result<Vec<String>, QueryError> {
    let mut select = sql.prepare_cached("SELECT id FROM terminals")?;
    let rows = select.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn unended(sql: &Connection, terminal: i64) -> Result<Vec<CommandRow>, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{COMMAND} WHERE c.terminal = ?1 AND c.ended_at IS NULL ORDER BY c.number"
    ))?;
    let rows = select.query_map([terminal], command_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn command(sql: &Connection, id: CommandId) -> Result<TerminalCommand, QueryError> {
    let mut select = sql.prepare_cached(&format!("{COMMAND} WHERE c.id = ?1"))?;
    let found = select.query_row([&id.0.as_bytes()[..]], command_row);
    let found = found
        .optional()?
        .ok_or_else(|| StoreError::NotFound(format!("There is no command '{id}'.")))?;
    let output = sql
        .prepare_cached("SELECT text FROM command_outputs WHERE command = ?1")?
        .query_row([int(found.number)], |row| row.get(0))
        .optional()?;
    Ok(TerminalCommand {
        output,
        ..found.command
    })
}

pub(super) fn history(
    sql: &Connection,
    params: &TerminalHistoryParams,
    rows_max: usize,
) -> Result<TerminalHistoryResult, QueryError> {
    let before: i64 = match params.before {
        None => i64::MAX,
        Some(id) => sql
            .prepare_cached("SELECT number FROM commands WHERE id = ?1")?
            .query_row([&id.0.as_bytes()[..]], |row| row.get(0))
            .optional()?
            .ok_or_else(|| StoreError::NotFound(format!("There is no command '{id}'.")))?,
    };
    let mut select = sql.prepare_cached(&format!(
        "{COMMAND} WHERE c.number < ?1 AND (?2 IS NULL OR t.name = ?2)
         AND (?4 IS NULL OR c.key = ?4) ORDER BY c.number DESC LIMIT ?3"
    ))?;
    let most = int(rows_max.saturating_add(1) as u64);
    let key = &params.idempotency_key;
    let mut rows = select.query((before, &params.name, most, key))?;
    let mut page = TerminalHistoryResult {
        commands: Vec::new(),
        more: false,
    };
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        if page.commands.len() >= rows_max || bytes >= PAGE_BYTES_MAX {
            page.more = true;
            break;
        }
        let command = command_row(row)?.command;
        bytes += command.command.as_ref().map_or(0, String::len);
        page.commands.push(command);
    }
    Ok(page)
}

fn terminal_row(row: &Row<'_>) -> rusqlite::Result<TerminalRow> {
    Ok(TerminalRow {
        row_id: row.get(0)?,
        id: row.get(1)?,
        key: row.get(2)?,
        name: row.get(3)?,
        shell: row.get(4)?,
        folder: row.get(5)?,
        columns: row.get(6)?,
        rows: row.get(7)?,
        state: parse_name(&STATES, row, 8)?,
        detail: row.get(9)?,
        reached: number(row, 10)?,
        created_at: number(row, 11)?,
    })
}

fn recorded_range(row: &Row<'_>) -> rusqlite::Result<Option<RecordedRange>> {
    let Some(from) = optional_number(row, 20)? else {
        return Ok(None);
    };
    Ok(Some(RecordedRange {
        recording: row.get(19)?,
        from,
        to: optional_number(row, 21)?,
    }))
}

pub(super) fn command_row(row: &Row<'_>) -> rusqlite::Result<CommandRow> {
    Ok(CommandRow {
        number: number(row, 0)?,
        command: TerminalCommand {
            id: CommandId(uuid(row, 1)?),
            terminal: row.get(2)?,
            by: parse_name(&BYS, row, 3)?,
            command: row.get(5)?,
            reason: row.get(6)?,
            state: parse_name(&COMMAND_STATES, row, 7)?,
            exit_code: row.get(8)?,
            duration_ms: optional_number(row, 9)?,
            queued_at: number(row, 10)?,
            started_at: optional_number(row, 11)?,
            ended_at: optional_number(row, 12)?,
            output: None,
            output_bytes: number(row, 13)?,
            recorded: recorded_range(row)?,
            truncated: row.get(14)?,
            detail: row.get(15)?,
        },
        run: optional_uuid(row, 4)?.map(RunId),
        timeout_ms: optional_number(row, 16)?,
        chain: optional_number(row, 17)?,
        shell_id: row.get(18)?,
    })
}
