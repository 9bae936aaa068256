//! Where a run must stop, and what it has used. Pure sums in whole numbers.

use hob_wire::work::{Budget, Cause};
use serde::{Deserialize, Serialize};

/// The bounds of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model calls.
    pub steps: u32,
    /// Tokens in and out.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micro_dollars: u64,
    /// From its begin.
    pub wall_ms: u64,
    /// Failed or denied tool calls in a row.
    pub error_streak: u32,
    /// The same call with the same arguments in a row.
    pub repeats: u32,
    /// Restarts without any progress between them.
    pub resumes: u32,
}

impl Limits {
    pub const DEFAULT: Limits = Limits {
        steps: 50,
        tokens: 1_000_000,
        micro_dollars: 5_000_000,
        wall_ms: 60 * 60 * 1_000,
        error_streak: 8,
        repeats: 4,
        resumes: 3,
    };

    /// These bounds, narrowed or widened where a caller's budget says so.
    #[must_use]
    pub fn with(mut self, budget: &Budget) -> Self {
        self.steps = budget.steps.unwrap_or(self.steps);
        self.tokens = budget.tokens.unwrap_or(self.tokens);
        self.micro_dollars = budget.micro_dollars.unwrap_or(self.micro_dollars);
        self.wall_ms = budget.wall_ms.unwrap_or(self.wall_ms);
        self
    }
}

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub steps: u32,
    pub tokens: u64,
    pub micro_dollars: u64,
    /// Failed or denied calls since the last good one.
    pub error_streak: u32,
}

impl Spent {
    pub(super) fn add(&mut self, tokens: u64, micro_dollars: Option<u64>) {
        self.tokens = self.tokens.saturating_add(tokens);
        let price = micro_dollars.unwrap_or(0);
        self.micro_dollars = self.micro_dollars.saturating_add(price);
    }

    pub(super) fn note_outcome(&mut self, failed: bool) {
        self.error_streak = if failed { self.error_streak + 1 } else { 0 };
    }

    /// The limit that forbids another model call, if one does.
    pub(super) fn exceeded(&self, limits: &Limits, elapsed_ms: u64) -> Option<Cause> {
        let reached = [
            (elapsed_ms >= limits.wall_ms, Cause::TimeLimit),
            (self.error_streak >= limits.error_streak, Cause::ErrorStreak),
            (self.steps >= limits.steps, Cause::StepLimit),
            (self.tokens >= limits.tokens, Cause::TokenLimit),
            (
                self.micro_dollars >= limits.micro_dollars,
                Cause::MoneyLimit,
            ),
        ];
        reached
            .into_iter()
            .find(|(hit, _)| *hit)
            .map(|(_, cause)| cause)
    }
}
