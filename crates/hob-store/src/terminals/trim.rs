//! Deletion of old terminals and commands.

use crate::batch::WriteBatch;
use crate::error::QueryError;
use crate::value::{self, int};
use rusqlite::OptionalExtension;

/// Stored commands of one terminal.
const COMMANDS_MAX: u64 = 10_000;
/// Commands of one terminal whose output is stored.
const OUTPUTS_MAX: u64 = 1_000;
/// Old commands are deleted when a terminal's commands pass a multiple of this in the numbers that
/// all terminals share. So a terminal has at most this many too many, however many terminals there
/// are.
const EVERY: u64 = 64;
/// Stored terminals that have ended.
const ENDED_MAX: u64 = 128;
/// Commands of an ended terminal deleted at once.
const STEP: u64 = 2_000;

/// Deletes old commands of a terminal, if that is due.
pub(super) fn trim_if_due(
    batch: &WriteBatch<'_>,
    terminal: i64,
    number: u64,
) -> Result<(), QueryError> {
    if is_due(batch, terminal, number)? {
        trim_commands(batch, terminal, COMMANDS_MAX, OUTPUTS_MAX)?;
    }
    Ok(())
}

/// True if a multiple of [`EVERY`] lies between the terminal's command before this one and this
/// one.
pub(super) fn is_due(
    batch: &WriteBatch<'_>,
    terminal: i64,
    number: u64,
) -> Result<bool, QueryError> {
    let former: Option<u64> = batch
        .sql
        .prepare_cached(
            "SELECT number FROM commands WHERE terminal = ?1 AND number < ?2
             ORDER BY number DESC LIMIT 1",
        )?
        .query_row((terminal, int(number)), |row| value::number(row, 0))
        .optional()?;
    Ok(former.is_some_and(|former| former / EVERY < number / EVERY))
}

pub(super) fn trim_commands(
    batch: &WriteBatch<'_>,
    terminal: i64,
    commands_max: u64,
    outputs_max: u64,
) -> Result<(), QueryError> {
    // Numbers are shared by all terminals, so the bound is found by counting, not by subtracting.
    let beyond = |newest: u64, table: &str| -> rusqlite::Result<Option<i64>> {
        let select = format!(
            "SELECT {0} FROM {table} WHERE terminal = ?1 ORDER BY {0} DESC LIMIT 1 OFFSET ?2",
            if table == "commands" {
                "number"
            } else {
                "command"
            }
        );
        let mut select = batch.sql.prepare_cached(&select)?;
        let found = select.query_row((terminal, int(newest)), |row| row.get(0));
        found.optional()
    };
    if let Some(oldest) = beyond(outputs_max, "command_outputs")? {
        batch
            .sql
            .prepare_cached("DELETE FROM command_outputs WHERE terminal = ?1 AND command <= ?2")?
            .execute((terminal, oldest))?;
    }
    if let Some(oldest) = beyond(commands_max, "commands")? {
        batch
            .sql
            .prepare_cached(
                // A command that has not ended stays, however old it is.
                "DELETE FROM commands
                 WHERE terminal = ?1 AND number <= ?2 AND ended_at IS NOT NULL",
            )?
            .execute((terminal, oldest))?;
        batch
            .sql
            .prepare_cached("DELETE FROM command_outputs WHERE terminal = ?1 AND command <= ?2")?
            .execute((terminal, oldest))?;
    }
    Ok(())
}

/// Deletes the oldest ended terminal, bit by bit.
pub(super) fn trim_ended_terminals(batch: &WriteBatch<'_>) -> Result<(), QueryError> {
    let oldest: Option<i64> = batch
        .sql
        .prepare_cached(
            "SELECT row_id FROM terminals WHERE ended_at IS NOT NULL
             ORDER BY row_id DESC LIMIT 1 OFFSET ?1",
        )?
        .query_row([int(ENDED_MAX)], |row| row.get(0))
        .optional()?;
    let Some(oldest) = oldest else {
        return Ok(());
    };
    for table in ["command_outputs", "commands"] {
        let rows = format!(
            "DELETE FROM {table} WHERE rowid IN
             (SELECT rowid FROM {table} WHERE terminal = ?1 LIMIT ?2)"
        );
        batch
            .sql
            .prepare_cached(&rows)?
            .execute((oldest, int(STEP)))?;
    }
    // The terminal goes with the last of its commands.
    batch
        .sql
        .prepare_cached(
            "DELETE FROM terminals WHERE row_id = ?1
             AND NOT EXISTS (SELECT 1 FROM commands WHERE terminal = ?1)",
        )?
        .execute([oldest])?;
    Ok(())
}
