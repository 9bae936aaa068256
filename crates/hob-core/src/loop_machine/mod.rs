//! Loops: a prompt that is asked again and again. Pure.
//!
//! - [`Machine`]: one loop, from a start to its end
//! - [`prompt`]: what an iteration asks
//! - [`merged`], [`check_config`], [`check_name`]: what can be set
//!
//! Invariants: at most one iteration is under way; an iteration's number is used once; nothing
//! begins after a stop; a loop that only fails slows down and, unless it is told never to, ends; one
//! that a ceiling on money stops slows down and never ends for it.

mod config;
mod machine;
mod prompt;

pub use config::{check_config, check_name, merged};
pub use machine::{AskedEnd, Effect, Event, Machine, Policy, Saved, Under, Watch, wait_ms};
pub use prompt::{Shown, Watched, prompt};
