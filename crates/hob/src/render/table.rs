//! Text tables: a heading and aligned columns, truncated to the screen.

use super::text::{pad, pad_left, truncate, width};
use super::{ScreenStyle, TextTone};

/// The spaces between two columns.
const GAP: usize = 2;
/// The least width of a column; when that is too wide, the last columns are dropped.
const COLUMN_MIN: usize = 6;
/// The width at which a text column still says something; below it, lesser columns are dropped.
const COLUMN_READABLE: usize = 12;

#[derive(Clone, Debug, Default)]
pub struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
struct TableColumn {
    heading: String,
    right: bool,
    /// Dropped first on a narrow screen.
    lesser: bool,
}

impl TextTable {
    pub fn new() -> Self {
        TextTable::default()
    }

    #[must_use]
    pub fn column(mut self, heading: &str) -> Self {
        self.columns.push(TableColumn {
            heading: heading.to_owned(),
            right: false,
            lesser: false,
        });
        self
    }

    /// Adds a right-aligned column of numbers.
    #[must_use]
    pub fn number(mut self, heading: &str) -> Self {
        self.columns.push(TableColumn {
            heading: heading.to_owned(),
            right: true,
            lesser: false,
        });
        self
    }

    /// Marks the last added column as one that a narrow screen leaves out.
    #[must_use]
    pub fn lesser(mut self) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.lesser = true;
        }
        self
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn lines(&self, screen: &ScreenStyle) -> Vec<String> {
        let widths = self.widths(screen.width);
        let headings = self.columns.iter().map(|column| column.heading.clone());
        let heading = self.line(&headings.collect::<Vec<_>>(), &widths);
        let mut lines = vec![screen.paint(TextTone::Quiet, &heading)];
        lines.extend(self.rows.iter().map(|row| self.line(row, &widths)));
        lines
    }

    fn line(&self, cells: &[String], widths: &[Option<usize>]) -> String {
        let columns = self.columns.iter().zip(widths).zip(cells);
        let shown = columns.filter_map(|((column, width), cell)| Some((column, (*width)?, cell)));
        let mut line = String::new();
        for (column, columns, cell) in shown {
            if !line.is_empty() {
                line.push_str(&" ".repeat(GAP));
            }
            let cell = truncate(cell, columns);
            line.push_str(&if column.right {
                pad_left(&cell, columns)
            } else {
                pad(&cell, columns)
            });
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// The width of each column, `None` if it is left out. First lesser columns are dropped until
    /// the others are readable, then the widest are narrowed until the line fits.
    fn widths(&self, screen: Option<usize>) -> Vec<Option<usize>> {
        let of_column = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        };
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<Option<usize>> = columns
            .map(|(index, column)| Some(of_column(index).max(width(&column.heading))))
            .collect();
        let Some(screen) = screen else {
            return widths;
        };
        self.drop_lesser(&mut widths, screen);
        while line_width(widths.iter().copied()) > screen {
            // A truncated number is wrong, so only text columns are narrowed.
            let candidates = widths.iter().zip(&self.columns).enumerate();
            let candidates = candidates
                .filter_map(|(index, (width, column))| Some((index, (*width)?, column.right)));
            let widest = candidates
                .filter(|(_, width, right)| !right && *width > COLUMN_MIN)
                .max_by_key(|(_, width, _)| *width);
            if let Some((index, width, _)) = widest {
                widths[index] = Some(width - 1);
                continue;
            }
            let mut shown = widths.iter_mut().filter(|width| width.is_some());
            match (shown.next(), shown.next_back()) {
                (Some(_), Some(last)) => *last = None,
                _ => return widths,
            }
        }
        widths
    }

    fn drop_lesser(&self, widths: &mut [Option<usize>], screen: usize) {
        let readable = |widths: &[Option<usize>]| {
            let columns = widths.iter().zip(&self.columns);
            line_width(columns.map(|(width, column)| match width {
                Some(width) if !column.right => Some((*width).min(COLUMN_READABLE)),
                width => *width,
            }))
        };
        while readable(widths) > screen {
            let columns = widths.iter_mut().zip(&self.columns);
            let mut lesser = columns.filter(|(width, column)| width.is_some() && column.lesser);
            match lesser.next_back() {
                Some((width, _)) => *width = None,
                None => return,
            }
        }
    }
}

/// The width of a line with these columns and the gaps between them.
fn line_width(widths: impl Iterator<Item = Option<usize>>) -> usize {
    let (count, sum) = widths
        .flatten()
        .fold((0, 0), |(count, sum), width| (count + 1, sum + width));
    sum + GAP * usize::saturating_sub(count, 1)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
