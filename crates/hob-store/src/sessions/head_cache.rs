//! What the writer remembers of the sessions it wrote to lately, so that adding a message does not
//! look its session up each time. Only the writer changes sessions, so what it remembers is true
//! as long as its batches commit.
//!
//! Invariant: it is forgotten whole whenever a batch does not commit, a command is undone, or a
//! session goes.

use super::row::{self, Head};
use hob_wire::SessionId;
use hob_wire::id::SessionRef;
use rusqlite::Connection;
use std::collections::HashMap;

/// Sessions remembered; one more, and it begins anew.
const HEADS_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Heads {
    keys: HashMap<String, i64>,
    ids: HashMap<SessionId, i64>,
    /// Under its row, so that there is one count however a session is named.
    rows: HashMap<i64, Head>,
    /// The row of the next message, as SQLite would number it. A checksum covers it, so it has to
    /// be known before the row is written.
    next_message: Option<i64>,
}

impl Heads {
    pub(crate) fn find(
        &mut self,
        sql: &Connection,
        session: &SessionRef,
    ) -> rusqlite::Result<Option<Head>> {
        let row_id = match session {
            SessionRef::Key(key) => self.keys.get(key),
            SessionRef::Id(id) => self.ids.get(id),
        };
        if let Some(head) = row_id.and_then(|row_id| self.rows.get(row_id)) {
            return Ok(Some(head.clone()));
        }
        let found = row::find_head(sql, session)?;
        if let Some(head) = &found {
            self.remember(session, head);
        }
        Ok(found)
    }

    /// The row that the next message gets.
    pub(crate) fn next_message(&mut self, sql: &Connection) -> rusqlite::Result<i64> {
        if let Some(row_id) = self.next_message {
            return Ok(row_id);
        }
        sql.prepare_cached("SELECT ifnull(max(row_id), 0) + 1 FROM messages")?
            .query_row([], |row| row.get(0))
    }

    /// A message was added, at its own row, to the session at this row.
    pub(crate) fn grown(&mut self, row_id: i64, message: i64) {
        self.next_message = Some(message + 1);
        if let Some(head) = self.rows.get_mut(&row_id) {
            head.message_count += 1;
        }
    }

    pub(crate) fn forget(&mut self) {
        self.keys.clear();
        self.ids.clear();
        self.rows.clear();
        self.next_message = None;
    }

    fn remember(&mut self, session: &SessionRef, head: &Head) {
        if self.rows.len() >= HEADS_MAX {
            self.forget();
        }
        match session {
            SessionRef::Key(key) => self.keys.insert(key.clone(), head.row_id),
            SessionRef::Id(id) => self.ids.insert(*id, head.row_id),
        };
        self.rows.insert(head.row_id, head.clone());
    }
}
