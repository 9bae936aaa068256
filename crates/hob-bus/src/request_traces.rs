//! The latest requests with their timings, in a ring; and trace ids for requests that bring none.

use crate::routes::MethodInfo;
use hob_wire::rooms::gateway::Span;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests remembered.
const SPANS_MAX: usize = 4_096;
/// Requests shown when no trace is named.
const LATEST_MAX: usize = 100;

#[derive(Debug)]
pub(crate) struct Traces {
    /// A std mutex, because it is held for a few lines without await.
    ring: Mutex<VecDeque<Record>>,
    /// Where this daemon's ids begin.
    origin: u64,
    made: AtomicU64,
}

/// A span in shared texts: recording one copies no string.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) trace: Arc<str>,
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) caller: Arc<str>,
    pub(crate) started_at: u64,
    pub(crate) micros: u64,
    pub(crate) error: Option<String>,
}

impl Traces {
    pub(crate) fn new(origin: u64) -> Self {
        Traces {
            ring: Mutex::default(),
            origin,
            made: AtomicU64::new(0),
        }
    }

    /// A new id of 16 hex digits. It must be unique, not secret: a counter, spread by a
    /// multiplication that never maps two numbers to one.
    pub(crate) fn id(&self) -> Arc<str> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let spread = self
            .origin
            .wrapping_add(number)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut text = String::with_capacity(16);
        // Writing to a string cannot fail.
        let _ = write!(text, "{spread:016x}");
        Arc::from(text)
    }

    pub(crate) fn record(&self, record: Record) {
        let mut ring = self.ring();
        let oldest = (ring.len() >= SPANS_MAX).then(|| ring.pop_front());
        ring.push_back(record);
        drop(ring);
        drop(oldest);
    }

    /// The requests of one trace, or the latest of any; oldest first.
    pub(crate) fn spans(&self, trace: Option<&str>) -> Vec<Span> {
        let found: Vec<Record> = {
            let ring = self.ring();
            match trace {
                Some(trace) => ring
                    .iter()
                    .filter(|it| *it.trace == *trace)
                    .cloned()
                    .collect(),
                None => ring
                    .range(ring.len().saturating_sub(LATEST_MAX)..)
                    .cloned()
                    .collect(),
            }
        };
        found.into_iter().map(Record::into_span).collect()
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<Record>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn into_span(self) -> Span {
        Span {
            trace: self.trace.to_string(),
            method: self.method.name.to_string(),
            service: self.method.service.to_string(),
            caller: self.caller.to_string(),
            started_at: self.started_at,
            micros: self.micros,
            error: self.error,
        }
    }
}
