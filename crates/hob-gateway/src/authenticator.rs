//! Authentication on one listener: verifies tokens and limits the rate of failures. On an opt-in
//! listener no token is needed: every peer that was let in has the same principal.
//!
//! Invariant: a valid token always passes. The limiter is consulted only after a failed comparison,
//! and all kinds of credentials share one limiter.

use crate::token_cache::{Principal, TokenCache};
use hob_core::limiter::{AuthFailureLimiter, FailureRate, LimitDecision};
use hob_kit::clock::Clock;
use hob_wire::{ErrorCode, WireError};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct Authenticator {
    pub(crate) surface: &'static str,
    token_cache: Arc<TokenCache>,
    /// The principal of every peer of an opt-in listener.
    grant: Option<Principal>,
    clock: Clock,
    /// A std lock: held for a few instructions, taken only on failures.
    limiter: Mutex<AuthFailureLimiter>,
    failures: AtomicU64,
    limited: AtomicU64,
}

impl Authenticator {
    pub(crate) fn new(surface: &'static str, token_cache: Arc<TokenCache>, clock: Clock) -> Self {
        Authenticator {
            surface,
            token_cache,
            grant: None,
            clock,
            limiter: Mutex::new(AuthFailureLimiter::new(FailureRate::DEFAULT)),
            failures: AtomicU64::new(0),
            limited: AtomicU64::new(0),
        }
    }

    /// Makes every peer of this listener act as `principal`.
    #[must_use]
    pub(crate) fn granting(mut self, principal: Principal) -> Self {
        self.grant = Some(principal);
        self
    }

    pub(crate) fn grant(&self) -> Option<&Principal> {
        self.grant.as_ref()
    }

    /// Returns the principal of `token`, or the error to answer.
    pub(crate) fn authenticate(&self, token: &str) -> Result<Principal, WireError> {
        if let Some(principal) = self.token_cache.verify(token, self.clock.wall_ms()) {
            return Ok(principal);
        }
        Err(self.reject(
            "This token is not valid: it is mistyped, expired or revoked. 'hob token list' shows the live ones.",
        ))
    }

    /// Counts a wrong credential. Returns the error to answer: `message`, or that there were too
    /// many failures.
    pub(crate) fn reject(&self, message: &str) -> WireError {
        // Relaxed: the counters are only read for metrics.
        self.failures.fetch_add(1, Ordering::Relaxed);
        match self.count_failure() {
            LimitDecision::Counted => {
                tracing::warn!(listener = self.surface, "a wrong credential was refused");
                WireError::new(ErrorCode::Unauthorized, message)
            }
            LimitDecision::Limited { retry_after_ms } => {
                self.limited.fetch_add(1, Ordering::Relaxed);
                let error = WireError::new(ErrorCode::Overloaded, "Too many wrong tokens.");
                error.retry_after(retry_after_ms)
            }
        }
    }

    /// Returns true if the token of an authenticated principal is still valid. A grant has no token
    /// that could be revoked.
    pub(crate) fn is_still_valid(&self, principal: &Principal) -> bool {
        self.grant.is_some() || self.token_cache.contains(&principal.id)
    }

    /// The number of wrong credentials so far, and of those beyond the rate limit.
    pub(crate) fn failure_counts(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.failures), count(&self.limited))
    }

    fn count_failure(&self) -> LimitDecision {
        // The monotonic clock below: a changed wall clock must not reset the limit.
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        limiter.record_failure(self.clock.monotonic_ms())
    }
}

/// The error for a request without a credential.
pub(crate) fn missing_credential() -> WireError {
    WireError::new(
        ErrorCode::Unauthorized,
        "A token is needed: send it as 'Authorization: Bearer TOKEN'. The owner's is in owner.token in hob's home.",
    )
}
