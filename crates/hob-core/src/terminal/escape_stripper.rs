//! Removes control sequences from a stream. Pure.
//!
//! Invariant: newline, tab and return are the only control characters that pass.

use super::vt_stream::{TitleSkipper, VtStream};
use vte::{Params, Perform};

/// Removes control sequences from a stream, piece by piece.
#[derive(Debug, Default)]
pub struct EscapeStripper {
    stream: VtStream,
    text: PlainTextSink,
}

impl EscapeStripper {
    /// Returns the text of the next piece. An unfinished sequence or character waits for the next
    /// piece.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        self.stream.feed(bytes, &mut self.text);
        std::mem::take(&mut self.text.out)
    }
}

#[derive(Debug, Default)]
struct PlainTextSink {
    out: String,
    title: TitleSkipper,
}

impl Perform for PlainTextSink {
    fn print(&mut self, c: char) {
        if !self.title.skips() && !c.is_control() {
            self.out.push(c);
        }
    }

    fn execute(&mut self, byte: u8) {
        if matches!(byte, b'\n' | b'\r' | b'\t') {
            self.title.end();
            self.out.push(char::from(byte));
        }
    }

    fn csi_dispatch(&mut self, _: &Params, _: &[u8], _: bool, _: char) {
        self.title.end();
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.title.end();
    }

    fn esc_dispatch(&mut self, between: &[u8], _: bool, byte: u8) {
        if between.is_empty() && byte == b'k' {
            self.title.begin();
        } else {
            self.title.end();
        }
    }
}
