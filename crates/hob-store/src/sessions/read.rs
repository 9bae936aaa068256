//! Reads of sessions: one, a listing, and the messages of one in both directions. Every page is
//! bounded by rows and bytes, and holds at least one row if there is any.

use super::row::{self, COLUMNS, SessionHead, SessionRow};
use crate::checksums::MESSAGES;
use crate::checksums::damage::RowName;
use crate::error::{QueryError, StoreError};
use crate::value::{int, number, uuid as read_uuid};
use hob_core::session_title;
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::session::{Session, SessionListResult, SessionMessages};
use hob_wire::{DamagedRow, Message, MessageContent, MessageId, Role};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};
use std::sync::LazyLock;

/// The title is looked for among this many messages; a session begins with its user's words.
const TITLE_SEQ_MAX: u64 = 8;

pub(crate) fn get(sql: &Connection, session: &SessionRef) -> Result<Session, QueryError> {
    let found = row::find(sql, session)?;
    let found = found.ok_or_else(|| row::missing(session))?;
    let title = title(sql, found.row_id)?;
    Ok(Session {
        title,
        ..found.session
    })
}

/// Returns the title of a session. It is computed, so that older homes have titles too. A damaged
/// message gives none: its words are never shown as whole.
pub(crate) fn title(sql: &Connection, session: i64) -> Result<Option<String>, QueryError> {
    let mut select = sql.prepare_cached(&SELECT_FIRST)?;
    let mut rows = select.query((session, int(TITLE_SEQ_MAX)))?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    if !MESSAGES.is_whole(sql, row, 6, (row.get(5)?, 0))? {
        return Ok(None);
    }
    Ok(session_title::title(&message(row)?.content))
}

pub(crate) fn count(sql: &Connection) -> Result<u64, QueryError> {
    let mut select = sql.prepare_cached("SELECT count(*) FROM sessions")?;
    Ok(select.query_row([], |row| number(row, 0))?)
}

/// The place where a listing continues. A session that is written to meanwhile moves to the front.
/// It is never listed twice, and the others keep their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionListCursor {
    updated_at: i64,
    row_id: i64,
}

impl SessionListCursor {
    const START: SessionListCursor = SessionListCursor {
        updated_at: i64::MAX,
        row_id: i64::MAX,
    };

    pub(crate) fn parse(text: Option<&str>) -> Result<Self, StoreError> {
        let Some(text) = text else {
            return Ok(SessionListCursor::START);
        };
        let numbers = text.split_once('-');
        let parsed = numbers.and_then(|(updated_at, row_id)| {
            Some(SessionListCursor {
                updated_at: i64::from_str_radix(updated_at, 16).ok()?,
                row_id: i64::from_str_radix(row_id, 16).ok()?,
            })
        });
        parsed.ok_or_else(|| {
            StoreError::Invalid("`before` is not the `next` of a session list.".to_owned())
        })
    }

    fn after(found: &SessionRow) -> Self {
        SessionListCursor {
            updated_at: int(found.session.updated_at),
            row_id: found.row_id,
        }
    }

    fn to_text(self) -> String {
        format!("{:x}-{:x}", self.updated_at, self.row_id)
    }
}

/// The sessions that a listing shows.
#[derive(Debug, Default)]
pub(crate) struct SessionFilter {
    pub(crate) kind: Option<String>,
    /// A JSON array of labels.
    pub(crate) labels: Option<String>,
}

