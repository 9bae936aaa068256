//! The output of a tool while it runs, on its way to the watchers.
//!
//! Invariants: a tool never waits for its watchers; the pending output is bounded; dropped pieces
//! are counted and reported with the next piece; offsets count every printed byte, dropped or not.

use hob_wire::rooms::tool::OutputStream;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes that may wait for watchers.
pub const WAITING_BYTES_MAX: usize = 32 * 1024;

/// The output queue of one call; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LiveOutput(Arc<LiveOutputShared>);

#[derive(Debug, Default)]
struct LiveOutputShared {
    /// A std mutex, because it is held for a copy of at most the bound, without await.
    pending: Mutex<PendingOutput>,
    ready: Notify,
}

#[derive(Debug, Default)]
struct PendingOutput {
    printed: VecDeque<OutputChunk>,
    bytes: usize,
    /// All bytes printed so far.
    total: u64,
    /// Pieces that did not fit since the last one that did.
    dropped: u64,
}

/// A piece of output; adjacent pieces of one stream are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputChunk {
    pub stream: OutputStream,
    /// The bytes printed before it, on both streams.
    pub offset: u64,
    pub text: String,
    /// Pieces dropped before it.
    pub dropped: u64,
}

impl LiveOutput {
    /// Queues `text`. What does not fit is dropped from its end.
    pub fn print(&self, stream: OutputStream, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut pending = self.pending();
        // `pending.bytes` never exceeds the bound, so this cannot underflow.
        let room = WAITING_BYTES_MAX - pending.bytes;
        let fits = &text[..text.floor_char_boundary(room)];
        if !fits.is_empty() {
            pending.push(stream, fits);
        }
        if fits.len() < text.len() {
            pending.dropped += 1;
        }
        pending.total += text.len() as u64;
        drop(pending);
        self.0.ready.notify_one();
    }

    /// Waits until something was printed since the last [`LiveOutput::take`].
    pub async fn ready(&self) {
        self.0.ready.notified().await;
    }

    /// Takes all pending output.
    pub fn take(&self) -> VecDeque<OutputChunk> {
        let mut pending = self.pending();
        pending.bytes = 0;
        std::mem::take(&mut pending.printed)
    }

    /// Takes all pending output at the end of the call. Pieces dropped last are reported with an
    /// empty text.
    pub fn finish(&self) -> VecDeque<OutputChunk> {
        let mut printed = self.take();
        let mut pending = self.pending();
        let dropped = std::mem::take(&mut pending.dropped);
        if dropped > 0 {
            let last = printed.back().map(|last| last.stream);
            printed.push_back(OutputChunk {
                stream: last.unwrap_or(OutputStream::Stdout),
                offset: pending.total,
                text: String::new(),
                dropped,
            });
        }
        printed
    }

    /// Returns the number of bytes printed so far.
    pub fn total(&self) -> u64 {
        self.pending().total
    }

    fn pending(&self) -> MutexGuard<'_, PendingOutput> {
        let pending = self.0.pending.lock();
        pending.unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingOutput {
    fn push(&mut self, stream: OutputStream, text: &str) {
        self.bytes += text.len();
        let dropped = std::mem::take(&mut self.dropped);
        match self.printed.back_mut() {
            Some(last) if last.stream == stream && dropped == 0 => last.text.push_str(text),
            _ => self.printed.push_back(OutputChunk {
                stream,
                offset: self.total,
                text: text.to_owned(),
                dropped,
            }),
        }
    }
}

#[cfg(test)]
#[path = "live_output_tests.rs"]
mod tests;
