//! Schedules the commands of one terminal: hands them to the shell one by one and terminates those
//! that do not end. Pure.
//!
//! - [`CommandScheduler`]: the machine; [`SchedulerEvent`] goes in, [`SchedulerEffect`] comes out
//! - `machine`: handles marks; `command_end`: handles cancellation and time
//! - `termination`: the steps that make a command end
//!
//! Invariants: the shell has at most one command of hob; hob types nothing while a line of the
//! person runs or before the recording was replayed; each command ends exactly once, whichever
//! marks arrive, are missing or are repeated.

mod command_end;
mod machine;
mod termination;
mod types;

pub use machine::CommandScheduler;
pub use types::{
    CommandEnd, CommandEndReason, CommandOwner, HandedOverCommand, QueuedCommand, ResumePoint,
    SchedulerEffect, SchedulerEvent, TerminalActivity, TerminalEnd, line_id,
};

#[cfg(test)]
#[path = "machine_tests.rs"]
mod machine_tests;

#[cfg(test)]
#[path = "shell_tests.rs"]
mod shell_tests;
