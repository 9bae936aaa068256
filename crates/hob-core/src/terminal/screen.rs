//! The screen a terminal shows, as text, and the lines that scrolled off it. Pure.
//!
//! A mirror of the person's tmux pane: it is fed what the pane prints and answers what it shows,
//! without tmux being asked. Colours are not kept. Lines drawn with the old character set come out
//! as the lines they are, where `tmux capture-pane` shows letters.
//!
//! Invariant: what it holds is bounded by its size and `past_lines_max`, whatever it is fed.

use super::canvas::Canvas;
use super::past::{History, shown};
use super::stream::Stream;

#[derive(Debug)]
pub struct Screen {
    stream: Stream,
    canvas: Canvas<History>,
}

impl Screen {
    pub fn new(columns: u16, rows: u16, past_lines_max: usize) -> Self {
        let past = History::new(past_lines_max);
        Self {
            stream: Stream::default(),
            canvas: Canvas::new(columns.into(), rows.into(), past),
        }
    }

    /// Shows what was printed next.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.stream.feed(bytes, &mut self.canvas);
    }

    /// Takes another size; lines wrap anew.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.canvas.resize(columns.into(), rows.into());
    }

    /// The screen with so many lines of the past. Each line ends with a newline; blank ones at the
    /// end of the screen are left out.
    pub fn capture(&self, past_lines: usize) -> String {
        let past = self.canvas.past.lines();
        let mut text = String::new();
        for line in past.range(past.len().saturating_sub(past_lines)..) {
            text.push_str(line.shown().trim_end_matches(' '));
            text.push('\n');
        }
        let mut end = text.len();
        for row in self.canvas.rows.range(..self.canvas.used()) {
            text.push_str(shown(&row.text(), false));
            let blank = text.is_empty() || text.ends_with('\n');
            text.push('\n');
            if !blank {
                end = text.len();
            }
        }
        text.truncate(end);
        text
    }

    /// The cursor's column and row, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        let column = self.canvas.cursor.column.min(self.canvas.columns - 1);
        (small(column), small(self.canvas.cursor.row))
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        (small(self.canvas.columns), small(self.canvas.rows.len()))
    }

    /// Whether a program has the whole screen for itself, such as an editor.
    pub fn full_screen(&self) -> bool {
        self.canvas.behind.is_some()
    }

    /// How many lines of the past there are.
    pub fn past_lines(&self) -> usize {
        self.canvas.past.lines().len()
    }
}

fn small(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