pub(crate) fn list(
    sql: &Connection,
    filter: &SessionFilter,
    rows_max: usize,
    before: SessionListCursor,
) -> Result<SessionListResult, QueryError> {
    // Without a filter its condition is left out, so that SQLite uses the right index.
    let of_kind = filter.kind.as_ref().map_or("?4 IS NULL", |_| "kind = ?4");
    let labelled = filter.labels.as_ref().map_or(
        "?5 IS NULL",
        |_| "label IN (SELECT value FROM json_each(?5))",
    );
    let mut select = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sessions
         WHERE {of_kind} AND {labelled} AND (updated_at, row_id) < (?1, ?2)
         ORDER BY updated_at DESC, row_id DESC LIMIT ?3"
    ))?;
    let limit = int(rows_max as u64 + 1);
    let mut rows = select.query((
        before.updated_at,
        before.row_id,
        limit,
        &filter.kind,
        &filter.labels,
    ))?;
    let mut sessions = Vec::new();
    let mut bytes = 0;
    let mut last = before;
    while let Some(row) = rows.next()? {
        let found = row::from_row(row)?;
        bytes += found.bytes;
        // One row more than asked for is read: it shows that there is a next page.
        let full = sessions.len() >= rows_max || bytes > PAGE_BYTES_MAX;
        if full && !sessions.is_empty() {
            let next = Some(last.to_text());
            return Ok(SessionListResult { sessions, next });
        }
        last = SessionListCursor::after(&found);
        let title = title(sql, found.row_id)?;
        sessions.push(Session {
            title,
            ..found.session
        });
    }
    Ok(SessionListResult {
        sessions,
        next: None,
    })
}

/// Returns the newest messages before `before`, oldest first.
pub(crate) fn history(
    sql: &Connection,
    session: &SessionRef,
    rows_max: usize,
    before: Option<u64>,
) -> Result<SessionMessages, QueryError> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let before = before.unwrap_or(u64::MAX);
    let mut select = sql.prepare_cached(&SELECT_BACKWARD)?;
    let rows = select.query((head.row_id, int(before), int(rows_max as u64)))?;
    let mut page = MessagePage::new(sql, &head);
    // Numbers run from 1 to the session's count. A number without a row is a lost message.
    let mut wanted = before.saturating_sub(1).min(head.message_count);
    let ended = page.take(rows, rows_max, |page, seq| {
        page.gap(seq + 1, wanted);
        wanted = seq.saturating_sub(1);
    })?;
    if ended {
        page.gap(1, wanted);
        wanted = 0;
    }
    page.messages.reverse();
    page.damaged.reverse();
    // A number above 1 has messages before it.
    Ok(page.into_messages((wanted > 0).then_some(wanted + 1)))
}

/// Returns messages after `after`, oldest first.
pub(crate) fn export(
    sql: &Connection,
    session: &SessionRef,
    rows_max: usize,
    after: Option<u64>,
) -> Result<SessionMessages, QueryError> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let after = after.unwrap_or(0);
    let mut select = sql.prepare_cached(&SELECT_FORWARD)?;
    let rows = select.query((head.row_id, int(after), int(rows_max as u64)))?;
    let mut page = MessagePage::new(sql, &head);
    let mut reached = after;
    let ended = page.take(rows, rows_max, |page, seq| {
        page.gap(reached + 1, seq.saturating_sub(1));
        reached = seq;
    })?;
    if ended {
        page.gap(reached + 1, head.message_count);
        reached = head.message_count;
    }
    Ok(page.into_messages((reached < head.message_count).then_some(reached)))
}

/// A page of messages. It holds a note in place of each damaged or missing message, so that nobody
/// takes the rest for the whole.
struct MessagePage<'c> {
    sql: &'c Connection,
    head: &'c SessionHead,
    messages: Vec<Message>,
    damaged: Vec<DamagedRow>,
    /// The time of the last message. A note for a missing one has no time of its own.
    at: u64,
}

impl<'c> MessagePage<'c> {
    fn new(sql: &'c Connection, head: &'c SessionHead) -> Self {
        MessagePage {
            sql,
            head,
            messages: Vec::new(),
            damaged: Vec::new(),
            at: 0,
        }
    }

