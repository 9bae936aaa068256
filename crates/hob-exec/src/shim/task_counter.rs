//! How many processes and threads a run has, where the kernel does not hold the bound by itself.
//!
//! Reading the whole process table is dear, so it is read only when the machine as a whole has so
//! many more tasks than at the last reading that the run may be near its bound, or when that was
//! long ago: a run cannot grow without the machine growing, unless others end meanwhile.
//!
//! Invariant: a run that only grows is counted before it exceeds its bound by half of what it had
//! left.

use super::tree;
use std::time::{Duration, Instant};

/// Between two looks at the machine, while a run is young or near its bound.
const LOOK: Duration = Duration::from_millis(20);
/// Between two looks when it has long been as it is: a service runs for days.
const CALM_LOOK: Duration = Duration::from_millis(100);
const CALM_AFTER: Duration = Duration::from_secs(10);
/// Between two readings of the table at the most.
const COUNT: Duration = Duration::from_millis(500);
const CALM_COUNT: Duration = Duration::from_secs(5);

/// What was counted last.
#[derive(Debug)]
pub(super) struct Census {
    bound: u64,
    /// Of the run.
    own: u64,
    /// Of the machine, at that moment.
    all: Option<u64>,
    counted: Instant,
    /// Since when the run has as many as it has.
    steady_since: Instant,
}

impl Census {
    pub(super) fn new(bound: u64, now: Instant) -> Census {
        Census {
            bound,
            own: 0,
            all: None,
            counted: now,
            steady_since: now,
        }
    }

    /// Whether the run has more than it may.
    pub(super) fn exceeds(&mut self, now: Instant) -> bool {
        let all = tasks_of_machine();
        if !self.is_due(all, now) {
            return false;
        }
        let own = tree::tasks();
        if own != self.own {
            self.steady_since = now;
        }
        (self.own, self.all, self.counted) = (own, all, now);
        own > self.bound
    }

    /// How long until the next look.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        if self.is_calm(now) { CALM_LOOK } else { LOOK }
    }

    fn is_due(&self, all: Option<u64>, now: Instant) -> bool {
        let (Some(all), Some(before)) = (all, self.all) else {
            return true;
        };
        let room = self.bound.saturating_sub(self.own) / 2;
        let interval = if self.is_calm(now) { CALM_COUNT } else { COUNT };
        all.saturating_sub(before) > room || now.duration_since(self.counted) >= interval
    }

    fn is_calm(&self, now: Instant) -> bool {
        now.duration_since(self.steady_since) >= CALM_AFTER
    }
}

/// Processes and threads of the whole machine; none where that cannot be read.
fn tasks_of_machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    tasks_in(&text)
}

/// `0.20 0.18 0.12 1/80 11206`: the number after the slash.
fn tasks_in(text: &str) -> Option<u64> {
    let field = text.split_whitespace().nth(3)?;
    field.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
#[path = "census_tests.rs"]
mod tests;
