//! Text tables: a heading and aligned columns, truncated to the screen.

use super::text::{pad, pad_left, truncate, width};
use super::{ScreenStyle, TextTone};

/// The spaces between two columns.
const GAP: usize = 2;
/// The least width of a column; when that is too wide, the last columns are dropped.
const COLUMN_MIN: usize = 6;

#[derive(Clone, Debug, Default)]
pub struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
struct TableColumn {
    heading: String,
    right: bool,
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
        });
        self
    }

    /// Adds a right-aligned column of numbers.
    #[must_use]
    pub fn number(mut self, heading: &str) -> Self {
        self.columns.push(TableColumn {
            heading: heading.to_owned(),
            right: true,
        });
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

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let columns = self.columns.iter().zip(widths).zip(cells);
        let mut line = String::new();
        for ((column, columns), cell) in columns {
            if !line.is_empty() {
                line.push_str(&" ".repeat(GAP));
            }
            let cell = truncate(cell, *columns);
            line.push_str(&if column.right {
                pad_left(&cell, *columns)
            } else {
                pad(&cell, *columns)
            });
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// The width of each column; the widest are narrowed until the line fits.
    fn widths(&self, screen: Option<usize>) -> Vec<usize> {
        let of_column = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        };
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<usize> = columns
            .map(|(index, column)| of_column(index).max(width(&column.heading)))
            .collect();
        let Some(screen) = screen else {
            return widths;
        };
        loop {
            let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
            let over = total.saturating_sub(screen);
            if over == 0 {
                return widths;
            }
            // A truncated number is wrong, so only text columns are narrowed.
            let candidates = widths.iter().zip(&self.columns).enumerate();
            let widest = candidates
                .filter(|(_, (columns, column))| !column.right && **columns > COLUMN_MIN)
                .max_by_key(|(_, (columns, _))| **columns)
                .map(|(index, _)| index);
            match widest {
                Some(index) => widths[index] -= 1,
                None if widths.len() > 1 => {
                    widths.pop();
                }
                None => return widths,
            }
        }
    }
}
