//! The bytes of a terminal: shell marks, the screen, command output and plain text. Pure.
//!
//! - [`shell_marks`]: the marks of the shell integration, and the bytes between them
//! - [`screen`]: the screen a terminal shows, with its scrollback
//! - [`command_output`]: the beginning and end of what one command printed
//! - [`escape_stripper`]: removes control sequences from a stream
//! - [`command_scheduler`]: queues commands, hands them to the shell and terminates them
//!
//! Invariants: every byte is untrusted, so no input makes any of these panic, grow without bound or
//! reply; the way the bytes are cut into pieces does not matter.

mod cell;
pub mod command_output;
pub mod command_scheduler;
mod control_sequences;
pub mod escape_stripper;
mod grid;
mod grid_editing;
mod resize;
pub mod screen;
mod scrollback;
pub mod shell_marks;
mod vt_stream;

#[cfg(test)]
mod terminal_tests;
