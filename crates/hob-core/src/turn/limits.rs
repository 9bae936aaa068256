//! Limits and usage of a run. Pure integer sums.

use hob_wire::work::{Budget, RunEndCause};
use serde::{Deserialize, Serialize};

/// The limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Model calls.
    pub steps: u32,
    /// Tokens in and out.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micro_dollars: u64,
    /// Milliseconds from its start.
    pub wall_ms: u64,
    /// Failed or denied tool calls in a row.
    pub error_streak: u32,
    /// The same call with the same arguments in a row.
    pub repeats: u32,
    /// Restarts without any progress between them.
    pub resumes: u32,
}

impl RunLimits {
    pub const DEFAULT: RunLimits = RunLimits {
        steps: 50,
        tokens: 1_000_000,
        micro_dollars: 5_000_000,
        wall_ms: 60 * 60 * 1_000,
        error_streak: 8,
        repeats: 4,
        resumes: 3,
    };

    /// Returns these limits with the values of a caller's budget.
    #[must_use]
    pub fn with_budget(mut self, budget: &Budget) -> Self {
        self.steps = budget.steps.unwrap_or(self.steps);
        self.tokens = budget.tokens.unwrap_or(self.tokens);
        self.micro_dollars = budget.micro_dollars.unwrap_or(self.micro_dollars);
        self.wall_ms = budget.wall_ms.unwrap_or(self.wall_ms);
        self
    }
}

/// The usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUsage {
    pub steps: u32,
    pub tokens: u64,
    pub micro_dollars: u64,
    /// Failed or denied calls since the last successful one.
    pub error_streak: u32,
}

impl RunUsage {
    pub(super) fn add(&mut self, tokens: u64, micro_dollars: Option<u64>) {
        self.tokens = self.tokens.saturating_add(tokens);
        // An unknown price counts as nothing; the token limit still holds.
        let price = micro_dollars.unwrap_or(0);
        self.micro_dollars = self.micro_dollars.saturating_add(price);
    }

    pub(super) fn note_outcome(&mut self, failed: bool) {
        self.error_streak = if failed { self.error_streak + 1 } else { 0 };
    }

    /// Returns the limit that forbids another model call, if any.
    pub(super) fn exceeded_limit(
        &self,
        limits: &RunLimits,
        elapsed_ms: u64,
    ) -> Option<RunEndCause> {
        // The order decides which cause is reported if several limits are reached.
        let reached = [
            (elapsed_ms >= limits.wall_ms, RunEndCause::TimeLimit),
            (
                self.error_streak >= limits.error_streak,
                RunEndCause::ErrorStreak,
            ),
            (self.steps >= limits.steps, RunEndCause::StepLimit),
            (self.tokens >= limits.tokens, RunEndCause::TokenLimit),
            (
                self.micro_dollars >= limits.micro_dollars,
                RunEndCause::MoneyLimit,
            ),
        ];
        reached
            .into_iter()
            .find(|(hit, _)| *hit)
            .map(|(_, cause)| cause)
    }
}
