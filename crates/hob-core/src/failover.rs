//! What follows a failed model call: wait and try again, the next model, or give up. Pure.
//!
//! Invariants: a wait is never shorter than the provider's own `Retry-After`; tries and waits are
//! bounded for each model and in sum; an error that another try cannot mend is never retried.

use serde::{Deserialize, Serialize};

/// Why a model call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorClass {
    /// The key is missing, wrong or not allowed.
    Auth,
    /// Too many requests.
    Rate,
    /// The provider has no capacity or an error of its own.
    Overload,
    /// Silence.
    Timeout,
    /// The request is larger than the model's window.
    Context,
    /// The provider refuses the content.
    Content,
    /// The connection failed or was cut.
    Network,
    /// The provider's answer is not of its protocol.
    Protocol,
    /// The request is wrong: no such model, no such option.
    Request,
}

/// The bounds of retrying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries of one model, the first included.
    pub tries: u32,
    pub base_ms: u64,
    pub cap_ms: u64,
    /// A provider that asks for a longer wait than this is passed over.
    pub retry_after_ms_max: u64,
    /// Waits over all models together.
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

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The same model after this wait.
    Retry {
        wait_ms: u64,
    },
    /// The next model of the list, at once.
    NextModel {
        candidate: usize,
    },
    GiveUp,
}

/// One model call over an ordered list of candidates.
#[derive(Clone, Debug)]
pub struct Failover {
    policy: RetryPolicy,
    candidates: usize,
    candidate: usize,
    tries: u32,
    waited_ms: u64,
}

impl Failover {
    pub fn new(policy: RetryPolicy, candidates: usize) -> Self {
        Failover {
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

    /// Takes a failure. `jitter_permille` (0 to 1000) spreads those who failed together.
    pub fn failed(
        &mut self,
        class: ErrorClass,
        retry_after_ms: Option<u64>,
        jitter_permille: u64,
    ) -> Next {
        if class == ErrorClass::Content {
            return Next::GiveUp;
        }
        match self.wait(class, retry_after_ms, jitter_permille) {
            Some(wait_ms) => {
                self.tries += 1;
                self.waited_ms += wait_ms;
                Next::Retry { wait_ms }
            }
            None => self.next_model(),
        }
    }

    fn wait(&self, class: ErrorClass, retry_after_ms: Option<u64>, jitter: u64) -> Option<u64> {
        let mends = matches!(
            class,
            ErrorClass::Rate | ErrorClass::Overload | ErrorClass::Timeout | ErrorClass::Network
        );
        if !mends || self.tries >= self.policy.tries {
            return None;
        }
        if retry_after_ms.is_some_and(|asked| asked > self.policy.retry_after_ms_max) {
            return None;
        }
        let doubled = self
            .policy
            .base_ms
            .saturating_mul(1 << (self.tries - 1).min(20));
        let full = doubled.min(self.policy.cap_ms);
        // Half of the wait is fixed and half is spread, so that it never shrinks to nothing.
        let spread = full / 2 + full / 2 * jitter.min(1_000) / 1_000;
        let wait_ms = spread.max(retry_after_ms.unwrap_or(0));
        (self.waited_ms + wait_ms <= self.policy.total_wait_ms).then_some(wait_ms)
    }

    fn next_model(&mut self) -> Next {
        if self.candidate + 1 >= self.candidates {
            return Next::GiveUp;
        }
        self.candidate += 1;
        self.tries = 1;
        Next::NextModel {
            candidate: self.candidate,
        }
    }
}

#[cfg(test)]
#[path = "failover_tests.rs"]
mod tests;
