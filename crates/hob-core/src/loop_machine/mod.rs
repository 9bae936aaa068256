//! Loops: a prompt that is asked again and again. Pure.
//!
//! - [`LoopMachine`]: one loop, from its start to its end
//! - [`iteration_prompt`]: the prompt of an iteration
//! - [`merge_config`], [`check_config`], [`check_name`]: the settings of a loop
//!
//! Invariants: at most one iteration runs at a time; an iteration number is used once; nothing
//! begins after a stop; a loop that only fails slows down and ends, unless its settings say never;
//! a loop that hits a budget ceiling beyond its own slows down and never ends because of it.

mod config;
mod machine;
mod prompt;
mod types;

pub use config::{check_config, check_name, merge_config};
pub use machine::{LoopMachine, backoff_ms};
pub use prompt::{MonitorResult, PromptInputs, iteration_prompt};
pub use types::{
    IterationEnd, LoopEffect, LoopEvent, LoopPolicy, MonitorSchedule, SavedLoop, SavedStep,
};
