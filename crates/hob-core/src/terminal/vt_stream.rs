//! Feeds terminal bytes to the VT parser, as valid UTF-8.
//!
//! The parser gets whole characters only: a character cut by the end of a piece waits here, and
//! invalid UTF-8 becomes U+FFFD. So pieces may be cut anywhere.

use vte::{Parser, Perform};

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
/// The most characters of a `screen` title (`ESC k`) that are skipped; a longer one was not a
/// title.
const TITLE_CHARS_MAX: u16 = 1_024;

#[derive(Default)]
pub(super) struct VtStream {
    /// The parser keeps at most 1 KiB of an operating system command.
    parser: Parser,
    /// The first bytes of an incomplete character.
    held: Vec<u8>,
}

impl std::fmt::Debug for VtStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl VtStream {
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
                // The held bytes are invalid; the new byte is examined again by itself.
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
            // Only the end of the piece can be a character whose rest is still to come.
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

/// Skips a `screen` title, `ESC k TITLE ESC \`, which the parser does not know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TitleSkipper {
    left: u16,
}

impl TitleSkipper {
    pub(super) fn begin(&mut self) {
        self.left = TITLE_CHARS_MAX;
    }

    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// Returns true if a character belongs to the title.
    pub(super) fn skips(&mut self) -> bool {
        let taken = self.left > 0;
        self.left = self.left.saturating_sub(1);
        taken
    }
}
