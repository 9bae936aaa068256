//! How long to wait before the next try: doubling from a base to a cap, with jitter so that many
//! who failed together do not come back together.

use crate::dice::Dice;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    pub base_ms: u64,
    pub cap_ms: u64,
    /// Up to this share of the wait is taken off at random, in percent.
    pub jitter_percent: u64,
}

impl Backoff {
    /// The wait before try number `attempt`, counted from 0.
    pub fn wait(&self, attempt: u32, dice: &Dice) -> Duration {
        let doubled = self
            .base_ms
            .saturating_mul(1_u64.checked_shl(attempt).unwrap_or(u64::MAX));
        let full = doubled.min(self.cap_ms);
        let jitter = full * self.jitter_percent.min(100) / 100;
        Duration::from_millis(full - dice.below(jitter + 1))
    }
}
