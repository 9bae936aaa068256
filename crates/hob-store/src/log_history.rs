//! The starts of this database that wrote its event log, each with an id of its own.
//!
//! A client's cursor is an event's number and the id of the log it was heard from. A log whose id
//! is in this history is the same as ours up to the start that followed it; one whose id is not
//! comes from files that were replaced, as by restoring an older copy.
//!
//! Invariant: two logs that differ in an event never share an id and a number at or after it.

use crate::value::{int, number};
use rusqlite::Connection;
use std::sync::Arc;

/// Starts remembered; a cursor from before them is told a gap.
const STARTS_MAX: u64 = 1_024;

#[derive(Clone, Debug)]
pub(crate) struct LogHistory {
    /// In their order; the last one is running.
    starts: Vec<LogStart>,
}

#[derive(Clone, Debug)]
struct LogStart {
    id: Arc<str>,
    after_seq: u64,
}

impl LogHistory {
    /// A history that knows nothing but this start.
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

    /// Records that the start `epoch` goes on after event `after_seq`.
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
        sql.execute(
            "DELETE FROM log_starts WHERE epoch <= ?1",
            [int(epoch.saturating_sub(STARTS_MAX))],
        )?;
        Ok(())
    }

    /// The id of the log as it is written now.
    pub(crate) fn id(&self) -> Arc<str> {
        let last = self.starts.last();
        last.map_or_else(|| "".into(), |start| Arc::clone(&start.id))
    }

    /// The last event that our log shares with the one of this id; none when it is not known.
    pub(crate) fn shared_until(&self, id: &str) -> Option<u64> {
        let at = self.starts.iter().position(|start| *start.id == *id)?;
        let next = self.starts.get(at + 1);
        Some(next.map_or(u64::MAX, |next| next.after_seq))
    }
}

#[cfg(test)]
#[path = "log_history_tests.rs"]
mod tests;
