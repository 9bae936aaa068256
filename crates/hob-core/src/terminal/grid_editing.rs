//! Erases, inserts and deletes cells and rows of a screen.

use super::cell::GridRow;
use super::grid::{ScreenCursor, ScreenGrid};
use super::scrollback::ScrollbackSink;

impl<P: ScrollbackSink> ScreenGrid<P> {
    pub(super) fn erase_line(&mut self, from: usize, to: usize) {
        let row = self.cursor.row;
        // A row that is erased as a whole also ends the text that was wrapped into it.
        if from == 0 && to >= self.columns {
            self.erase_rows(row, row + 1);
        } else {
            self.rows[row].erase(from, to);
        }
    }

    pub(super) fn erase_rows(&mut self, from: usize, to: usize) {
        for row in self.rows.range_mut(from..to) {
            *row = GridRow::default();
        }
        if from < to {
            self.unwrap_row_above(from);
        }
    }

    pub(super) fn erase_below(&mut self) {
        let ScreenCursor { column, row, .. } = self.cursor;
        // Erasing from the top left is a clear, so the rows go to the scrollback.
        if column == 0 && row == 0 {
            self.erase_all();
            return;
        }
        self.erase_line(column, self.columns);
        self.erase_rows(row + 1, self.rows.len());
    }

    pub(super) fn erase_above(&mut self) {
        let ScreenCursor { column, row, .. } = self.cursor;
        self.erase_rows(0, row);
        self.erase_line(0, column + 1);
    }

    /// Clears the screen; its rows move to the scrollback, as in tmux.
    pub(super) fn erase_all(&mut self) {
        if self.primary_screen.is_none() {
            for row in self.rows.range(..self.used_rows()) {
                self.scrollback.push(row);
            }
            // Cleared rows must not come back when the screen grows.
            self.scrollback.set_returnable(0);
        }
        self.erase_rows(0, self.rows.len());
    }

    pub(super) fn insert_cells(&mut self, count: usize) {
        let ScreenCursor { column, row, .. } = self.cursor;
        if column < self.columns {
            self.rows[row].insert(column, count.min(self.columns - column), self.columns);
        }
    }

    pub(super) fn delete_cells(&mut self, count: usize) {
        let ScreenCursor { column, row, .. } = self.cursor;
        if column < self.columns {
            self.rows[row].delete(column, count.min(self.columns - column), self.columns);
        }
    }

    pub(super) fn insert_rows(&mut self, count: usize) {
        let (row, bottom) = (self.cursor.row, self.last_moving_row());
        for _ in 0..count.min(bottom + 1 - row) {
            self.rows.remove(bottom);
            self.rows.insert(row, GridRow::default());
        }
        self.unwrap_row_above(row);
    }

    pub(super) fn delete_rows(&mut self, count: usize) {
        let (row, bottom) = (self.cursor.row, self.last_moving_row());
        for _ in 0..count.min(bottom + 1 - row) {
            self.rows.remove(row);
            self.rows.insert(bottom, GridRow::default());
        }
        self.unwrap_row_above(row);
    }

    /// Ends the wrapped text above a row that was replaced.
    pub(super) fn unwrap_row_above(&mut self, row: usize) {
        match row.checked_sub(1) {
            Some(above) => self.rows[above].wrapped = false,
            None if self.primary_screen.is_none() => self.scrollback.end_line(),
            None => {}
        }
    }

    /// Returns the last row that moves when rows are inserted or deleted at the cursor.
    fn last_moving_row(&self) -> usize {
        let (top, bottom) = self.region;
        let within = (top..=bottom).contains(&self.cursor.row);
        if within { bottom } else { self.rows.len() - 1 }
    }
}
