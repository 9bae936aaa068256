//! A session's row and its queries, for reading and for writing.

use crate::error::StoreError;
use crate::events::SessionIdentity;
use crate::value::{number, optional_uuid, uuid};
use hob_wire::SessionId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::Session;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row};

/// The columns of [`from_row`], in its order.
pub(crate) const COLUMNS: &str =
    "row_id, id, key, kind, label, parent, message_count, created_at, updated_at, metadata";

/// A session with its row id.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) row_id: i64,
    pub(crate) session: Session,
    /// Its approximate size in an answer.
    pub(crate) bytes: usize,
}

impl SessionRow {
    /// The key, if it has one besides its id.
    pub(crate) fn key(&self) -> Option<&str> {
        let name = &self.session.session_key;
        (*name != self.session.id.to_string()).then_some(name)
    }
}

pub(crate) fn find(sql: &Connection, session: &SessionRef) -> rusqlite::Result<Option<SessionRow>> {
    let column = column_of(session);
    let mut select = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sessions WHERE {column} = ?1"
    ))?;
    match session {
        SessionRef::Id(id) => select.query_row([&id.0.as_bytes()[..]], from_row),
        SessionRef::Key(key) => select.query_row([key], from_row),
    }
    .optional()
}

/// The part of a session that adding a message needs.
#[derive(Clone, Debug)]
pub(crate) struct SessionHead {
    pub(crate) row_id: i64,
    pub(crate) identity: SessionIdentity,
    pub(crate) message_count: u64,
}

pub(crate) fn find_head(
    sql: &Connection,
    session: &SessionRef,
) -> rusqlite::Result<Option<SessionHead>> {
    let by_id = "SELECT row_id, id, key, message_count FROM sessions WHERE id = ?1";
    let by_key = "SELECT row_id, id, key, message_count FROM sessions WHERE key = ?1";
    let read = |row: &Row<'_>| {
        Ok(SessionHead {
            row_id: row.get(0)?,
            identity: SessionIdentity::new(
                SessionId(uuid(row, 1)?),
                row.get_ref(2)?.as_str_or_null()?,
            ),
            message_count: number(row, 3)?,
        })
    };
    match session {
        SessionRef::Id(id) => sql
            .prepare_cached(by_id)?
            .query_row([&id.0.as_bytes()[..]], read),
        SessionRef::Key(key) => sql.prepare_cached(by_key)?.query_row([key], read),
    }
    .optional()
}

pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let id = SessionId(uuid(row, 1)?);
    let key: Option<String> = row.get(2)?;
    let metadata = row.get_ref(9)?.as_str()?;
    // The fixed part covers the other fields, which are short.
    let bytes = 512 + metadata.len();
    let session = Session {
        id,
        session_key: key.unwrap_or_else(|| id.to_string()),
        kind: row.get(3)?,
        label: row.get(4)?,
        title: None,
        metadata: serde_json::from_str(metadata)
            .map_err(|error| FromSqlError::Other(Box::new(error)))?,
        parent: optional_uuid(row, 5)?.map(SessionId),
        messages: number(row, 6)?,
        created_at: number(row, 7)?,
        updated_at: number(row, 8)?,
    };
    Ok(SessionRow {
        row_id: row.get(0)?,
        session,
        bytes,
    })
}

pub(crate) fn missing(session: &SessionRef) -> StoreError {
    StoreError::NotFound(format!("There is no session '{session}'."))
}

fn column_of(session: &SessionRef) -> &'static str {
    match session {
        SessionRef::Id(_) => "id",
        SessionRef::Key(_) => "key",
    }
}
