//! The limiter of failed authentications, one per listener. Pure.
//!
//! Only failures are counted, and only after the credential was compared: a right token is never
//! refused because of someone else's wrong ones, whatever their number. What the limiter takes
//! from a guesser is everything else: past the rate a failure is answered with a terse "later",
//! is not logged, and costs its connection.
//!
//! Invariants: the state is one number, however many peers fail; over any span of time at most
//! `burst + span / refill_ms` failures are counted; time that stands still or goes back never
//! forgives and never panics.

/// How many failures are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Failures counted at once after a quiet time.
    pub burst: u32,
    /// After which one more is counted.
    pub refill_ms: u64,
}

impl Rate {
    /// Twenty at once, then twenty a minute: a person who mistypes never meets it.
    pub const DEFAULT: Rate = Rate {
        burst: 20,
        refill_ms: 3_000,
    };
}

/// What a failure deserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the rate: say what was wrong.
    Counted,
    /// Beyond it: say only when the next failure would be counted again.
    Limited { retry_after_ms: u64 },
}

#[derive(Clone, Debug)]
pub struct Limiter {
    rate: Rate,
    /// When the counted failures will all be forgiven.
    forgiven_at_ms: u64,
}

impl Limiter {
    pub fn new(rate: Rate) -> Self {
        Limiter {
            rate,
            forgiven_at_ms: 0,
        }
    }

    /// Takes note of a failed authentication.
    pub fn failed(&mut self, now_ms: u64) -> Verdict {
        let room_ms = self
            .rate
            .refill_ms
            .saturating_mul(u64::from(self.rate.burst));
        let forgiven_at_ms = self
            .forgiven_at_ms
            .max(now_ms)
            .saturating_add(self.rate.refill_ms);
        let ahead_ms = forgiven_at_ms - now_ms;
        if ahead_ms > room_ms {
            return Verdict::Limited {
                retry_after_ms: ahead_ms - room_ms,
            };
        }
        self.forgiven_at_ms = forgiven_at_ms;
        Verdict::Counted
    }
}

#[cfg(test)]
#[path = "limiter_tests.rs"]
mod tests;
