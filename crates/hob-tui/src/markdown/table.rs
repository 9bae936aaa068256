//! Tables of Markdown as rows. Pure. A table that does not fit is written as a list of its rows.

use crate::text::{BreakAt, Role, Row, Span, Tone, width, wrap};
use pulldown_cmark::Alignment;

/// The columns between two cells.
const GAP: usize = 2;
/// The least columns of a cell; a table that has less is written as a list.
const CELL_COLUMNS_MIN: usize = 6;
/// The most columns and rows that are laid out.
const CELLS_MAX: usize = 64;
const ROWS_MAX: usize = 2_000;

pub(super) struct TableInProgress {
    alignments: Vec<Alignment>,
    /// The first row is the head.
    lines: Vec<Vec<Vec<Span>>>,
}

impl TableInProgress {
    pub(super) fn new(alignments: Vec<Alignment>) -> TableInProgress {
        TableInProgress {
            alignments,
            lines: Vec::new(),
        }
    }

    pub(super) fn begin_row(&mut self) {
        if self.lines.len() < ROWS_MAX {
            self.lines.push(Vec::new());
        }
    }

    pub(super) fn push_cell(&mut self, spans: Vec<Span>) {
        if let Some(line) = self.lines.last_mut()
            && line.len() < CELLS_MAX
        {
            line.push(spans);
        }
    }

    pub(super) fn rows(self, columns: usize) -> Vec<Row> {
        let count = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        if count == 0 {
            return Vec::new();
        }
        match self.cell_columns(count, columns) {
            Some(widths) => self.grid(&widths),
            None => self.list(columns),
        }
    }

    /// The columns of each cell, or `None` if they would be too narrow to read.
    fn cell_columns(&self, count: usize, columns: usize) -> Option<Vec<usize>> {
        let mut widths = vec![1; count];
        for line in &self.lines {
            for (cell, most) in line.iter().zip(&mut widths) {
                *most = (*most).max(cell_width(cell));
            }
        }
        let room = columns.checked_sub(GAP * (count - 1))?;
        // The widest column gives way until all fit.
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter_mut().max()?;
            if *widest <= CELL_COLUMNS_MIN {
                return None;
            }
            *widest -= 1;
        }
        Some(widths)
    }

    fn grid(&self, widths: &[usize]) -> Vec<Row> {
        let mut out = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let cells: Vec<Vec<Row>> = widths
                .iter()
                .enumerate()
                .map(|(index, columns)| {
                    let spans = line.get(index).map_or(&[][..], Vec::as_slice);
                    let spans = if number == 0 {
                        bold(spans)
                    } else {
                        spans.to_vec()
                    };
                    wrap(&spans, *columns, BreakAt::Words)
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for row in 0..height {
                out.push(self.grid_row(&cells, widths, row));
            }
            if number == 0 {
                let lines = widths.iter().map(|columns| "─".repeat(*columns));
                let lines: Vec<String> = lines.collect();
                out.push(Row::single(lines.join("  "), Role::Quiet));
            }
        }
        out
    }

    fn grid_row(&self, cells: &[Vec<Row>], widths: &[usize], row: usize) -> Row {
        let mut spans = Vec::new();
        for (index, columns) in widths.iter().enumerate() {
            let cell = cells.get(index).and_then(|rows| rows.get(row));
            let taken = cell.map_or(0, Row::width);
            let free = columns.saturating_sub(taken);
            let (before, after) = match self.alignments.get(index) {
                Some(Alignment::Right) => (free, 0),
                Some(Alignment::Center) => (free / 2, free - free / 2),
                _ => (0, free),
            };
            let is_last = index + 1 == widths.len();
            let after = if is_last { 0 } else { after + GAP };
            spans.push(Span::plain(" ".repeat(before)));
            spans.extend(cell.into_iter().flat_map(|row| row.spans.clone()));
            spans.push(Span::plain(" ".repeat(after)));
        }
        spans.retain(|span| !span.text.is_empty());
        Row::of(spans)
    }

    /// Each row as lines `head: cell`.
    fn list(self, columns: usize) -> Vec<Row> {
        let mut lines = self.lines.into_iter();
        let head = lines.next().unwrap_or_default();
        let mut out = Vec::new();
        for line in lines {
            if !out.is_empty() {
                out.push(Row::default());
            }
            for (index, cell) in line.into_iter().enumerate() {
                let mut spans = head.get(index).map_or_else(Vec::new, |it| bold(it));
                spans.push(Span::plain(": "));
                spans.extend(cell);
                out.extend(wrap(&spans, columns, BreakAt::Words));
            }
        }
        out
    }
}

fn cell_width(cell: &[Span]) -> usize {
    cell.iter().map(|span| width(&span.text)).sum()
}

fn bold(spans: &[Span]) -> Vec<Span> {
    let spans = spans.iter().cloned();
    spans
        .map(|span| Span {
            tone: Tone::bold(span.tone),
            ..span
        })
        .collect()
}
