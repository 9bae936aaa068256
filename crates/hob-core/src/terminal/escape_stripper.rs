//! A stream without its control sequences. Pure.
//!
//! Invariant: of control characters only newline, tab and return pass.

use super::stream::{Stream, Title};
use vte::{Params, Perform};

/// Takes the control sequences out of a stream, piece by piece.
#[derive(Debug, Default)]
pub struct Plain {
    stream: Stream,
    text: Text,
}

impl Plain {
    /// The text of the next piece. What a piece leaves unfinished comes with the one that ends it.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        self.stream.feed(bytes, &mut self.text);
        std::mem::take(&mut self.text.out)
    }
}

#[derive(Debug, Default)]
struct Text {
    out: String,
    title: Title,
}

impl Perform for Text {
    fn print(&mut self, c: char) {
        if !self.title.takes() && !c.is_control() {
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
