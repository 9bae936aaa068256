//! The rows of a screen, its cursor, and the operations on them. Where terminals differ it does
//! what tmux does, because a person looks at tmux.
//!
//! Invariants: the number of rows is the height of the screen and no cell lies beyond its width;
//! the cursor is on a row, and at most one column beyond the last, where the next character wraps.

use super::cell::{GridRow, char_width};
use super::scrollback::{ScrollbackSink, without_trailing_blanks};
use super::vt_stream::TitleSkipper;
use std::collections::VecDeque;

pub(super) const COLUMNS_MAX: usize = 1_000;
pub(super) const ROWS_MAX: usize = 500;
const TAB_COLUMNS: usize = 8;

#[derive(Debug)]
pub(super) struct ScreenGrid<P> {
    pub(super) columns: usize,
    pub(super) rows: VecDeque<GridRow>,
    pub(super) cursor: ScreenCursor,
    /// The first and last row of the scrolling region.
    pub(super) region: (usize, usize),
    pub(super) modes: TerminalModes,
    pub(super) saved: ScreenCursor,
    /// The primary screen, while a program uses the alternate one.
    pub(super) primary_screen: Option<PrimaryScreen>,
    pub(super) tabs: Vec<bool>,
    /// The last printed character, for the sequence that repeats it.
    pub(super) last_printed: Option<char>,
    pub(super) title: TitleSkipper,
    pub(super) scrollback: P,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenCursor {
    pub(super) column: usize,
    pub(super) row: usize,
    pub(super) origin_mode: bool,
    /// Marks which of the two character sets draws lines.
    pub(super) draws_lines: [bool; 2],
    pub(super) charset: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalModes {
    pub(super) wrap: bool,
    pub(super) insert: bool,
    /// True if a newline is also a carriage return.
    pub(super) newline: bool,
}

const MODES: TerminalModes = TerminalModes {
    wrap: true,
    insert: false,
    newline: false,
};

/// The primary screen while the alternate one is shown.
#[derive(Debug)]
pub(super) struct PrimaryScreen {
    pub(super) columns: usize,
    pub(super) rows: VecDeque<GridRow>,
    pub(super) cursor: ScreenCursor,
}

impl<P: ScrollbackSink> ScreenGrid<P> {
    pub(super) fn new(columns: usize, rows: usize, scrollback: P) -> Self {
        let columns = columns.clamp(1, COLUMNS_MAX);
        let rows = rows.clamp(1, ROWS_MAX);
        Self {
            columns,
            rows: vec![GridRow::default(); rows].into(),
            cursor: ScreenCursor::default(),
            region: (0, rows - 1),
            modes: MODES,
            saved: ScreenCursor::default(),
            primary_screen: None,
            tabs: default_tabs(columns),
            last_printed: None,
            title: TitleSkipper::default(),
            scrollback,
        }
    }

    /// Returns the rows as text, down to the cursor or the last non-blank row; wrapped rows are
    /// joined.
    pub(super) fn joined_text(&self) -> String {
        let rows = self.used_rows().max(self.cursor.row + 1);
        let mut text = String::new();
        for (at, row) in self.rows.iter().take(rows).enumerate() {
            text.push_str(without_trailing_blanks(&row.text(), row.wrapped));
            if !row.wrapped && at + 1 < rows {
                text.push('\n');
            }
        }
        text
    }

    /// Returns the number of rows down to the last non-empty one.
    pub(super) fn used_rows(&self) -> usize {
        self.rows
            .iter()
            .rposition(|row| row.len() > 0)
            .map_or(0, |last| last + 1)
    }

    // Printing.

    pub(super) fn print_char(&mut self, c: char) {
        let Some(width) = char_width(c) else { return };
        self.last_printed = Some(c);
        let ScreenCursor { column, row, .. } = self.cursor;
        // A combining mark, or a character after a zero-width joiner, shares the cell before it.
        if width == 0 || (!c.is_ascii() && self.rows[row].joins_previous(column)) {
            self.rows[row].add_combining(column, c);
            return;
        }
        // Without wrapping, a character that does not fit is dropped.
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
        let ScreenCursor { column, row, .. } = self.cursor;
        self.rows[row].put_char(column, c, width);
        // With wrapping the cursor may wait one column beyond the last.
        let edge = self.columns - usize::from(!self.modes.wrap);
        self.cursor.column = (column + width).min(edge);
    }

    pub(super) fn repeat_last(&mut self, count: usize) {
        let Some(c) = self.last_printed else { return };
        // Bounded by the row: a few bytes must not cost a long loop.
        for _ in 0..count.min(self.columns - self.cursor.column.min(self.columns)) {
            self.print_char(c);
        }
    }

    // Moving.

    pub(super) fn linefeed(&mut self, wrapped: bool) {
        // A newline does not unwrap a row: tmux keeps the flag for shells that redraw.
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
        let ScreenCursor { column, row, .. } = self.cursor;
        if column > 0 {
            self.cursor.column -= 1;
        } else if row > 0 && self.rows[row - 1].wrapped {
            // This row continues the text of the row above, so the cursor goes back into it.
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

    /// Moves to a position, counted from 0; in origin mode relative to the region.
    pub(super) fn move_to(&mut self, column: usize, row: usize) {
        self.cursor.column = column.min(self.columns - 1);
        let (top, bottom) = self.region;
        let row = if self.cursor.origin_mode {
            (top + row).min(bottom)
        } else {
            row
        };
        self.cursor.row = row.min(self.rows.len() - 1);
    }

    pub(super) fn move_up(&mut self, count: usize) {
        // Outside the region the cursor stops only at the edge of the screen.
        let top = if self.cursor.row < self.region.0 {
            0
        } else {
            self.region.0
        };
        self.cursor.row = self.cursor.row.saturating_sub(count).max(top);
        self.leave_wrap_column();
    }

    pub(super) fn move_down(&mut self, count: usize) {
        let last = self.rows.len() - 1;
        let bottom = if self.cursor.row > self.region.1 {
            last
        } else {
            self.region.1
        };
        self.cursor.row = (self.cursor.row + count).min(bottom);
        self.leave_wrap_column();
    }

    pub(super) fn move_left(&mut self, count: usize) {
        self.cursor.column = self.cursor.column.saturating_sub(count);
    }

    pub(super) fn move_right(&mut self, count: usize) {
        self.cursor.column = (self.cursor.column + count).min(self.columns - 1);
    }

    /// Moves a cursor that waits to wrap back to the last column.
    fn leave_wrap_column(&mut self) {
        self.cursor.column = self.cursor.column.min(self.columns - 1);
    }

    // Scrolling.

    pub(super) fn scroll_up(&mut self) {
        let (top, bottom) = self.region;
        if let Some(row) = self.rows.remove(top) {
            self.rows.insert(bottom, GridRow::default());
            // The alternate screen has no scrollback.
            if self.primary_screen.is_none() {
                self.scrollback.push(&row);
            }
        }
    }

    pub(super) fn scroll_down(&mut self) {
        let (top, bottom) = self.region;
        self.rows.remove(bottom);
        self.rows.insert(top, GridRow::default());
        self.unwrap_row_above(top);
    }

    pub(super) fn set_region(&mut self, top: usize, bottom: usize) {
        let bottom = bottom.min(self.rows.len() - 1);
        // A region needs at least two rows; anything else is ignored.
        if top < bottom {
            self.region = (top, bottom);
            self.cursor.column = 0;
            self.cursor.row = 0;
        }
    }

    // The whole screen.

    /// Switches to the alternate screen.
    pub(super) fn enter_alternate_screen(&mut self) {
        if self.primary_screen.is_some() {
            return;
        }
        let blank = vec![GridRow::default(); self.rows.len()].into();
        let rows = std::mem::replace(&mut self.rows, blank);
        self.primary_screen = Some(PrimaryScreen {
            columns: self.columns,
            rows,
            cursor: self.cursor,
        });
    }

    /// Switches back to the primary screen.
    pub(super) fn leave_alternate_screen(&mut self, with_cursor: bool) {
        let Some(behind) = self.primary_screen.take() else {
            return;
        };
        let (columns, rows) = (self.columns, self.rows.len());
        let cursor = self.cursor;
        self.columns = behind.columns;
        self.rows = behind.rows;
        self.cursor = if with_cursor { behind.cursor } else { cursor };
        self.clamp_cursor();
        // The window may have changed its size while the alternate screen was shown.
        self.resize(columns, rows);
    }

    pub(super) fn fill_with_e(&mut self) {
        for row in &mut self.rows {
            *row = GridRow::from_text(&"E".repeat(self.columns), false);
        }
        self.region = (0, self.rows.len() - 1);
        self.cursor.column = 0;
        self.cursor.row = 0;
    }

    /// Resets the terminal. The alternate screen stays active, as in tmux.
    pub(super) fn reset(&mut self) {
        self.erase_all();
        self.cursor = ScreenCursor::default();
        self.saved = ScreenCursor::default();
        self.modes = MODES;
        self.region = (0, self.rows.len() - 1);
        self.tabs = default_tabs(self.columns);
    }

    /// Moves the cursor inside the screen.
    pub(super) fn clamp_cursor(&mut self) {
        self.cursor.row = self.cursor.row.min(self.rows.len() - 1);
        self.cursor.column = self.cursor.column.min(self.columns);
    }
}

pub(super) fn default_tabs(columns: usize) -> Vec<bool> {
    (0..columns)
        .map(|column| column > 0 && column % TAB_COLUMNS == 0)
        .collect()
}
