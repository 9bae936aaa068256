//! The card of the first open question, over the lower part of the screen.

use super::canvas::{Area, Canvas};
use super::{TRANSCRIPT_TOP, body};
use crate::cards::card_rows;
use crate::model::Model;
use crate::text::{Role, width};

/// The columns of the frame and the space inside it.
const EDGE: usize = 4;
/// The least rows of the question that are seen.
const BODY_ROWS_MIN: usize = 3;
/// The rows of the conversation that stay visible.
const CONVERSATION_ROWS: usize = 3;

/// Draws the card, if there is one. Returns the caret's place if it takes text.
pub(super) fn draw(model: &mut Model, canvas: &mut Canvas<'_>) -> Option<(usize, usize)> {
    let has_keys = model.cards.has_keys();
    let zone = model.zone_seconds;
    let body = body(canvas);
    let columns = body.columns.saturating_sub(EDGE);
    let keymap = model.keymap.clone();
    let card = model.cards.top_mut()?;
    let rows = card_rows(card, &keymap, columns, has_keys, zone);
    // The message stays visible below the card.
    let space = body.rows.saturating_sub(2);
    // The end of the conversation stays visible above it, unless the answers need the space.
    let tallest = space.saturating_sub(CONVERSATION_ROWS);
    let tallest = tallest.max(rows.answers.len() + 3 + BODY_ROWS_MIN);
    let most = tallest.min(space).saturating_sub(rows.answers.len() + 3);
    let most = most.max(BODY_ROWS_MIN);
    let seen = rows.body.len().min(most);
    let height = (seen + rows.answers.len() + 3).min(space);
    card.scroll = card.scroll.min(rows.body.len() - seen);
    let area = Area {
        x: 0,
        y: (body.y + space).saturating_sub(height).max(TRANSCRIPT_TOP),
        columns: body.columns,
        rows: height,
    };
    let role = if has_keys { Role::Warning } else { Role::Quiet };
    canvas.frame(area, &rows.title, role);
    let x = area.x + 2;
    for (index, row) in rows.body.iter().skip(card.scroll).take(seen).enumerate() {
        canvas.row(x, area.y + 1 + index, columns, row);
    }
    let left = rows.body.len() - seen - card.scroll;
    let line = area.y + 1 + seen;
    canvas.line(x, line, columns, Role::Quiet);
    if seen < rows.body.len() {
        let text = format!(" {left} more rows · ↑↓ scroll ");
        canvas.text(x + 2, line, &text, Role::Warning);
    }
    let bottom = area.y + area.rows - 1;
    for (index, row) in rows.answers.iter().enumerate() {
        if line + 1 + index < bottom {
            canvas.row(x, line + 1 + index, columns, row);
        }
    }
    card.input.as_ref()?;
    let row = rows
        .answers
        .iter()
        .position(|row| row.text().contains('▏'))?;
    let text = rows.answers.get(row)?.text();
    let before = text.split('▏').next().unwrap_or_default();
    Some((x + width(before), line + 1 + row))
}
