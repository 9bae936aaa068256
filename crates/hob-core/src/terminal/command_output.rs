//! What one command printed, by its beginning and its end. Pure.
//!
//! It is what a fresh screen of the terminal's width shows of it, with all that scrolled off: a
//! progress bar is its last state, a colour is nothing, a line that was too wide is one line, and
//! what a program drew on a screen of its own is gone with that screen.
//!
//! Invariant: `text` is at most `bytes_max` long, beside the line that says what is left out.

use super::canvas::Canvas;
use super::past::Ends;
use super::stream::Stream;

/// As high as a terminal may be, so that what moves the cursor up finds what it wants to change.
const PRINTED_ROWS: usize = 200;

#[derive(Debug)]
pub struct Printed {
    stream: Stream,
    canvas: Canvas<Ends>,
    bytes: u64,
}

impl Printed {
    pub fn new(columns: u16, bytes_max: usize) -> Self {
        Self {
            stream: Stream::default(),
            canvas: Canvas::new(columns.into(), PRINTED_ROWS, Ends::new(bytes_max)),
            bytes: 0,
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.stream.feed(bytes, &mut self.canvas);
    }

    /// What was printed so far, and whether its middle is left out.
    pub fn text(&self) -> (String, bool) {
        self.canvas.past.text(&self.canvas.joined())
    }

    /// How many bytes were printed, control sequences included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
