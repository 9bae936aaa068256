//! A cache of the sessions the writer wrote to lately, so that adding a message does not look up
//! its session each time. Only the writer changes sessions, so the cache is true as long as its
//! batches commit.
//!
//! Invariant: the whole cache is cleared when a batch does not commit, a command is undone, or a
//! session is deleted.

use super::row::{self, SessionHead};
use hob_wire::SessionId;
use hob_wire::id::SessionRef;
use rusqlite::Connection;
use std::collections::HashMap;

/// Sessions in the cache. When it is full, it is cleared.
const SESSIONS_MAX: usize = 1_024;

/// The writer's cache of session heads.
#[derive(Debug, Default)]
pub(crate) struct SessionHeadCache {
    keys: HashMap<String, i64>,
    ids: HashMap<SessionId, i64>,
    /// By row, so that a session has one message count under all its names.
    rows: HashMap<i64, SessionHead>,
    /// The row id of the next message, as SQLite would number it. The checksum covers it, so it
    /// must be known before the insert.
    next_message: Option<i64>,
}

impl SessionHeadCache {
    pub(crate) fn find(
        &mut self,
        sql: &Connection,
        session: &SessionRef,
    ) -> rusqlite::Result<Option<SessionHead>> {
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

    /// Returns the row id of the next message.
    pub(crate) fn next_message(&mut self, sql: &Connection) -> rusqlite::Result<i64> {
        if let Some(row_id) = self.next_message {
            return Ok(row_id);
        }
        // Not cached here: `count_message` stores the number after the insert.
        sql.prepare_cached("SELECT ifnull(max(row_id), 0) + 1 FROM messages")?
            .query_row([], |row| row.get(0))
    }

    /// Counts a message that was added, with row `message`, to the session with row `row_id`.
    pub(crate) fn count_message(&mut self, row_id: i64, message: i64) {
        self.next_message = Some(message + 1);
        // A session outside the cache is read with its new count the next time.
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

    fn remember(&mut self, session: &SessionRef, head: &SessionHead) {
        // Clearing is simple, and a busy home fills the cache again at once.
        if self.rows.len() >= SESSIONS_MAX {
            self.forget();
        }
        match session {
            SessionRef::Key(key) => self.keys.insert(key.clone(), head.row_id),
            SessionRef::Id(id) => self.ids.insert(*id, head.row_id),
        };
        self.rows.insert(head.row_id, head.clone());
    }
}
