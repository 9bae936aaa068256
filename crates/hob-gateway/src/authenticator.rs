//! The door of one listener: who may come in, and what a wrong credential is told.
//!
//! Invariant: a right token always passes; the limiter is asked only after the comparison failed,
//! and there is one limiter for every kind of credential.

use crate::book::{Book, Principal};
use hob_core::limiter::{Limiter, Rate, Verdict};
use hob_kit::clock::Clock;
use hob_wire::{ErrorCode, WireError};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) surface: &'static str,
    book: Arc<Book>,
    clock: Clock,
    /// A lock of a few instructions, taken only by failures.
    limiter: Mutex<Limiter>,
    failures: AtomicU64,
    limited: AtomicU64,
}

impl Door {
    pub(crate) fn new(surface: &'static str, book: Arc<Book>, clock: Clock) -> Self {
        Door {
            surface,
            book,
            clock,
            limiter: Mutex::new(Limiter::new(Rate::DEFAULT)),
            failures: AtomicU64::new(0),
            limited: AtomicU64::new(0),
        }
    }

    /// Lets the holder of `token` in, or says why not.
    pub(crate) fn admit(&self, token: &str) -> Result<Principal, WireError> {
        if let Some(principal) = self.book.verify(token, self.clock.wall_ms()) {
            return Ok(principal);
        }
        Err(self.refuse(
            "This token is not valid: it is mistyped, expired or revoked. 'hob token list' shows the live ones.",
        ))
    }

    /// Counts a credential that opened nothing; answers what its holder is told: `message`, or that
    /// there were too many.
    pub(crate) fn refuse(&self, message: &str) -> WireError {
        self.failures.fetch_add(1, Ordering::Relaxed);
        match self.judge_failure() {
            Verdict::Counted => {
                tracing::warn!(listener = self.surface, "a wrong credential was refused");
                WireError::new(ErrorCode::Unauthorized, message)
            }
            Verdict::Limited { retry_after_ms } => {
                self.limited.fetch_add(1, Ordering::Relaxed);
                let error = WireError::new(ErrorCode::Overloaded, "Too many wrong tokens.");
                error.retry_after(retry_after_ms)
            }
        }
    }

    /// Whether a principal admitted earlier still would be.
    pub(crate) fn still_admits(&self, principal: &Principal) -> bool {
        self.book.knows(&principal.id)
    }

    /// Wrong tokens so far, and how many of them came beyond the rate.
    pub(crate) fn failures(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.failures), count(&self.limited))
    }

    fn judge_failure(&self) -> Verdict {
        if hob_kit::failpoint::broken(43) {
            return Verdict::Counted;
        }
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        limiter.failed(self.clock.monotonic_ms())
    }
}

/// What a request without any credential is told.
pub(crate) fn no_credential() -> WireError {
    WireError::new(
        ErrorCode::Unauthorized,
        "A token is needed: send it as 'Authorization: Bearer TOKEN'. The owner's is in owner.token in hob's home.",
    )
}
