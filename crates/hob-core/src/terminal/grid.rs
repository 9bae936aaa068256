//! The rows of a screen, its cursor, and what can be done to them. What tmux does where terminals
//! differ, since tmux is what a person looks at.
//!
//! Invariants: there are as many rows as the screen is high and no cell beyond its width; the
//! cursor is on a row, and at most one column beyond the last, where the next character wraps.

use super::cell::{Row, width_of};
use super::past::{Past, shown};
use super::stream::Title;
use std::collections::VecDeque;

pub(super) const COLUMNS_MAX: usize = 1_000;
pub(super) const ROWS_MAX: usize = 500;
const TAB_COLUMNS: usize = 8;

#[derive(Debug)]
pub(super) struct Canvas<P> {
    pub(super) columns: usize,
    pub(super) rows: VecDeque<Row>,
    pub(super) cursor: Cursor,
    /// The first and last row of what scrolls.
    pub(super) region: (usize, usize),
    pub(super) modes: Modes,
    pub(super) saved: Cursor,
    /// The screen behind, while a program has one of its own.
    pub(super) behind: Option<Behind>,
    pub(super) tabs: Vec<bool>,
    /// What was printed last, for a sequence that repeats it.
    pub(super) last: Option<char>,
    pub(super) title: Title,
    pub(super) past: P,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) column: usize,
    pub(super) row: usize,
    pub(super) origin: bool,
    /// Which of the two character sets draws lines, and which is in use.
    pub(super) lines: [bool; 2],
    pub(super) set: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Modes {
    pub(super) wrap: bool,
    pub(super) insert: bool,
    /// Whether a newline is a return too.
    pub(super) newline: bool,
}

const MODES: Modes = Modes {
    wrap: true,
    insert: false,
    newline: false,
};

/// A screen that another one covers.
#[derive(Debug)]
pub(super) struct Behind {
    pub(super) columns: usize,
    pub(super) rows: VecDeque<Row>,
    pub(super) cursor: Cursor,
}

impl<P: Past> Canvas<P> {
    pub(super) fn new(columns: usize, rows: usize, past: P) -> Self {
        let columns = columns.clamp(1, COLUMNS_MAX);
        let rows = rows.clamp(1, ROWS_MAX);
        Self {
            columns,
            rows: vec![Row::default(); rows].into(),
            cursor: Cursor::default(),
            region: (0, rows - 1),
            modes: MODES,
            saved: Cursor::default(),
            behind: None,
            tabs: tabs(columns),
            last: None,
            title: Title::default(),
            past,
        }
    }

    /// The rows as text, down to the cursor or the last that is not blank; wrapped ones are one.
    pub(super) fn joined(&self) -> String {
        let rows = self.used().max(self.cursor.row + 1);
        let mut text = String::new();
        for (at, row) in self.rows.iter().take(rows).enumerate() {
            text.push_str(shown(&row.text(), row.wrapped));
            if !row.wrapped && at + 1 < rows {
                text.push('\n');
            }
        }
        text
    }

    /// How many rows there are down to the last that holds something.
    pub(super) fn used(&self) -> usize {
        self.rows
            .iter()
            .rposition(|row| row.len() > 0)
            .map_or(0, |last| last + 1)
    }

    // Printing.

    pub(super) fn print_char(&mut self, c: char) {
        let Some(width) = width_of(c) else { return };
        self.last = Some(c);
        let Cursor { column, row, .. } = self.cursor;
        if width == 0 || (!c.is_ascii() && self.rows[row].joins(column)) {
            self.rows[row].add(column, c);
            return;
        }
        let last = match self.columns.checked_sub(width) {
            Some(last) if self.modes.wrap || column <= last || column == self.columns => last,
            _ => return,
        };
        if self.modes.insert && column < self.columns {
            self.insert_cells(width);
        }
        if self.modes.wrap && column > last {
            self.linefeed(true);
            self.cursor.column = 0;
        }
        if self.cursor.column > last {
            return;
        }
        let Cursor { column, row, .. } = self.cursor;
        self.rows[row].put(column, c, width);
        let edge = self.columns - usize::from(!self.modes.wrap);
        self.cursor.column = (column + width).min(edge);
    }

    pub(super) fn repeat(&mut self, count: usize) {
        let Some(c) = self.last else { return };
        for _ in 0..count.min(self.columns - self.cursor.column.min(self.columns)) {
            self.print_char(c);
        }
    }

