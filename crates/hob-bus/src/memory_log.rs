//! An event log in memory, for the in-memory bus and for tests. It forgets with the process.

use crate::event::{LoggedEvent, NewEvent};
use crate::log::{BoxFuture, EventLog, LogBounds, Publisher};
use hob_wire::WireError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The one log there is in a process.
const ID: &str = "memory";
/// Events kept unless told otherwise.
const ROWS_MAX: usize = 100_000;

#[derive(Debug)]
pub struct MemoryLog {
    publisher: Publisher,
    /// Held from taking a number to publishing it, so that the order of the two is the same.
    writing: tokio::sync::Mutex<()>,
    /// A std mutex, because it is held for a few lines without await.
    rows: Mutex<Rows>,
}

#[derive(Clone, Debug)]
struct Rows {
    kept: VecDeque<LoggedEvent>,
    kept_max: usize,
    last: u64,
}

impl MemoryLog {
    pub fn new(publisher: Publisher) -> Self {
        MemoryLog::with_rows_max(publisher, ROWS_MAX)
    }

    /// A log that keeps only the newest `rows_max` events.
    pub fn with_rows_max(publisher: Publisher, rows_max: usize) -> Self {
        MemoryLog {
            publisher,
            writing: tokio::sync::Mutex::new(()),
            rows: Mutex::new(Rows {
                kept: VecDeque::new(),
                kept_max: rows_max,
                last: 0,
            }),
        }
    }

    /// The same events under another publisher: what a restart finds.
    #[must_use]
    pub fn reopen(&self, publisher: Publisher) -> Self {
        MemoryLog {
            publisher,
            writing: tokio::sync::Mutex::new(()),
            rows: Mutex::new(self.rows().clone()),
        }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
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
            let _writing = self.writing.lock().await;
            // The place is taken first: once the event has a number, nothing can be cut off
            // between logging and publishing it.
            let place = self.publisher.reserve().await;
            let event = self.rows().push(event);
            let seq = event.seq;
            if let Some(place) = place {
                place.send(vec![event]);
            }
            Ok(seq)
        })
    }
}

impl Rows {
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
