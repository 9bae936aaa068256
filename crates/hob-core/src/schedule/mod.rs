//! When jobs are due, and what becomes of each time. Pure.
//!
//! - [`Calendar`]: the due times of one schedule line, in a time zone that is handed in
//! - [`Hours`]: the time of the day a job is restricted to
//! - [`decide`]: what becomes of the times that have passed; [`admit`]: of a call that comes in
//!   between; [`recover`]: of work that a restart cut off; [`Streak`]: when a job is given up
//! - [`heartbeat`]: whether the house has anything to look after
//!
//! Invariants: a due time is decided once, and each has an outcome of its own or is counted by
//! the one that stands for it; the clock may jump either way; nothing here knows a clock, a file
//! or a random number.

mod calendar;
mod civil;
pub mod heartbeat;
mod hours;
mod line;
mod policy;
mod words;

pub use calendar::{Calendar, Passed, Span};
pub use hours::Hours;
pub use policy::{
    Admission, BACK_MS_MAX, Decision, Fate, GRACE_MS, Planned, Policy, Recovery, Standing, Streak,
    Tick, Tribe, WINDOW_MS, admit, decide, recover,
};
