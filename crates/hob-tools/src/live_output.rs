//! What a tool prints while it runs, on its way to whoever watches.
//!
//! Invariants: a tool never waits for its watchers; what waits for them is bounded, and what did
//! not fit is counted and told with the next piece.

use hob_wire::rooms::tool::OutputStream;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes that wait for watchers.
pub const WAITING_BYTES_MAX: usize = 32 * 1024;

/// Where a tool prints; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Outlet(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// A std mutex, because it is held for a copy of at most the bound, without await.
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    printed: VecDeque<Printed>,
    bytes: usize,
    /// Pieces that did not fit since the last one that did.
    dropped: u64,
}

/// Something printed: several pieces of one stream may have become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    pub stream: OutputStream,
    pub text: String,
    /// Pieces left out before it.
    pub dropped: u64,
}

impl Outlet {
    /// Prints. What finds no room is left out, from its end.
    pub fn print(&self, stream: OutputStream, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut waiting = self.waiting();
        let room = WAITING_BYTES_MAX - waiting.bytes;
        let fits = &text[..text.floor_char_boundary(room)];
        if !fits.is_empty() {
            waiting.push(stream, fits);
        }
        if fits.len() < text.len() {
            waiting.dropped += 1;
        }
        drop(waiting);
        self.0.filled.notify_one();
    }

    /// Waits until something was printed since the last [`Outlet::take`].
    pub async fn filled(&self) {
        self.0.filled.notified().await;
    }

    /// Everything that waits.
    pub fn take(&self) -> VecDeque<Printed> {
        let mut waiting = self.waiting();
        waiting.bytes = 0;
        std::mem::take(&mut waiting.printed)
    }

    /// Everything that waits, when nothing follows: pieces left out at the very end come with an
    /// empty text.
    pub fn finish(&self) -> VecDeque<Printed> {
        let mut printed = self.take();
        let dropped = std::mem::take(&mut self.waiting().dropped);
        if dropped > 0 {
            let last = printed.back().map(|last| last.stream);
            printed.push_back(Printed {
                stream: last.unwrap_or(OutputStream::Stdout),
                text: String::new(),
                dropped,
            });
        }
        printed
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn push(&mut self, stream: OutputStream, text: &str) {
        self.bytes += text.len();
        let dropped = std::mem::take(&mut self.dropped);
        match self.printed.back_mut() {
            Some(last) if last.stream == stream && dropped == 0 => last.text.push_str(text),
            _ => self.printed.push_back(Printed {
                stream,
                text: text.to_owned(),
                dropped,
            }),
        }
    }
}

#[cfg(test)]
#[path = "outlet_tests.rs"]
mod tests;
