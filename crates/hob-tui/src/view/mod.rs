//! Draws the model into the cells of a frame. It changes nothing but layouts that are kept, and
//! returns where the caret is.

mod canvas;
mod card_view;
mod chat_view;
mod list_view;
mod onboard_view;
mod overlay_view;
mod status_line;

use crate::model::Model;
use crate::screens::Screen;
use crate::text::Role;
use canvas::{Area, Canvas};
use ratatui_core::buffer::Buffer;

/// The row at which the conversation begins.
pub(crate) const TRANSCRIPT_TOP: usize = 1;
/// The smallest screen that everything is drawn on.
const COLUMNS_MIN: usize = 20;
const ROWS_MIN: usize = 8;

/// Where the caret stands: column and row.
pub type CaretPlace = (u16, u16);

/// Draws a frame. The caret's place is always one of its cells.
pub fn draw(model: &mut Model, buffer: &mut Buffer) -> CaretPlace {
    let theme = model.theme();
    let mut canvas = Canvas::new(buffer, theme);
    let (columns, rows) = (canvas.columns(), canvas.rows());
    if columns < COLUMNS_MIN || rows < ROWS_MIN {
        canvas.text(0, 0, "This screen is too small.", Role::Warning);
        return (0, 0);
    }
    status_line::draw_header(model, &mut canvas);
    let mut caret = match model.screen {
        Screen::Chat => chat_view::draw(model, &mut canvas),
        Screen::Onboard => onboard_view::draw(model, &mut canvas),
        _ => list_view::draw(model, &mut canvas),
    };
    status_line::draw_status(model, &mut canvas);
    if let Some(place) = card_view::draw(model, &mut canvas) {
        caret = place;
    }
    if let Some(place) = overlay_view::draw(model, &mut canvas) {
        caret = place;
    }
    let column = u16::try_from(caret.0.min(columns - 1)).unwrap_or(0);
    let row = u16::try_from(caret.1.min(rows - 1)).unwrap_or(0);
    (column, row)
}

/// The part of the screen between header and status line.
fn body(canvas: &Canvas<'_>) -> Area {
    Area {
        x: 0,
        y: TRANSCRIPT_TOP,
        columns: canvas.columns(),
        rows: canvas.rows().saturating_sub(TRANSCRIPT_TOP + 1),
    }
}

#[cfg(test)]
#[path = "../view_tests.rs"]
mod tests;
