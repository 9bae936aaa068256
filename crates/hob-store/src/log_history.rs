//! The starts of this database that wrote its event log. Each has an id.
//!
//! A client's cursor is an event number with the id of the log it came from. A log whose id is in
//! this history equals ours up to the next start after it. A log with an unknown id comes from
//! files that were replaced, for example by restoring an older copy.
//!
//! Invariant: two logs that differ in an event never share an id and a number at or after that
//! event.

use crate::value::{int, number};
use rusqlite::Connection;
use std::sync::Arc;

/// Starts that are kept. An older cursor gets a gap.
const STARTS_MAX: u64 = 1_024;

/// The ids under which this event log was written.
#[derive(Clone, Debug)]
pub(crate) struct LogHistory {
    /// In order; the last one is the present start.
    starts: Vec<LogStart>,
}

#[derive(Clone, Debug)]
struct LogStart {
    id: Arc<str>,
    after_seq: u64,
}

impl LogHistory {
    /// Creates a history of this start only.
    pub(crate) fn beginning(id: String) -> Self {
        LogHistory {
            starts: vec![LogStart {
                id: id.into(),
                after_seq: 0,
            }],
        }
    }

    pub(crate) fn read(sql: &Connection) -> rusqlite::Result<Self> {
        let mut select = sql.prepare("SELECT id, after_seq FROM log_starts ORDER BY epoch")?;
        let starts = select.query_map([], |row| {
            Ok(LogStart {
                id: row.get::<_, String>(0)?.into(),
                after_seq: number(row, 1)?,
            })
        })?;
        Ok(LogHistory {
            starts: starts.collect::<Result<_, _>>()?,
        })
    }

    /// Records that the start `epoch` continues after event `after_seq`.
    pub(crate) fn append(
        sql: &Connection,
        epoch: u64,
        id: &str,
        after_seq: u64,
    ) -> rusqlite::Result<()> {
        sql.execute(
            "INSERT INTO log_starts (epoch, id, after_seq) VALUES (?1, ?2, ?3)",
            (int(epoch), id, int(after_seq)),
        )?;
        // Each start has a higher epoch than the one before, so at most this many rows stay.
        sql.execute(
            "DELETE FROM log_starts WHERE epoch <= ?1",
            [int(epoch.saturating_sub(STARTS_MAX))],
        )?;
        Ok(())
    }

    /// The id of the log as it is written now.
    pub(crate) fn id(&self) -> Arc<str> {
        // Each start is recorded before the history is read, so the list is never empty.
        let last = self.starts.last();
        last.map_or_else(|| "".into(), |start| Arc::clone(&start.id))
    }

    /// Returns the last event that our log shares with the log of this id; none for an unknown id.
    pub(crate) fn shared_until(&self, id: &str) -> Option<u64> {
        let at = self.starts.iter().position(|start| *start.id == *id)?;
        let next = self.starts.get(at + 1);
        // Without a later start the id is the present one, and every event is shared.
        Some(next.map_or(u64::MAX, |next| next.after_seq))
    }
}

#[cfg(test)]
#[path = "log_history_tests.rs"]
mod tests;
