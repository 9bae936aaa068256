//! The transcript of a session as blocks: one way to follow a conversation. Pure.
//!
//! - [`TranscriptFold`]: stored messages and the events of runs in, changes of blocks out. The
//!   daemon keeps one per session with work in progress, and makes the pages of history with it.
//! - [`BlockList`]: the client's copy. It applies changes and pages, and says what to ask for.
//! - [`AnswerText`]: the text of one run for printers that cannot take anything back.
//! - [`AnswerStream`]: the same from the events of a run, for surfaces that keep no list of blocks.
//! - [`MarkdownSplitter`]: where a top-level Markdown block of a streamed text can no longer change.
//!
//! Invariants: history and live following give the same blocks with the same ids; a list that lost,
//! repeated or reordered changes equals the fold's after one page; nothing is printed twice.

mod answer_stream;
mod answer_text;
mod block_group;
mod block_list;
mod call_blocks;
mod changes;
mod fold;
mod input;
mod markdown;

pub use answer_stream::{AnswerStream, StepText, TextDelta};
pub use answer_text::{AnswerOutput, AnswerText};
pub use block_list::{BlockList, BlockPage, BlockRequest, ListChange};
pub use fold::TranscriptFold;
pub use input::{
    CallOutcome, MessageOrigin, STOPPED_MARK, StepRef, StoredMessage, TranscriptInput,
};
pub use markdown::{MarkdownSplitter, TextPiece};

#[cfg(test)]
mod scenario_tests;
