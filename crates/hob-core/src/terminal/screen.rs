//! The screen of a terminal as text, with its scrollback. Pure.
//!
//! It mirrors the person's tmux pane: it is fed the bytes the pane prints and knows what the pane
//! shows without asking tmux. Colours are not kept. Line-drawing characters come out as lines,
//! where `tmux capture-pane` shows letters.
//!
//! Invariant: its memory is bounded by its size and `past_lines_max`, whatever it is fed.

use super::grid::ScreenGrid;
use super::scrollback::{Scrollback, without_trailing_blanks};
use super::vt_stream::VtStream;

#[derive(Debug)]
pub struct TerminalScreen {
    stream: VtStream,
    grid: ScreenGrid<Scrollback>,
}

impl TerminalScreen {
    pub fn new(columns: u16, rows: u16, past_lines_max: usize) -> Self {
        let past = Scrollback::new(past_lines_max);
        Self {
            stream: VtStream::default(),
            grid: ScreenGrid::new(columns.into(), rows.into(), past),
        }
    }

    /// Applies the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.stream.feed(bytes, &mut self.grid);
    }

    /// Changes the size; lines wrap anew.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.grid.resize(columns.into(), rows.into());
    }

    /// Returns the screen with this many lines of scrollback. Each line ends with a newline; blank
    /// lines at the end of the screen are left out.
    pub fn capture(&self, past_lines: usize) -> String {
        let past = self.grid.scrollback.lines();
        let mut text = String::new();
        for line in past.range(past.len().saturating_sub(past_lines)..) {
            text.push_str(line.visible_text().trim_end_matches(' '));
            text.push('\n');
        }
        let mut end = text.len();
        for row in self.grid.rows.range(..self.grid.used_rows()) {
            text.push_str(without_trailing_blanks(&row.text(), false));
            // A blank row adds nothing, so the text still ends with the newline before it.
            let blank = text.is_empty() || text.ends_with('\n');
            text.push('\n');
            if !blank {
                end = text.len();
            }
        }
        text.truncate(end);
        text
    }

    /// Returns the cursor's column and row, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        let column = self.grid.cursor.column.min(self.grid.columns - 1);
        (to_u16(column), to_u16(self.grid.cursor.row))
    }

    /// Returns the columns and rows.
    pub fn size(&self) -> (u16, u16) {
        (to_u16(self.grid.columns), to_u16(self.grid.rows.len()))
    }

    /// Returns true if a full-screen program such as an editor runs.
    pub fn is_full_screen(&self) -> bool {
        self.grid.primary_screen.is_some()
    }

    /// Returns the number of lines in the scrollback.
    pub fn scrollback_lines(&self) -> usize {
        self.grid.scrollback.lines().len()
    }
}

fn to_u16(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
