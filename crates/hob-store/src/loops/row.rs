//! A loop's row: how it is found and read.

use super::words::{LoopRow, Mode};
use crate::error::{StoreError, Trouble};
use crate::judgements::granted;
use crate::value::{number, optional_number};
use hob_wire::rooms::loops::{KIND, LoopConfig};
use hob_wire::schedule::GrantView;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// The columns of [`from_row`], in its order.
pub(super) const COLUMNS: &str = "row_id, name, config, created_at, updated_at, mode, once_key,
    iteration, since_start, errors, last_error, stopped, next_at, monitor, cost, persistent, working";

/// The room that makes the rules of loops.
const ROOM: &str = "loops";

/// What a loop was granted: its stored rules.
pub(super) fn grants(sql: &Connection, name: &str) -> Result<Vec<GrantView>, Trouble> {
    let rules = granted::made_by(sql, ROOM, Some(&sessions(name)))?;
    Ok(rules.into_iter().map(granted::grant).collect())
}

/// What each loop was granted, by the sessions its rules are for.
pub(super) fn all_grants(sql: &Connection) -> Result<BTreeMap<String, Vec<GrantView>>, Trouble> {
    let mut grants: BTreeMap<String, Vec<GrantView>> = BTreeMap::new();
    for mut rule in granted::made_by(sql, ROOM, None)? {
        if let Some(sessions) = rule.terms.sessions.take() {
            let of_loop = grants.entry(sessions).or_default();
            of_loop.push(granted::grant(rule));
        }
    }
    Ok(grants)
}

/// The sessions that the rules of a loop are for.
pub(super) fn sessions(name: &str) -> String {
    format!("{KIND}:{name}:*")
}

pub(super) fn find(sql: &Connection, name: &str) -> rusqlite::Result<Option<LoopRow>> {
    sql.prepare_cached(&format!("SELECT {COLUMNS} FROM loops WHERE name = ?1"))?
        .query_row([name], from_row)
        .optional()
}

pub(super) fn expect(sql: &Connection, name: &str) -> Result<LoopRow, Trouble> {
    Ok(find(sql, name)?.ok_or_else(|| missing(name))?)
}

pub(super) fn missing(name: &str) -> StoreError {
    StoreError::NotFound(format!(
        "There is no loop '{name}'; 'hob loop list' shows those there are."
    ))
}

pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<LoopRow> {
    let optional = |column: usize| row.get_ref(column)?.as_str_or_null().map_err(Into::into);
    let text = |column: usize| -> rusqlite::Result<Option<&str>> { optional(column) };
    Ok(LoopRow {
        row_id: row.get(0)?,
        name: row.get(1)?,
        config: LoopConfig {
            // Loops of former versions have a list of their own; the stored rules count.
            grants: Vec::new(),
            ..json(row.get_ref(2)?.as_str()?)?
        },
        created_at: number(row, 3)?,
        updated_at: number(row, 4)?,
        mode: mode_of(row.get_ref(5)?.as_str()?),
        once_key: row.get(6)?,
        iteration: row.get(7)?,
        since_start: row.get(8)?,
        errors: row.get(9)?,
        last_error: row.get(10)?,
        stopped: text(11)?.map(word_of).transpose()?,
        next_at: optional_number(row, 12)?,
        monitor: text(13)?.map(json).transpose()?,
        cost: text(14)?.map(json).transpose()?.unwrap_or_default(),
        persistent: number(row, 15)?,
        working: number(row, 16)?,
    })
}

const MODES: [(Mode, &str); 3] = [
    (Mode::Idle, "idle"),
    (Mode::Running, "running"),
    (Mode::Once, "once"),
];

pub(super) fn mode_word(mode: Mode) -> &'static str {
    let found = MODES.iter().find(|(known, _)| *known == mode);
    found.map_or("idle", |(_, word)| word)
}

fn mode_of(word: &str) -> Mode {
    let found = MODES.iter().find(|(_, known)| *known == word);
    found.map_or(Mode::Idle, |(mode, _)| *mode)
}

/// A wire enum as its own word.
pub(super) fn word(value: &impl Serialize) -> Result<String, StoreError> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        _ => Err(StoreError::Internal("a word is no word".to_owned())),
    }
}

pub(super) fn word_of<T: DeserializeOwned>(word: &str) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::from(word)).map_err(unreadable)
}

pub(super) fn json<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> rusqlite::Error {
    FromSqlError::Other(Box::new(error)).into()
}
