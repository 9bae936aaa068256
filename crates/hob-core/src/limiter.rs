//! Rate limit of failed authentications, one per listener. Pure.
//!
//! Only failures are counted, and only after the credential was compared: a right token is never
//! refused because of someone else's wrong ones. Beyond the rate a failure gets a terse "later" as
//! its answer, is not logged, and closes its connection.
//!
//! Invariants: the state is one number, however many peers fail; over any span of time at most
//! `burst + span / refill_ms` failures are counted; a clock that stands still or goes back never
//! forgives and never panics.

/// The rate of counted failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureRate {
    /// Failures counted at once after a quiet period.
    pub burst: u32,
    /// The time after which one more is counted.
    pub refill_ms: u64,
}

impl FailureRate {
    /// Twenty at once, then twenty a minute: a person who mistypes never reaches it.
    pub const DEFAULT: FailureRate = FailureRate {
        burst: 20,
        refill_ms: 3_000,
    };
}

/// The answer a failure gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitDecision {
    /// Within the rate: tell the caller what was wrong.
    Counted,
    /// Beyond the rate: tell the caller only when to retry.
    Limited { retry_after_ms: u64 },
}

#[derive(Clone, Debug)]
pub struct AuthFailureLimiter {
    rate: FailureRate,
    /// The time at which all counted failures are forgiven.
    forgiven_at_ms: u64,
}

impl AuthFailureLimiter {
    pub fn new(rate: FailureRate) -> Self {
        AuthFailureLimiter {
            rate,
            forgiven_at_ms: 0,
        }
    }

    /// Counts a failed authentication and returns the answer it gets.
    pub fn record_failure(&mut self, now_ms: u64) -> LimitDecision {
        let room_ms = self
            .rate
            .refill_ms
            .saturating_mul(u64::from(self.rate.burst));
        // One number instead of a list: each failure moves the time at which all are forgiven.
        let forgiven_at_ms = self
            .forgiven_at_ms
            .max(now_ms)
            .saturating_add(self.rate.refill_ms);
        // Never below zero: the time was raised to `now_ms` above.
        let ahead_ms = forgiven_at_ms - now_ms;
        if ahead_ms > room_ms {
            // A limited failure is not counted, so a flood does not push the retry time out for
            // ever.
            return LimitDecision::Limited {
                retry_after_ms: ahead_ms - room_ms,
            };
        }
        self.forgiven_at_ms = forgiven_at_ms;
        LimitDecision::Counted
    }
}

#[cfg(test)]
#[path = "limiter_tests.rs"]
mod tests;
