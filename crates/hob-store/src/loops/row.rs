//! A loop's row and its queries.

use super::types::{LoopMode, LoopRow};
use crate::audit::granted_rules;
use crate::error::{QueryError, StoreError};
use crate::value::{number, optional_number, parse_enum, parse_json};
use hob_wire::rooms::loops::{KIND, LoopConfig};
use hob_wire::schedule::ToolGrantView;
use rusqlite::{Connection, OptionalExtension, Row};
use std::collections::BTreeMap;

/// The columns of [`from_row`], in its order.
pub(super) const COLUMNS: &str = "row_id, name, config, created_at, updated_at, mode, once_key,
    iteration, since_start, errors, last_error, stopped, next_at, monitor, cost, persistent, working";

/// The room that makes the rules of loops.
const ROOM: &str = "loops";

/// Returns the grants of a loop, from its stored rules.
pub(super) fn grants(sql: &Connection, name: &str) -> Result<Vec<ToolGrantView>, QueryError> {
    let rules = granted_rules::made_by(sql, ROOM, Some(&session_pattern(name)))?;
    Ok(rules
        .into_iter()
        .map(granted_rules::to_grant_view)
        .collect())
}

/// Returns the grants of all loops, by session pattern.
pub(super) fn all_grants(
    sql: &Connection,
) -> Result<BTreeMap<String, Vec<ToolGrantView>>, QueryError> {
    let mut grants: BTreeMap<String, Vec<ToolGrantView>> = BTreeMap::new();
    for mut rule in granted_rules::made_by(sql, ROOM, None)? {
        // A rule without a session pattern belongs to no loop.
        if let Some(sessions) = rule.terms.sessions.take() {
            let of_loop = grants.entry(sessions).or_default();
            of_loop.push(granted_rules::to_grant_view(rule));
        }
    }
    Ok(grants)
}

/// The pattern of the sessions of a loop.
pub(super) fn session_pattern(name: &str) -> String {
    format!("{KIND}:{name}:*")
}

pub(super) fn find(sql: &Connection, name: &str) -> rusqlite::Result<Option<LoopRow>> {
    sql.prepare_cached(&format!("SELECT {COLUMNS} FROM loops WHERE name = ?1"))?
        .query_row([name], from_row)
        .optional()
}

pub(super) fn find_existing(sql: &Connection, name: &str) -> Result<LoopRow, QueryError> {
    Ok(find(sql, name)?.ok_or_else(|| missing(name))?)
}

pub(super) fn missing(name: &str) -> StoreError {
    StoreError::NotFound(format!(
        "There is no loop '{name}'; 'hob loop list' shows all loops."
    ))
}

pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<LoopRow> {
    let optional = |column: usize| row.get_ref(column)?.as_str_or_null().map_err(Into::into);
    let text = |column: usize| -> rusqlite::Result<Option<&str>> { optional(column) };
    Ok(LoopRow {
        row_id: row.get(0)?,
        name: row.get(1)?,
        config: LoopConfig {
            // Loops of earlier versions have their own list. Only the stored rules count.
            grants: Vec::new(),
            ..parse_json(row.get_ref(2)?.as_str()?)?
        },
        created_at: number(row, 3)?,
        updated_at: number(row, 4)?,
        mode: parse_mode(row.get_ref(5)?.as_str()?),
        once_key: row.get(6)?,
        iteration: row.get(7)?,
        since_start: row.get(8)?,
        errors: row.get(9)?,
        last_error: row.get(10)?,
        stopped: text(11)?.map(parse_enum).transpose()?,
        next_at: optional_number(row, 12)?,
        monitor: text(13)?.map(parse_json).transpose()?,
        cost: text(14)?.map(parse_json).transpose()?.unwrap_or_default(),
        persistent: number(row, 15)?,
        working: number(row, 16)?,
    })
}

const MODES: [(LoopMode, &str); 3] = [
    (LoopMode::Idle, "idle"),
    (LoopMode::Running, "running"),
    (LoopMode::Once, "once"),
];

pub(super) fn mode_name(mode: LoopMode) -> &'static str {
    let found = MODES.iter().find(|(known, _)| *known == mode);
    found.map_or("idle", |(_, word)| word)
}

fn parse_mode(word: &str) -> LoopMode {
    // An unknown word starts nothing.
    let found = MODES.iter().find(|(_, known)| *known == word);
    found.map_or(LoopMode::Idle, |(mode, _)| *mode)
}
