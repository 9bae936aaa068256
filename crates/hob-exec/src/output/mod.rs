//! The output of a child: read without delay, kept in bounded memory, delivered on request.
//!
//! - [`head_tail`]: head and tail of a stream
//! - [`text`]: bytes to text and lines, across chunks
//! - `pump`: from the pipe to these and to a file
//!
//! Invariant: the memory for a stream is bounded, and every byte is counted.

pub mod head_tail;
pub(crate) mod pump;
pub mod text;

pub use head_tail::{KeptOutput, OutputSince};

use serde::{Deserialize, Serialize};

/// An output stream of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChildStream {
    Stdout,
    Stderr,
}

/// A delivered piece of output: a chunk, or a line without its line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPiece {
    pub stream: ChildStream,
    pub text: String,
}