    // Moving.

    pub(super) fn linefeed(&mut self, wrapped: bool) {
        // A newline does not end what was wrapped once: tmux keeps it so, for shells that redraw.
        self.rows[self.cursor.row].wrapped |= wrapped;
        if self.cursor.row == self.region.1 {
            self.scroll_up();
        } else if self.cursor.row + 1 < self.rows.len() {
            self.cursor.row += 1;
        }
    }

    pub(super) fn reverse_linefeed(&mut self) {
        if self.cursor.row == self.region.0 {
            self.scroll_down();
        } else {
            self.cursor.row = self.cursor.row.saturating_sub(1);
        }
    }

    pub(super) fn backspace(&mut self) {
        let Cursor { column, row, .. } = self.cursor;
        if column > 0 {
            self.cursor.column -= 1;
        } else if row > 0 && self.rows[row - 1].wrapped {
            self.cursor.row -= 1;
            self.cursor.column = self.columns - 1;
        }
    }

    pub(super) fn tab(&mut self) {
        let last = self.columns - 1;
        if self.cursor.column < last {
            let from = self.cursor.column + 1;
            self.cursor.column = (from..last).find(|at| self.tabs[*at]).unwrap_or(last);
        }
    }

    pub(super) fn back_tab(&mut self) {
        let to = self.cursor.column.min(self.columns);
        self.cursor.column = (0..to).rev().find(|at| self.tabs[*at]).unwrap_or(0);
    }

    /// Goes to a place, counted from 0; in origin mode within the region.
    pub(super) fn go(&mut self, column: usize, row: usize) {
        self.cursor.column = column.min(self.columns - 1);
        let (top, bottom) = self.region;
        let row = if self.cursor.origin {
            (top + row).min(bottom)
        } else {
            row
        };
        self.cursor.row = row.min(self.rows.len() - 1);
    }

    pub(super) fn up(&mut self, count: usize) {
        let top = if self.cursor.row < self.region.0 {
            0
        } else {
            self.region.0
        };
        self.cursor.row = self.cursor.row.saturating_sub(count).max(top);
        self.unwrap_column();
    }

    pub(super) fn down(&mut self, count: usize) {
        let last = self.rows.len() - 1;
        let bottom = if self.cursor.row > self.region.1 {
            last
        } else {
            self.region.1
        };
        self.cursor.row = (self.cursor.row + count).min(bottom);
        self.unwrap_column();
    }

    pub(super) fn left(&mut self, count: usize) {
        self.cursor.column = self.cursor.column.saturating_sub(count);
    }

    pub(super) fn right(&mut self, count: usize) {
        self.cursor.column = (self.cursor.column + count).min(self.columns - 1);
    }

    /// A cursor that waits to wrap stands on the last column again.
    fn unwrap_column(&mut self) {
        self.cursor.column = self.cursor.column.min(self.columns - 1);
    }

    // Erasing, inserting and deleting.

    pub(super) fn erase_line(&mut self, from: usize, to: usize) {
        let row = self.cursor.row;
        if from == 0 && to >= self.columns {
            self.erase_rows(row, row + 1);
        } else {
            self.rows[row].erase(from, to);
        }
    }

    pub(super) fn erase_rows(&mut self, from: usize, to: usize) {
        for row in self.rows.range_mut(from..to) {
            *row = Row::default();
        }
        if from < to {
            self.unwrap_row_above(from);
        }
    }

    pub(super) fn erase_below(&mut self) {
        let Cursor { column, row, .. } = self.cursor;
        if column == 0 && row == 0 {
            self.erase_all();
            return;
        }
        self.erase_line(column, self.columns);
        self.erase_rows(row + 1, self.rows.len());
    }

    pub(super) fn erase_above(&mut self) {
        let Cursor { column, row, .. } = self.cursor;
        self.erase_rows(0, row);
        self.erase_line(0, column + 1);
    }

    /// Clears the screen; what it showed is the past's, as in tmux.
    pub(super) fn erase_all(&mut self) {
        if self.behind.is_none() {
            for row in self.rows.range(..self.used()) {
                self.past.push(row);
            }
            self.past.scrolled(0);
        }
        self.erase_rows(0, self.rows.len());
    }

