//! The terminal as a stage: a screen of its own while something is shown, drawn only where it
//! changed. Invariant: when this is dropped the terminal shows what it showed before.

use crate::terminal::Terminal;
use std::fmt::Write;
use std::io;

/// A screen of its own without a cursor.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
/// Emptied first: a terminal that was resized meanwhile may keep what stood on it.
const LEAVE: &str = "\u{1b}[2J\u{1b}[?25h\u{1b}[?1049l";

#[derive(Debug)]
pub(super) struct Stage<'t> {
    terminal: &'t Terminal,
    drawn: Vec<String>,
    columns: Option<usize>,
}

impl<'t> Stage<'t> {
    pub(super) fn enter(terminal: &'t Terminal) -> io::Result<Stage<'t>> {
        terminal.bytes(ENTER.as_bytes())?;
        terminal.flush()?;
        Ok(Stage {
            terminal,
            drawn: Vec::new(),
            columns: None,
        })
    }

    /// Shows these lines, made for so many columns. A screen of another size is drawn whole.
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

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no farewell.
        let _ = self.terminal.bytes(LEAVE.as_bytes());
        let _ = self.terminal.flush();
    }
}
