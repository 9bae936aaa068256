//! Another size for a screen: lines wrap anew, with those of the past, as tmux wraps them.

use super::canvas::{COLUMNS_MAX, Canvas, ROWS_MAX, tabs};
use super::cell::Row;
use super::past::Past;
use std::collections::VecDeque;

impl<P: Past> Canvas<P> {
    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        let columns = columns.clamp(1, COLUMNS_MAX);
        let rows = rows.clamp(1, ROWS_MAX);
        self.set_height(rows);
        if columns != self.columns {
            if self.behind.is_some() {
                // A program with a screen of its own draws it anew.
                self.rows.iter_mut().for_each(|row| row.truncate(columns));
            } else {
                self.rewrap(columns);
            }
            self.columns = columns;
            self.tabs = tabs(columns);
        }
        self.clamp();
    }

    fn set_height(&mut self, height: usize) {
        // Rows below the cursor go first, then the topmost.
        while self.rows.len() > height && self.rows.len() - 1 > self.cursor.row {
            self.rows.pop_back();
        }
        while self.rows.len() > height {
            let Some(row) = self.rows.pop_front() else {
                break;
            };
            self.cursor.row = self.cursor.row.saturating_sub(1);
            if self.behind.is_none() {
                self.past.push(&row);
            }
        }
        if self.behind.is_none() {
            while self.rows.len() < height
                && let Some(line) = self.past.pull()
            {
                self.rows.push_front(Row::of(&line.text, line.wrapped));
                self.cursor.row += 1;
            }
        }
        self.rows.resize(height, Row::default());
        self.region = (0, height - 1);
    }

    fn rewrap(&mut self, columns: usize) {
        let (past, scrolled) = self.past.take();
        let rows = std::mem::take(&mut self.rows);
        let (height, cursor_row) = (rows.len(), past.len() + self.cursor.row);
        let mut wrapping = Wrapping::new(columns, height, scrolled, &mut self.past);
        let lines = past
            .into_iter()
            .map(|line| Row::of(&line.text, line.wrapped))
            .chain(rows);
        for (at, row) in lines.enumerate() {
            wrapping.add(at, &row, (at == cursor_row).then_some(self.cursor.column));
        }
        let (rows, place, scrolled) = wrapping.end();
        self.rows = rows;
        (self.cursor.column, self.cursor.row) = place;
        self.past.scrolled(scrolled);
    }
}

/// Rows of another width, made from those of one before. Of those that are done the last ones are
/// the screen, the others the past: nothing is held twice.
struct Wrapping<'a, P> {
    columns: usize,
    height: usize,
    past: &'a mut P,
    done: VecDeque<Row>,
    /// How many rows were pushed to the past.
    gone: usize,
    /// What is being filled.
    row: Row,
    /// How many rows went into it whole.
    joined: usize,
    /// How many rows of the past may come back. tmux counts it as a place among the rows, from the
    /// first one, and so does this.
    scrolled: usize,
    /// Where the cursor is, counted from the first of all rows.
    cursor: Option<(usize, usize)>,
    /// The cursor was behind the end of its row: it goes to the end of that text.
    cursor_at_end: bool,
}

impl<'a, P: Past> Wrapping<'a, P> {
    fn new(columns: usize, height: usize, scrolled: usize, past: &'a mut P) -> Self {
        Self {
            columns,
            height,
            past,
            done: VecDeque::with_capacity(height + 1),
            gone: 0,
            row: Row::default(),
            joined: 0,
            scrolled,
            cursor: None,
            cursor_at_end: false,
        }
    }

    fn add(&mut self, at: usize, row: &Row, cursor: Option<usize>) {
        let mut joins = self.row.len() > 0;
        if joins && row.len() == 0 && !row.wrapped {
            self.flush(true);
            joins = false;
        }
        let mut first = self.here();
        for (column, cell) in row.cells().iter().enumerate() {
            let width = cell.width();
            if width > 0 && self.row.len() + width > self.columns && self.row.len() > 0 {
                self.flush(true);
                if std::mem::take(&mut joins) {
                    first = self.here();
                }
            }
            if cursor == Some(column) {
                let back = usize::from(width == 0);
                self.cursor = Some((self.row.len().saturating_sub(back), self.here()));
            }
            if width > 0 && width <= self.columns {
                self.row.push(*cell);
            }
        }
        if joins {
            self.joined += 1;
        } else if at <= self.scrolled {
            self.scrolled += self.here() - first;
        }
        self.cursor_at_end |= cursor.is_some_and(|column| column >= row.len());
        if !row.wrapped {
            self.flush(false);
        }
    }

    /// The place of the row that is being filled.
    fn here(&self) -> usize {
        self.gone + self.done.len()
    }

    fn flush(&mut self, wrapped: bool) {
        let here = self.here();
        if !wrapped && std::mem::take(&mut self.cursor_at_end) {
            self.cursor = Some((self.row.len(), here));
        }
        match std::mem::take(&mut self.joined) {
            0 => {}
            joined if self.scrolled > here + joined => self.scrolled -= joined,
            _ => self.scrolled = self.scrolled.min(here),
        }
        self.row.wrapped = wrapped;
        self.done.push_back(std::mem::take(&mut self.row));
        if self.done.len() > self.height
            && let Some(row) = self.done.pop_front()
        {
            self.past.push(&row);
            self.gone += 1;
        }
    }

    /// The rows of the screen, where the cursor is on it, and how much of the past may come back.
    fn end(mut self) -> (VecDeque<Row>, (usize, usize), usize) {
        if self.row.len() > 0 {
            self.flush(false);
        }
        self.done.resize(self.height, Row::default());
        let place = self
            .cursor
            .and_then(|(column, row)| Some((column, row.checked_sub(self.gone)?)));
        (self.done, place.unwrap_or_default(), self.scrolled)
    }
}
