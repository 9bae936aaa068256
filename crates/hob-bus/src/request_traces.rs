//! The latest requests with their timings, in a ring, and new trace ids.

use crate::route_table::MethodInfo;
use hob_wire::rooms::gateway::TraceSpan;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests remembered.
const SPANS_MAX: usize = 4_096;
/// Requests returned when no trace is named.
const LATEST_MAX: usize = 100;

#[derive(Debug)]
pub(crate) struct RequestTraces {
    /// A std mutex, because it is held for a few lines without await.
    ring: Mutex<VecDeque<TraceRecord>>,
    /// The random start of this daemon's ids.
    id_base: u64,
    ids_issued: AtomicU64,
}

/// A span with shared strings, so that recording copies none.
#[derive(Clone, Debug)]
pub(crate) struct TraceRecord {
    pub(crate) trace: Arc<str>,
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) caller: Arc<str>,
    pub(crate) started_at: u64,
    pub(crate) micros: u64,
    pub(crate) error: Option<String>,
}

impl RequestTraces {
    pub(crate) fn new(id_base: u64) -> Self {
        RequestTraces {
            ring: Mutex::default(),
            id_base,
            ids_issued: AtomicU64::new(0),
        }
    }

    /// Returns a new id of 16 hex digits.
    pub(crate) fn next_id(&self) -> Arc<str> {
        let number = self.ids_issued.fetch_add(1, Ordering::Relaxed);
        // The id must be unique, not secret: a counter, spread by an odd factor. Multiplying by an
        // odd number modulo 2^64 never maps two numbers to one.
        let spread = self
            .id_base
            .wrapping_add(number)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut text = String::with_capacity(16);
        // Writing to a string cannot fail.
        let _ = write!(text, "{spread:016x}");
        Arc::from(text)
    }

    pub(crate) fn record(&self, record: TraceRecord) {
        let mut ring = self.ring();
        let oldest = (ring.len() >= SPANS_MAX).then(|| ring.pop_front());
        // The evicted record is dropped after the lock is released.
        ring.push_back(record);
        drop(ring);
        drop(oldest);
    }

    /// The requests of one trace, or the latest of any; oldest first.
    pub(crate) fn spans(&self, trace: Option<&str>) -> Vec<TraceSpan> {
        // Cloned under the lock and converted after it: a clone shares most strings, a conversion
        // copies all of them.
        let found: Vec<TraceRecord> = {
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
        found.into_iter().map(TraceRecord::into_span).collect()
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<TraceRecord>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TraceRecord {
    fn into_span(self) -> TraceSpan {
        TraceSpan {
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
