//! What a terminal's bytes say: the shell's marks, the screen they draw, what a command printed,
//! and plain text. Pure.
//!
//! - [`scan`]: the marks of the shell's integration, and the bytes between them
//! - [`screen`]: the screen a terminal shows, with the lines that scrolled off it
//! - [`printed`]: what one command printed, by its beginning and its end
//! - [`plain`]: a stream without its control sequences
//! - [`desk`]: whose turn it is, when a command is handed over, how one is ended
//!
//! Invariants: every byte is somebody else's, so no bytes make any of these panic, grow without
//! bound or answer; and how the bytes are cut into pieces changes nothing.

mod canvas;
mod cell;
mod control;
pub mod desk;
mod past;
pub mod plain;
pub mod printed;
mod resize;
pub mod scan;
pub mod screen;
mod stream;

#[cfg(test)]
mod terminal_tests;
