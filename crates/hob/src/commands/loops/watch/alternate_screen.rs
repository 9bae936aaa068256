//! The terminal's alternate screen. Only changed lines are redrawn. Invariant: dropping it restores
//! the normal screen and the cursor.

use crate::terminal::Terminal;
use std::fmt::Write;
use std::io;

/// Switches to the alternate screen and hides the cursor.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
/// Clears the screen first: a terminal that was resized meanwhile may keep the old contents.
const LEAVE: &str = "\u{1b}[2J\u{1b}[?25h\u{1b}[?1049l";

#[derive(Debug)]
pub(super) struct AlternateScreen<'t> {
    terminal: &'t Terminal,
    drawn: Vec<String>,
    columns: Option<usize>,
}

impl<'t> AlternateScreen<'t> {
    pub(super) fn enter(terminal: &'t Terminal) -> io::Result<AlternateScreen<'t>> {
        terminal.bytes(ENTER.as_bytes())?;
        terminal.flush()?;
        Ok(AlternateScreen {
            terminal,
            drawn: Vec::new(),
            columns: None,
        })
    }

    /// Draws the lines, which fit `columns`. After a resize the whole screen is redrawn.
    pub(super) fn draw(&mut self, lines: Vec<String>, columns: Option<usize>) -> io::Result<()> {
        let mut out = String::new();
        let anew = lines.len() != self.drawn.len() || columns != self.columns;
        self.columns = columns;
        if anew {
            out.push_str("\u{1b}[2J");
        }
        for (index, line) in lines.iter().enumerate() {
            if !anew && self.drawn.get(index) == Some(line) {
                continue;
            }
            // Writing to a string cannot fail.
            let _ = write!(out, "\u{1b}[{};1H\u{1b}[2K{line}", index + 1);
        }
        if out.is_empty() {
            return Ok(());
        }
        self.drawn = lines;
        self.terminal.bytes(out.as_bytes())?;
        self.terminal.flush()
    }
}

impl Drop for AlternateScreen<'_> {
    fn drop(&mut self) {
        // Errors are ignored: a closed terminal has nothing to restore.
        let _ = self.terminal.bytes(LEAVE.as_bytes());
        let _ = self.terminal.flush();
    }
}
