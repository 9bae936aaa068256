//! An event log in memory, for the in-memory bus and for tests.

use crate::event::{LoggedEvent, NewEvent};
use crate::event_log::{BoxFuture, EventLog, LogBounds, Publisher};
use hob_wire::WireError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The id of every in-memory log.
const ID: &str = "memory";
/// Events kept by default.
const ROWS_MAX: usize = 100_000;

#[derive(Debug)]
pub struct MemoryLog {
    publisher: Publisher,
    /// Held from assigning a `seq` to publishing it, so that both have the same order.
    writer_lock: tokio::sync::Mutex<()>,
    /// A std mutex, because it is held for a few lines without await.
    rows: Mutex<LogRows>,
}

#[derive(Clone, Debug)]
struct LogRows {
    kept: VecDeque<LoggedEvent>,
    kept_max: usize,
    last: u64,
}

impl MemoryLog {
    pub fn new(publisher: Publisher) -> Self {
        MemoryLog::with_rows_max(publisher, ROWS_MAX)
    }

    /// Creates a log that keeps only the newest `rows_max` events.
    pub fn with_rows_max(publisher: Publisher, rows_max: usize) -> Self {
        MemoryLog {
            publisher,
            writer_lock: tokio::sync::Mutex::new(()),
            rows: Mutex::new(LogRows {
                kept: VecDeque::new(),
                kept_max: rows_max,
                last: 0,
            }),
        }
    }

    /// Copies the events to a log with another publisher, as after a restart.
    #[must_use]
    pub fn reopen(&self, publisher: Publisher) -> Self {
        MemoryLog {
            publisher,
            writer_lock: tokio::sync::Mutex::new(()),
            rows: Mutex::new(self.rows().clone()),
        }
    }

    fn rows(&self) -> MutexGuard<'_, LogRows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventLog for MemoryLog {
    fn bounds(&self) -> LogBounds {
        let rows = self.rows();
        LogBounds {
            first: rows.kept.front().map_or(rows.last + 1, |event| event.seq),
            last: rows.last,
        }
    }

    fn id(&self) -> Arc<str> {
        ID.into()
    }

    fn shared_until(&self, id: &str) -> Option<u64> {
        // All logs in memory have the same id and none is ever restored, so every event is shared.
        (id == ID).then_some(u64::MAX)
    }

    fn page(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LoggedEvent>, WireError>> {
        Box::pin(async move {
            let rows = self.rows();
            let begin = rows.kept.partition_point(|event| event.seq <= after);
            Ok(rows.kept.range(begin..).take(limit).cloned().collect())
        })
    }

    fn append(&self, event: NewEvent) -> BoxFuture<'_, Result<u64, WireError>> {
        Box::pin(async move {
            let _guard = self.writer_lock.lock().await;
            // The place is reserved first: there is no await between logging and publishing, so a
            // cancelled caller cannot leave a logged event unpublished.
            let place = self.publisher.reserve().await;
            let event = self.rows().push(event);
            let seq = event.seq;
            // Without a bus the event is still logged; a reader finds it by `page`.
            if let Some(place) = place {
                place.send(vec![event]);
            }
            Ok(seq)
        })
    }
}

impl LogRows {
    fn push(&mut self, event: NewEvent) -> LoggedEvent {
        self.last += 1;
        let event = event.logged_as(self.last);
        self.kept.push_back(event.clone());
        while self.kept.len() > self.kept_max {
            self.kept.pop_front();
        }
        event
    }
}
