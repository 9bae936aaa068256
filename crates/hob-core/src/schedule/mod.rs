//! Due times of jobs, and the decision about each of them. Pure.
//!
//! - [`Calendar`]: the due times of one schedule line, in a given time zone
//! - [`ActiveHours`]: the time of day a job is restricted to
//! - [`decide`]: decides about due times that have passed; [`admit`]: about a call in between;
//!   [`recover`]: about work that a restart cut off; [`FailureStreak`]: when a job is given up
//! - [`heartbeat`]: detects whether the heartbeat has anything to do
//!
//! Invariants: a due time is decided once; each has its own slot or is counted by the slot that
//! stands for it; the clock may jump either way; nothing here reads a clock, a file or a random
//! number.

mod active_hours;
mod calendar;
mod civil;
mod description;
pub mod heartbeat;
mod policy;
mod schedule_line;

pub use active_hours::ActiveHours;
pub use calendar::{Calendar, DueTimes, PassedDueTimes};
pub use policy::{
    CLOCK_BACK_MS_MAX, ClockTick, DueDecision, FailureStreak, GRACE_MS, JobPolicy, JobStanding,
    PlannedSlot, SlotAdmission, SlotDecision, SlotRecovery, WINDOW_MS, WorkRepeatability, admit,
    decide, recover,
};
