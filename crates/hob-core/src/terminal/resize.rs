//! Resizes a screen: lines are wrapped anew, including the scrollback, as tmux does it.

use super::cell::GridRow;
use super::grid::{COLUMNS_MAX, ROWS_MAX, ScreenGrid, default_tabs};
use super::scrollback::ScrollbackSink;
use std::collections::VecDeque;

impl<P: ScrollbackSink> ScreenGrid<P> {
    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        let columns = columns.clamp(1, COLUMNS_MAX);
        let rows = rows.clamp(1, ROWS_MAX);
        self.set_height(rows);
        if columns != self.columns {
            if self.primary_screen.is_some() {
                // A full-screen program redraws its screen itself.
                self.rows.iter_mut().for_each(|row| row.truncate(columns));
            } else {
                self.rewrap(columns);
            }
            self.columns = columns;
            self.tabs = default_tabs(columns);
        }
        self.clamp_cursor();
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
            if self.primary_screen.is_none() {
                self.scrollback.push(&row);
            }
        }
        if self.primary_screen.is_none() {
            while self.rows.len() < height
                && let Some(line) = self.scrollback.take_newest()
            {
                self.rows
                    .push_front(GridRow::from_text(&line.text, line.wrapped));
                self.cursor.row += 1;
            }
        }
        self.rows.resize(height, GridRow::default());
        self.region = (0, height - 1);
    }

    fn rewrap(&mut self, columns: usize) {
        let (past, scrolled) = self.scrollback.take_all();
        let rows = std::mem::take(&mut self.rows);
        let (height, cursor_row) = (rows.len(), past.len() + self.cursor.row);
        let mut wrapping = RowWrapper::new(columns, height, scrolled, &mut self.scrollback);
        let lines = past
            .into_iter()
            .map(|line| GridRow::from_text(&line.text, line.wrapped))
            .chain(rows);
        for (at, row) in lines.enumerate() {
            wrapping.add_row(at, &row, (at == cursor_row).then_some(self.cursor.column));
        }
        let (rows, place, scrolled) = wrapping.finish();
        self.rows = rows;
        (self.cursor.column, self.cursor.row) = place;
        self.scrollback.set_returnable(scrolled);
    }
}

/// Wraps rows to another width. The last finished rows are the screen; earlier ones go to the
/// scrollback at once, so nothing is held twice.
struct RowWrapper<'a, P> {
    columns: usize,
    height: usize,
    scrollback: &'a mut P,
    finished: VecDeque<GridRow>,
    /// The number of rows pushed to the scrollback.
    pushed_rows: usize,
    /// The row being filled.
    current: GridRow,
    /// The number of whole rows joined into it.
    joined_rows: usize,
    /// The number of scrollback rows that may return to the screen. Like in tmux it is an index
    /// among all rows, from the first one.
    returnable: usize,
    /// The cursor's column and row, counted from the first of all rows.
    cursor: Option<(usize, usize)>,
    /// The cursor was beyond the end of its row: it goes to the end of that text.
    cursor_at_end: bool,
}

impl<'a, P: ScrollbackSink> RowWrapper<'a, P> {
    fn new(columns: usize, height: usize, scrolled: usize, scrollback: &'a mut P) -> Self {
        Self {
            columns,
            height,
            scrollback,
            finished: VecDeque::with_capacity(height + 1),
            pushed_rows: 0,
            current: GridRow::default(),
            joined_rows: 0,
            returnable: scrolled,
            cursor: None,
            cursor_at_end: false,
        }
    }

    fn add_row(&mut self, at: usize, row: &GridRow, cursor: Option<usize>) {
        let mut joins = self.current.len() > 0;
        if joins && row.len() == 0 && !row.wrapped {
            self.flush(true);
            joins = false;
        }
        let mut first = self.row_index();
        for (column, cell) in row.cells().iter().enumerate() {
            let width = cell.width();
            if width > 0 && self.current.len() + width > self.columns && self.current.len() > 0 {
                self.flush(true);
                if std::mem::take(&mut joins) {
                    first = self.row_index();
                }
            }
            if cursor == Some(column) {
                // On the right half of a wide character the cursor moves to its left half.
                let back = usize::from(width == 0);
                self.cursor = Some((self.current.len().saturating_sub(back), self.row_index()));
            }
            // A wide character does not fit a screen of one column.
            if width > 0 && width <= self.columns {
                self.current.push(*cell);
            }
        }
        if joins {
            self.joined_rows += 1;
        } else if at <= self.returnable {
            self.returnable += self.row_index() - first;
        }
        self.cursor_at_end |= cursor.is_some_and(|column| column >= row.len());
        if !row.wrapped {
            self.flush(false);
        }
    }

    /// Returns the index of the row being filled.
    fn row_index(&self) -> usize {
        self.pushed_rows + self.finished.len()
    }

    fn flush(&mut self, wrapped: bool) {
        let here = self.row_index();
        if !wrapped && std::mem::take(&mut self.cursor_at_end) {
            self.cursor = Some((self.current.len(), here));
        }
        match std::mem::take(&mut self.joined_rows) {
            0 => {}
            joined if self.returnable > here + joined => self.returnable -= joined,
            _ => self.returnable = self.returnable.min(here),
        }
        self.current.wrapped = wrapped;
        self.finished.push_back(std::mem::take(&mut self.current));
        if self.finished.len() > self.height
            && let Some(row) = self.finished.pop_front()
        {
            self.scrollback.push(&row);
            self.pushed_rows += 1;
        }
    }

    /// Returns the rows of the screen, the cursor on it, and the number of returnable scrollback
    /// rows.
    fn finish(mut self) -> (VecDeque<GridRow>, (usize, usize), usize) {
        if self.current.len() > 0 {
            self.flush(false);
        }
        self.finished.resize(self.height, GridRow::default());
        // A cursor whose row went to the scrollback starts again at the top left.
        let place = self
            .cursor
            .and_then(|(column, row)| Some((column, row.checked_sub(self.pushed_rows)?)));
        (self.finished, place.unwrap_or_default(), self.returnable)
    }
}
