//! The limits of a bus. The defaults are those of the protocol; tests use smaller ones.

use hob_wire::limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Debug)]
pub struct BusLimits {
    pub connections_max: usize,
    pub outbox_frames_max: usize,
    pub outbox_bytes_max: usize,
    /// Requests one connection may have unanswered.
    pub pending_requests_max: usize,
    /// Shared by clones, so that the setting can change while the bus runs.
    pub request_timeout_ms: Arc<AtomicU64>,
}

impl BusLimits {
    /// The time after which an unanswered request fails with `TIMEOUT`.
    pub fn request_timeout_ms(&self) -> u64 {
        self.request_timeout_ms.load(Ordering::Relaxed)
    }

    /// Changes the timeout of future requests, in every clone.
    pub fn set_request_timeout_ms(&self, to_ms: u64) {
        self.request_timeout_ms.store(to_ms, Ordering::Relaxed);
    }
}

impl Default for BusLimits {
    fn default() -> Self {
        BusLimits {
            connections_max: limits::CONNECTIONS_MAX,
            outbox_frames_max: limits::OUTBOX_FRAMES_MAX,
            outbox_bytes_max: limits::OUTBOX_BYTES_MAX,
            pending_requests_max: limits::PENDING_REQUESTS_MAX,
            request_timeout_ms: Arc::new(AtomicU64::new(limits::REQUEST_TIMEOUT_MS)),
        }
    }
}
