//! What is done with one terminal: whose turn it is, when a command is handed to the shell, and
//! how one is ended that does not end. Pure.
//!
//! - [`Desk`]: the machine; [`Event`] goes in, [`Effect`] comes out
//! - `machine`: what marks do to it; `orders`: what orders and time do
//! - `ending`: how a command is made to end, step by step
//!
//! Invariants: the shell has one command of hob's at the most; nothing is typed while a line of the
//! person's runs or before the recording was lived through; each command ends exactly once,
//! whatever marks come, are missing or come again.

mod ending;
mod machine;
mod orders;
mod words;

pub use machine::Desk;
pub use words::{Before, Effect, End, Event, Handed, Job, Over, Waited, Who, Why, line_id};

#[cfg(test)]
#[path = "machine_tests.rs"]
mod machine_tests;

#[cfg(test)]
#[path = "shell_tests.rs"]
mod shell_tests;
