//! Counts the processes and threads of a run where the kernel does not enforce the limit.
//!
//! Reading the whole process table is expensive. It is read only when the machine has so many more
//! tasks than at the last count that the run may be near its limit, or when the last count is old:
//! a run cannot grow unless the machine's total grows, except while other processes end.
//!
//! Invariant: a run that only grows is counted before it exceeds its limit by half of the room it
//! had left.

use super::tree;
use std::time::{Duration, Instant};

/// The interval of machine checks while a run is young or its size changes.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// The interval of machine checks for a steady run: a service runs for days.
const STEADY_LOOK_INTERVAL: Duration = Duration::from_millis(100);
const STEADY_AFTER: Duration = Duration::from_secs(10);
/// The longest interval between two counts.
const COUNT_INTERVAL: Duration = Duration::from_millis(500);
const STEADY_COUNT_INTERVAL: Duration = Duration::from_secs(5);

/// The last count and the limit.
#[derive(Debug)]
pub(super) struct TaskCounter {
    bound: u64,
    /// Tasks of the run.
    run_tasks: u64,
    /// Tasks of the machine at that moment.
    machine_tasks: Option<u64>,
    counted_at: Instant,
    /// The time of the last change of `run_tasks`.
    steady_since: Instant,
}

impl TaskCounter {
    pub(super) fn new(bound: u64, now: Instant) -> TaskCounter {
        TaskCounter {
            bound,
            run_tasks: 0,
            machine_tasks: None,
            counted_at: now,
            steady_since: now,
        }
    }

    /// Returns true if the run has too many tasks.
    pub(super) fn is_exceeded(&mut self, now: Instant) -> bool {
        let all = tasks_of_machine();
        if !self.is_due(all, now) {
            return false;
        }
        let own = tree::count_tasks();
        if own != self.run_tasks {
            self.steady_since = now;
        }
        (self.run_tasks, self.machine_tasks, self.counted_at) = (own, all, now);
        own > self.bound
    }

    /// The time until the next check.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        if self.is_steady(now) {
            STEADY_LOOK_INTERVAL
        } else {
            LOOK_INTERVAL
        }
    }

    fn is_due(&self, all: Option<u64>, now: Instant) -> bool {
        let (Some(all), Some(before)) = (all, self.machine_tasks) else {
            return true;
        };
        // Half of the room, so that a count is due before the run can have used all of it.
        let room = self.bound.saturating_sub(self.run_tasks) / 2;
        let interval = if self.is_steady(now) {
            STEADY_COUNT_INTERVAL
        } else {
            COUNT_INTERVAL
        };
        all.saturating_sub(before) > room || now.duration_since(self.counted_at) >= interval
    }

    fn is_steady(&self, now: Instant) -> bool {
        now.duration_since(self.steady_since) >= STEADY_AFTER
    }
}

/// Processes and threads of the whole machine; none if they cannot be read.
fn tasks_of_machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    tasks_in(&text)
}

/// Parses `/proc/loadavg`, such as `0.20 0.18 0.12 1/80 11206`: the number after the slash.
fn tasks_in(text: &str) -> Option<u64> {
    let field = text.split_whitespace().nth(3)?;
    field.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
#[path = "task_counter_tests.rs"]
mod tests;
