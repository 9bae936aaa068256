//! Tables: a heading, aligned columns, cut to the screen.

use super::words::{cut, pad, pad_left, width};
use super::{Screen, Tone};

/// Between two columns.
const GAP: usize = 2;
/// A column is not cut below this; past that, columns at the end are left out.
const COLUMN_MIN: usize = 6;

#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
struct Column {
    heading: String,
    right: bool,
}

impl Table {
    pub fn new() -> Self {
        Table::default()
    }

    #[must_use]
    pub fn column(mut self, heading: &str) -> Self {
        self.columns.push(Column {
            heading: heading.to_owned(),
            right: false,
        });
        self
    }

    /// A column of numbers.
    #[must_use]
    pub fn number(mut self, heading: &str) -> Self {
        self.columns.push(Column {
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

    pub fn lines(&self, screen: &Screen) -> Vec<String> {
        let widths = self.widths(screen.width);
        let headings = self.columns.iter().map(|column| column.heading.clone());
        let heading = self.line(&headings.collect::<Vec<_>>(), &widths);
        let mut lines = vec![screen.paint(Tone::Quiet, &heading)];
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
            let cell = cut(cell, *columns);
            line.push_str(&if column.right {
                pad_left(&cell, *columns)
            } else {
                pad(&cell, *columns)
            });
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// Each column's width; the widest are narrowed until the line fits.
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
            // Numbers lose their meaning when cut, so only text columns give way.
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
