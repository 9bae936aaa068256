//! Which rows of the conversation are seen. Pure.
//!
//! The place is a row of a block, not a number of rows from the beginning: nobody needs the heights
//! of blocks that are not seen.

use super::Transcript;
use crate::text::Row;

/// The first row that is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TopRow {
    pub(super) index: usize,
    pub(super) row: usize,
    /// The rows that its block had in the width before; the place is scaled when it is next laid out.
    former_rows: Option<usize>,
}

impl TopRow {
    fn at(index: usize, row: usize) -> TopRow {
        TopRow {
            index,
            row,
            former_rows: None,
        }
    }

    pub(super) fn scale(&mut self, rows: Option<usize>) {
        self.former_rows = self.former_rows.or(rows);
    }

    pub(super) fn remove(&mut self, index: usize) {
        if index < self.index {
            self.index -= 1;
        } else if index == self.index {
            self.row = 0;
        }
    }

    pub(super) fn forget(&mut self, count: usize) {
        if self.index < count {
            *self = TopRow::at(0, 0);
        } else {
            self.index -= count;
        }
    }
}

/// A row on the screen and where it comes from.
#[derive(Clone, Debug)]
pub struct VisibleRow {
    /// The index of its block.
    pub index: usize,
    /// The number of the row in its block.
    pub number: usize,
    pub row: Row,
}

impl Transcript {
    /// The rows that are seen, from the top. Fewer than the height if there are no more.
    pub fn visible(&mut self) -> Vec<VisibleRow> {
        self.settle_top();
        let start = match self.top {
            Some(top) => top,
            None => self.row_above_end(self.height),
        };
        let rows = self.rows_from(start, self.height);
        if rows.len() < self.height && self.top.is_some() {
            // There is room below the end: follow it again.
            self.follow();
            let start = self.row_above_end(self.height);
            return self.rows_from(start, self.height);
        }
        rows
    }

    /// Scrolls by rows; up is negative. Returns true if older blocks should be read.
    pub fn scroll(&mut self, rows: isize) -> bool {
        self.settle_top();
        let from = self.top.unwrap_or_else(|| self.row_above_end(self.height));
        if rows < 0 {
            let to = self.step_up(from, rows.unsigned_abs());
            let is_whole = self.step_up(to, 1) == to;
            // A conversation that fits the screen has nothing to scroll.
            let fits = self.rows_from(to, self.height + 1).len() <= self.height;
            self.top = (!fits).then_some(to);
            return is_whole;
        }
        let to = self.step_down(from, rows.unsigned_abs());
        let end = self.row_above_end(self.height);
        if (to.index, to.row) >= (end.index, end.row) {
            self.follow();
        } else {
            self.top = Some(to);
        }
        false
    }

    /// Goes to the end and follows it.
    pub fn follow(&mut self) {
        self.top = None;
        self.has_unseen = false;
    }

    /// Goes to the first block.
    pub fn go_to_first(&mut self) {
        let fits = self.rows_from(TopRow::at(0, 0), self.height + 1).len() <= self.height;
        self.top = (!fits).then_some(TopRow::at(0, 0));
    }

    /// Scrolls as far as needed to see the first row of a block.
    pub(super) fn reveal(&mut self, index: usize) {
        let rows = self.visible();
        if !rows.iter().any(|row| row.index == index) {
            self.show_at_top(index);
        }
    }

    pub(super) fn show_at_top(&mut self, index: usize) {
        let to = self.step_up(TopRow::at(index, 0), self.height / 4);
        let end = self.row_above_end(self.height);
        let is_at_end = (to.index, to.row) >= (end.index, end.row);
        self.top = (!is_at_end).then_some(to);
    }

    /// Moves the place to the same part of its block after the width changed.
    fn settle_top(&mut self) {
        let Some(top) = self.top else {
            return;
        };
        let rows = self.rows_of(top.index).len();
        let mut row = top.row;
        if let Some(former) = top.former_rows.filter(|former| *former > 0) {
            row = row * rows / former;
        }
        self.top = Some(TopRow::at(top.index, row.min(rows.saturating_sub(1))));
        if top.index >= self.blocks.len() {
            self.top = None;
        }
    }

    fn rows_from(&mut self, start: TopRow, height: usize) -> Vec<VisibleRow> {
        let mut out = Vec::with_capacity(height);
        let mut skip = start.row;
        for index in start.index..self.blocks.len() {
            if out.len() >= height {
                break;
            }
            let rows = self.rows_of(index);
            for (number, row) in rows.iter().enumerate().skip(skip) {
                if out.len() >= height {
                    break;
                }
                let row = row.clone();
                out.push(VisibleRow { index, number, row });
            }
            skip = 0;
        }
        out
    }

    /// The row this many rows above the end.
    fn row_above_end(&mut self, height: usize) -> TopRow {
        self.step_up(TopRow::at(self.blocks.len(), 0), height)
    }

    fn step_up(&mut self, from: TopRow, rows: usize) -> TopRow {
        let (mut index, mut row, mut left) = (from.index, from.row, rows);
        while left > row {
            let Some(above) = index.checked_sub(1) else {
                return TopRow::at(0, 0);
            };
            left -= row;
            index = above;
            row = self.rows_of(index).len();
        }
        TopRow::at(index, row - left)
    }

    fn step_down(&mut self, from: TopRow, rows: usize) -> TopRow {
        let (mut index, mut row, mut left) = (from.index, from.row, rows);
        while index < self.blocks.len() {
            let below = self.rows_of(index).len().saturating_sub(row);
            if left < below {
                return TopRow::at(index, row + left);
            }
            left -= below;
            index += 1;
            row = 0;
        }
        TopRow::at(index, 0)
    }
}
