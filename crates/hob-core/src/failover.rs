//! Failover after a failed model call: retry, next model, or give up. Pure.
//!
//! Invariants: a wait is never shorter than the provider's own `Retry-After`; retries and waits are
//! bounded for each model and in total; an error that a retry cannot fix is never retried.

use serde::{Deserialize, Serialize};

/// The reason a model call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorClass {
    /// The key is missing, wrong or not allowed.
    Auth,
    /// Too many requests.
    Rate,
    /// The provider has no capacity or an internal error.
    Overload,
    /// No answer in time.
    Timeout,
    /// The request is larger than the model's window.
    Context,
    /// The provider refuses the content.
    Content,
    /// The connection failed or was closed.
    Network,
    /// The provider's answer violates its protocol.
    Protocol,
    /// The request is wrong: no such model, no such option.
    Request,
}

/// The limits of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts with one model, including the first.
    pub tries: u32,
    pub base_ms: u64,
    pub cap_ms: u64,
    /// A provider that asks for a longer wait than this is skipped.
    pub retry_after_ms_max: u64,
    /// The total of all waits over all models.
    pub total_wait_ms: u64,
}

impl RetryPolicy {
    pub const DEFAULT: RetryPolicy = RetryPolicy {
        tries: 3,
        base_ms: 500,
        cap_ms: 20_000,
        retry_after_ms_max: 60_000,
        total_wait_ms: 120_000,
    };
}

/// The next step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverStep {
    /// Retry the same model after this wait.
    Retry {
        wait_ms: u64,
    },
    /// Try the next model of the list at once.
    NextModel {
        candidate: usize,
    },
    GiveUp,
}

/// The failover state of one model call over an ordered list of candidates.
#[derive(Clone, Debug)]
pub struct ModelFailover {
    policy: RetryPolicy,
    candidates: usize,
    candidate: usize,
    tries: u32,
    waited_ms: u64,
}

impl ModelFailover {
    pub fn new(policy: RetryPolicy, candidates: usize) -> Self {
        ModelFailover {
            policy,
            candidates,
            candidate: 0,
            tries: 1,
            waited_ms: 0,
        }
    }

    pub fn candidate(&self) -> usize {
        self.candidate
    }

    /// Returns the step after a failure. `jitter_permille` (0 to 1000) spreads callers that failed
    /// together.
    pub fn on_failure(
        &mut self,
        class: ErrorClass,
        retry_after_ms: Option<u64>,
        jitter_permille: u64,
    ) -> FailoverStep {
        // A content refusal is final: no retry, and no other model.
        if class == ErrorClass::Content {
            return FailoverStep::GiveUp;
        }
        match self.retry_wait_ms(class, retry_after_ms, jitter_permille) {
            Some(wait_ms) => {
                self.tries += 1;
                self.waited_ms += wait_ms;
                FailoverStep::Retry { wait_ms }
            }
            None => self.next_model(),
        }
    }

    fn retry_wait_ms(
        &self,
        class: ErrorClass,
        retry_after_ms: Option<u64>,
        jitter: u64,
    ) -> Option<u64> {
        let mends = matches!(
            class,
            ErrorClass::Rate | ErrorClass::Overload | ErrorClass::Timeout | ErrorClass::Network
        );
        if !mends || self.tries >= self.policy.tries {
            return None;
        }
        // Waiting that long is worse than asking another model.
        if retry_after_ms.is_some_and(|asked| asked > self.policy.retry_after_ms_max) {
            return None;
        }
        // The exponent is capped, so the shift cannot overflow.
        let doubled = self
            .policy
            .base_ms
            .saturating_mul(1 << (self.tries - 1).min(20));
        let full = doubled.min(self.policy.cap_ms);
        // Half of the wait is fixed and half is jitter, so it never shrinks to nothing.
        let spread = full / 2 + full / 2 * jitter.min(1_000) / 1_000;
        let wait_ms = spread.max(retry_after_ms.unwrap_or(0));
        (self.waited_ms + wait_ms <= self.policy.total_wait_ms).then_some(wait_ms)
    }

    fn next_model(&mut self) -> FailoverStep {
        if self.candidate + 1 >= self.candidates {
            return FailoverStep::GiveUp;
        }
        // Each model gets its own retries; the total wait is shared.
        self.candidate += 1;
        self.tries = 1;
        FailoverStep::NextModel {
            candidate: self.candidate,
        }
    }
}

#[cfg(test)]
#[path = "failover_tests.rs"]
mod tests;
