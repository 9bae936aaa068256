//! Reading sessions: one, a listing, and the messages of one in either direction. Every page is
//! bounded by rows and by bytes, and holds at least one row if there is any.

use super::row::{self, COLUMNS, Found};
use crate::error::{StoreError, Trouble};
use crate::value::{int, number, uuid};
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::session::{Messages, Session, Sessions};
use hob_wire::{Message, MessageId, Role};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};

pub(crate) fn get(sql: &Connection, session: &SessionRef) -> Result<Session, Trouble> {
    let found = row::find(sql, session)?;
    Ok(found.ok_or_else(|| row::missing(session))?.session)
}

pub(crate) fn count(sql: &Connection) -> Result<u64, Trouble> {
    let mut select = sql.prepare_cached("SELECT count(*) FROM sessions")?;
    Ok(select.query_row([], |row| number(row, 0))?)
}

/// Where a listing goes on. A session that is written to meanwhile moves to the front: it is
/// never shown twice, and the others stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListCursor {
    updated_at: i64,
    row_id: i64,
}

impl ListCursor {
    const START: ListCursor = ListCursor {
        updated_at: i64::MAX,
        row_id: i64::MAX,
    };

    pub(crate) fn parse(text: Option<&str>) -> Result<Self, StoreError> {
        let Some(text) = text else {
            return Ok(ListCursor::START);
        };
        let numbers = text.split_once('-');
        let parsed = numbers.and_then(|(updated_at, row_id)| {
            Some(ListCursor {
                updated_at: i64::from_str_radix(updated_at, 16).ok()?,
                row_id: i64::from_str_radix(row_id, 16).ok()?,
            })
        });
        parsed.ok_or_else(|| {
            StoreError::Invalid("`before` is not the `next` of a session list.".to_owned())
        })
    }

    fn after(found: &Found) -> Self {
        ListCursor {
            updated_at: int(found.session.updated_at),
            row_id: found.row_id,
        }
    }

    fn to_text(self) -> String {
        format!("{:x}-{:x}", self.updated_at, self.row_id)
    }
}

pub(crate) fn list(
    sql: &Connection,
    kind: Option<&str>,
    rows_max: usize,
    before: ListCursor,
) -> Result<Sessions, Trouble> {
    let of_kind = if kind.is_some() { "kind = ?4 AND" } else { "" };
    let mut select = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sessions
         WHERE {of_kind} (updated_at, row_id) < (?1, ?2)
         ORDER BY updated_at DESC, row_id DESC LIMIT ?3"
    ))?;
    let limit = int(rows_max as u64 + 1);
    let mut rows = match kind {
        Some(kind) => select.query((before.updated_at, before.row_id, limit, kind))?,
        None => select.query((before.updated_at, before.row_id, limit))?,
    };
    let mut sessions = Vec::new();
    let mut bytes = 0;
    let mut last = before;
    while let Some(row) = rows.next()? {
        let found = row::from_row(row)?;
        bytes += found.bytes;
        let full = sessions.len() >= rows_max || bytes > PAGE_BYTES_MAX;
        if full && !sessions.is_empty() {
            let next = Some(last.to_text());
            return Ok(Sessions { sessions, next });
        }
        last = ListCursor::after(&found);
        sessions.push(found.session);
    }
    Ok(Sessions {
        sessions,
        next: None,
    })
}

/// Messages before `before`, the newest of them, oldest first.
pub(crate) fn history(
    sql: &Connection,
    session: &SessionRef,
    rows_max: usize,
    before: Option<u64>,
) -> Result<Messages, Trouble> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let before = before.map_or(i64::MAX, int);
    let mut select = sql.prepare_cached(
        "SELECT id, seq, role, content, at FROM messages
         WHERE session = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3",
    )?;
    let rows = select.query((head.row_id, before, int(rows_max as u64)))?;
    let mut messages = take_page(rows)?;
    messages.reverse();
    // Numbers run from 1 without holes, so whatever is above 1 has something before it.
    let next = messages.first().map(|first| first.seq);
    Ok(Messages {
        next: next.filter(|seq| *seq > 1),
        messages,
    })
}

/// Messages after `after`, oldest first.
pub(crate) fn export(
    sql: &Connection,
    session: &SessionRef,
    rows_max: usize,
    after: Option<u64>,
) -> Result<Messages, Trouble> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let mut select = sql.prepare_cached(
        "SELECT id, seq, role, content, at FROM messages
         WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let rows = select.query((head.row_id, int(after.unwrap_or(0)), int(rows_max as u64)))?;
    let messages = take_page(rows)?;
    let next = messages.last().map(|last| last.seq);
    Ok(Messages {
        next: next.filter(|seq| *seq < head.message_count),
        messages,
    })
}

fn take_page(mut rows: rusqlite::Rows<'_>) -> rusqlite::Result<Vec<Message>> {
    let mut messages = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        bytes += row.get_ref(3)?.as_str()?.len();
        if bytes > PAGE_BYTES_MAX && !messages.is_empty() {
            break;
        }
        messages.push(message(row)?);
    }
    Ok(messages)
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let content = row.get_ref(3)?.as_str()?;
    Ok(Message {
        id: MessageId(uuid(row, 0)?),
        seq: number(row, 1)?,
        role: role(row.get_ref(2)?.as_str()?)?,
        content: serde_json::from_str(content)
            .map_err(|error| FromSqlError::Other(Box::new(error)))?,
        at: number(row, 4)?,
    })
}

fn role(text: &str) -> rusqlite::Result<Role> {
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    let role = roles.into_iter().find(|role| role.as_str() == text);
    role.ok_or_else(|| FromSqlError::InvalidType.into())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
