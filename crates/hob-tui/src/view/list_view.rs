//! A screen that is a list.

use super::body;
use super::canvas::{Area, Canvas};
use crate::model::Model;
use crate::screens::{ListContent, ListRow};
use crate::text::{BreakAt, Role, Span, clean_line, fit, width, wrap};

/// The columns between two cells.
const GAP: usize = 2;
/// The least columns of a cell, if the screen has them.
const CELL_COLUMNS_MIN: usize = 4;

/// Draws the list; returns the caret's place: at the filter.
pub(super) fn draw(model: &Model, canvas: &mut Canvas<'_>) -> (usize, usize) {
    let body = body(canvas);
    let filter = clean_line(model.list.filter());
    let taken = canvas.text(0, body.y, "filter: ", Role::Quiet);
    let typed = canvas.text(taken, body.y, &filter, Role::Plain);
    let caret = (taken + typed, body.y);
    let Some(content) = model.list.content() else {
        canvas.text(0, body.y + 2, "Reading …", Role::Quiet);
        return caret;
    };
    let notes = note_rows(content, body.columns);
    let area = Area {
        y: body.y + 1,
        rows: body.rows.saturating_sub(1 + notes.len()),
        ..body
    };
    draw_rows(model, content, canvas, area);
    for (index, row) in notes.iter().enumerate() {
        canvas.row(0, area.y + area.rows + index, body.columns, row);
    }
    caret
}

/// The notes below the rows; on a small screen only the first ones.
fn note_rows(content: &ListContent, columns: usize) -> Vec<crate::text::Row> {
    const ROWS_MAX: usize = 4;
    let notes = content.notes.iter();
    let rows = notes.flat_map(|note| {
        let span = Span::new(clean_line(note), Role::Quiet);
        wrap(&[span], columns, BreakAt::Words)
    });
    rows.take(ROWS_MAX).collect()
}

fn draw_rows(model: &Model, content: &ListContent, canvas: &mut Canvas<'_>, area: Area) {
    let rows = model.list.rows();
    if rows.is_empty() {
        let text = if content.rows.is_empty() {
            content.empty
        } else {
            "Nothing fits the filter."
        };
        canvas.text(0, area.y + 1, text, Role::Quiet);
        return;
    }
    let widths = cell_widths(content, &rows, area.columns);
    let mut x = 0;
    for (head, columns) in content.heads.iter().zip(&widths) {
        canvas.text(x, area.y, &fit(head, *columns), Role::Quiet);
        x += columns + GAP;
    }
    let height = area.rows.saturating_sub(1).max(1);
    let chosen = model.list.chosen();
    let first = (chosen + 1).saturating_sub(height);
    for (place, row) in rows.iter().skip(first).take(height).enumerate() {
        let y = area.y + 1 + place;
        let mut x = 0;
        for ((text, role), columns) in row.cells.iter().zip(&widths) {
            canvas.text(x, y, &fit(text, *columns), *role);
            x += columns + GAP;
        }
        if first + place == chosen {
            canvas.tint(0, y, area.columns, Role::Selected);
        }
    }
}

/// The columns of the cells: the widest ones give way until all fit.
fn cell_widths(content: &ListContent, rows: &[&ListRow], columns: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = content.heads.iter().map(|head| width(head)).collect();
    for row in rows {
        for (most, (text, _)) in widths.iter_mut().zip(&row.cells) {
            *most = (*most).max(width(text)).min(columns);
        }
    }
    let gaps = GAP * widths.len().saturating_sub(1);
    let room = columns.saturating_sub(gaps);
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > CELL_COLUMNS_MIN => *widest -= 1,
            _ => break,
        }
    }
    widths
}