    pub(super) fn insert_cells(&mut self, count: usize) {
        let Cursor { column, row, .. } = self.cursor;
        if column < self.columns {
            self.rows[row].insert(column, count.min(self.columns - column), self.columns);
        }
    }

    pub(super) fn delete_cells(&mut self, count: usize) {
        let Cursor { column, row, .. } = self.cursor;
        if column < self.columns {
            self.rows[row].delete(column, count.min(self.columns - column), self.columns);
        }
    }

    pub(super) fn insert_rows(&mut self, count: usize) {
        let (row, bottom) = (self.cursor.row, self.bottom());
        for _ in 0..count.min(bottom + 1 - row) {
            self.rows.remove(bottom);
            self.rows.insert(row, Row::default());
        }
        self.unwrap_row_above(row);
    }

    pub(super) fn delete_rows(&mut self, count: usize) {
        let (row, bottom) = (self.cursor.row, self.bottom());
        for _ in 0..count.min(bottom + 1 - row) {
            self.rows.remove(row);
            self.rows.insert(bottom, Row::default());
        }
        self.unwrap_row_above(row);
    }

    /// The text above a row that is another one now does not go on in it.
    fn unwrap_row_above(&mut self, row: usize) {
        match row.checked_sub(1) {
            Some(above) => self.rows[above].wrapped = false,
            None if self.behind.is_none() => self.past.end_line(),
            None => {}
        }
    }

    /// The last row that moves with rows inserted or deleted at the cursor.
    fn bottom(&self) -> usize {
        let (top, bottom) = self.region;
        let within = (top..=bottom).contains(&self.cursor.row);
        if within { bottom } else { self.rows.len() - 1 }
    }

    // Scrolling.

    pub(super) fn scroll_up(&mut self) {
        let (top, bottom) = self.region;
        if let Some(row) = self.rows.remove(top) {
            self.rows.insert(bottom, Row::default());
            if self.behind.is_none() {
                self.past.push(&row);
            }
        }
    }

    pub(super) fn scroll_down(&mut self) {
        let (top, bottom) = self.region;
        self.rows.remove(bottom);
        self.rows.insert(top, Row::default());
        self.unwrap_row_above(top);
    }

    pub(super) fn set_region(&mut self, top: usize, bottom: usize) {
        let bottom = bottom.min(self.rows.len() - 1);
        if top < bottom {
            self.region = (top, bottom);
            self.cursor.column = 0;
            self.cursor.row = 0;
        }
    }

    // The whole screen.

    /// Gives a program a screen of its own.
    pub(super) fn cover(&mut self) {
        if self.behind.is_some() {
            return;
        }
        let blank = vec![Row::default(); self.rows.len()].into();
        let rows = std::mem::replace(&mut self.rows, blank);
        self.behind = Some(Behind {
            columns: self.columns,
            rows,
            cursor: self.cursor,
        });
    }

    /// Shows the screen behind again.
    pub(super) fn uncover(&mut self, with_cursor: bool) {
        let Some(behind) = self.behind.take() else {
            return;
        };
        let (columns, rows) = (self.columns, self.rows.len());
        let cursor = self.cursor;
        self.columns = behind.columns;
        self.rows = behind.rows;
        self.cursor = if with_cursor { behind.cursor } else { cursor };
        self.clamp();
        self.resize(columns, rows);
    }

    pub(super) fn fill_with_letters(&mut self) {
        for row in &mut self.rows {
            *row = Row::of(&"E".repeat(self.columns), false);
        }
        self.region = (0, self.rows.len() - 1);
        self.cursor.column = 0;
        self.cursor.row = 0;
    }

    /// A screen of a program's own stays one, as in tmux.
    pub(super) fn reset(&mut self) {
        self.erase_all();
        self.cursor = Cursor::default();
        self.saved = Cursor::default();
        self.modes = MODES;
        self.region = (0, self.rows.len() - 1);
        self.tabs = tabs(self.columns);
    }

    /// Puts the cursor where the screen is.
    pub(super) fn clamp(&mut self) {
        self.cursor.row = self.cursor.row.min(self.rows.len() - 1);
        self.cursor.column = self.cursor.column.min(self.columns);
    }
}

pub(super) fn tabs(columns: usize) -> Vec<bool> {
    (0..columns)
        .map(|column| column > 0 && column % TAB_COLUMNS == 0)
        .collect()
}
