//! The beginning and end of what one command printed. Pure.
//!
//! The output is what a fresh screen of the terminal's width shows, with its scrollback: a progress
//! bar is its last state, colours are dropped, a line that was too wide is one line, and the
//! alternate screen of a full-screen program leaves nothing.
//!
//! Invariant: `text` is at most `bytes_max` long, plus the line that tells how much is left out.

use super::grid::ScreenGrid;
use super::scrollback::HeadAndTail;
use super::vt_stream::VtStream;

/// The height of the screen: at least that of any real terminal, so moving the cursor up finds the
/// rows to change.
const OUTPUT_ROWS: usize = 200;

#[derive(Debug)]
pub struct CommandOutput {
    stream: VtStream,
    grid: ScreenGrid<HeadAndTail>,
    bytes: u64,
}

impl CommandOutput {
    pub fn new(columns: u16, bytes_max: usize) -> Self {
        Self {
            stream: VtStream::default(),
            grid: ScreenGrid::new(columns.into(), OUTPUT_ROWS, HeadAndTail::new(bytes_max)),
            bytes: 0,
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.stream.feed(bytes, &mut self.grid);
    }

    /// Returns the output so far, and true if its middle is left out.
    pub fn text(&self) -> (String, bool) {
        self.grid.scrollback.text(&self.grid.joined_text())
    }

    /// Returns the number of bytes printed, including control sequences.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