    /// Takes rows until the page is full; returns whether there were no more. `meet` gets each
    /// number before its message is added.
    fn take(
        &mut self,
        mut rows: rusqlite::Rows<'_>,
        rows_max: usize,
        mut meet: impl FnMut(&mut Self, u64),
    ) -> Result<bool, QueryError> {
        let (mut bytes, mut taken) = (0, 0);
        while let Some(row) = rows.next()? {
            bytes += row.get_ref(3)?.as_bytes().map_or(0, <[u8]>::len);
            // One message alone may exceed the bound, or the page could never get past it.
            if bytes > PAGE_BYTES_MAX && taken > 0 {
                return Ok(false);
            }
            taken += 1;
            let (seq, row_id) = (number(row, 1)?, row.get(5)?);
            meet(self, seq);
            if MESSAGES.is_whole(self.sql, row, 6, (row_id, 0))? {
                let message = message(row)?;
                self.at = message.at;
                self.messages.push(message);
            } else {
                let name = self.name(seq);
                self.note(seq, MESSAGES.damaged(&name));
            }
        }
        Ok(taken < rows_max)
    }

    /// Adds a note for these messages, if there are any.
    fn gap(&mut self, first: u64, last: u64) {
        // Neighbours without a hole give an empty range.
        if first > last {
            return;
        }
        self.note(first, missing_messages(&self.name(first), last));
    }

    fn note(&mut self, seq: u64, damaged: DamagedRow) {
        self.messages.push(Message {
            // The note is no stored message, so it has no id that could be looked up.
            id: MessageId(uuid::Uuid::nil()),
            seq,
            role: Role::System,
            content: MessageContent::Text(format!("[{}]", damaged.message)),
            at: self.at,
        });
        self.damaged.push(damaged);
    }

    fn name(&self, seq: u64) -> RowName {
        RowName {
            session: Some(self.head.identity.name().to_owned()),
            number: Some(seq),
            id: None,
        }
    }

    fn into_messages(self, next: Option<u64>) -> SessionMessages {
        SessionMessages {
            messages: self.messages,
            next,
            damaged: self.damaged,
        }
    }
}

/// The first message of the user, if it is among the first of the session.
static SELECT_FIRST: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT m.id, m.seq, m.role, m.content, m.at, m.row_id, {} FROM messages m
         WHERE m.session = ?1 AND m.seq <= ?2 AND m.role = 'user' ORDER BY m.seq LIMIT 1",
        MESSAGES.checksum_state_sql("m")
    )
});
static SELECT_BACKWARD: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT m.id, m.seq, m.role, m.content, m.at, m.row_id, {} FROM messages m
         WHERE m.session = ?1 AND m.seq < ?2 ORDER BY m.seq DESC LIMIT ?3",
        MESSAGES.checksum_state_sql("m")
    )
});
static SELECT_FORWARD: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT m.id, m.seq, m.role, m.content, m.at, m.row_id, {} FROM messages m
         WHERE m.session = ?1 AND m.seq > ?2 ORDER BY m.seq LIMIT ?3",
        MESSAGES.checksum_state_sql("m")
    )
});

/// Reads a message from the first five columns.
pub(crate) fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let content = row.get_ref(3)?.as_str()?;
    Ok(Message {
        id: MessageId(read_uuid(row, 0)?),
        seq: number(row, 1)?,
        role: role(row.get_ref(2)?.as_str()?)?,
        content: serde_json::from_str(content)
            .map_err(|error| FromSqlError::Other(Box::new(error)))?,
        at: number(row, 4)?,
    })
}

/// The damage of messages that are missing, from the named one to `last`.
pub(crate) fn missing_messages(first: &RowName, last: u64) -> DamagedRow {
    let mut missing = MESSAGES.missing(first);
    if let (Some(session), Some(number)) = (&first.session, first.number)
        && number < last
    {
        missing.message = format!(
            "Messages {number} to {last} of session '{session}' are missing, though the session counts them. Restore a backup to get them back; 'hob verify' lists everything damaged."
        );
    }
    missing
}

fn role(text: &str) -> rusqlite::Result<Role> {
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    let role = roles.into_iter().find(|role| role.as_str() == text);
    role.ok_or_else(|| FromSqlError::InvalidType.into())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
