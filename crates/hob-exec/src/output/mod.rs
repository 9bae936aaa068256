//! What a child prints: read as fast as it comes, kept in bounded memory, handed on as wanted.
//!
//! - [`keep`]: head and tail of a stream; - [`text`]: bytes to text and lines across chunks
//! - `pump`: from the pipe to all of them, and to a file
//!
//! Invariant: memory for a stream has a bound whatever the child prints, and every byte is counted.

pub mod keep;
pub(crate) mod pump;
pub mod text;

pub use keep::{Kept, Since};

use serde::{Deserialize, Serialize};

/// Which of the child's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Stdout,
    Stderr,
}

/// Output as it comes: a chunk, or a line without its end, as the plan's feed says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub source: Source,
    pub text: String,
}
