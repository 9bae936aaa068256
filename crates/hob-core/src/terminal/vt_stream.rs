//! Bytes to the steps of a terminal: UTF-8 made whole, then control sequences.
//!
//! The parser is given whole characters only: a character cut by the end of a piece waits here, and
//! what is no UTF-8 becomes U+FFFD. So pieces may be cut anywhere.

use vte::{Parser, Perform};

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
/// How much of a title in the manner of screen (`ESC k`) is passed over: what is longer was none.
const TITLE_CHARS_MAX: u16 = 1_024;

#[derive(Default)]
pub(super) struct Stream {
    /// Keeps 1 KiB of an operating system command at the most.
    parser: Parser,
    /// The beginning of a character.
    held: Vec<u8>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl Stream {
    pub(super) fn feed(&mut self, mut bytes: &[u8], perform: &mut impl Perform) {
        while !self.held.is_empty() {
            let Some((&byte, rest)) = bytes.split_first() else {
                return;
            };
            self.held.push(byte);
            match std::str::from_utf8(&self.held) {
                Ok(_) => {
                    self.parser.advance(perform, &self.held);
                    self.held.clear();
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => bytes = rest,
                Err(_) => {
                    self.parser.advance(perform, REPLACEMENT);
                    self.held.clear();
                }
            }
        }
        let mut end = bytes.len();
        for chunk in bytes.utf8_chunks() {
            self.parser.advance(perform, chunk.valid().as_bytes());
            end -= chunk.valid().len() + chunk.invalid().len();
            if chunk.invalid().is_empty() {
                continue;
            }
            let unfinished = end == 0
                && std::str::from_utf8(chunk.invalid())
                    .is_err_and(|error| error.error_len().is_none());
            if unfinished {
                self.held.extend_from_slice(chunk.invalid());
            } else {
                self.parser.advance(perform, REPLACEMENT);
            }
        }
    }
}

/// Passes over a title in the manner of screen, `ESC k TITLE ESC \`, which the parser does not know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Title {
    left: u16,
}

impl Title {
    pub(super) fn begin(&mut self) {
        self.left = TITLE_CHARS_MAX;
    }

    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// Whether a character belongs to the title.
    pub(super) fn takes(&mut self) -> bool {
        let taken = self.left > 0;
        self.left = self.left.saturating_sub(1);
        taken
    }
}
