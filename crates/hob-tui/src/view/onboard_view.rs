//! The choice of a first model.

use super::body;
use super::canvas::Canvas;
use crate::model::Model;
use crate::text::{BreakAt, Role, Span, Tone, clean_line, wrap};
use hob_wire::rooms::onboard::{OnboardKind, OnboardOption};

/// Draws the screen; returns the caret's place.
pub(super) fn draw(model: &Model, canvas: &mut Canvas<'_>) -> (usize, usize) {
    let body = body(canvas);
    let bottom = body.y + body.rows;
    let mut y = body.y + 1;
    canvas.text(2, y, "Which model shall answer?", Tone::from(Role::Heading));
    y += 2;
    if let Some(key) = &model.onboard.key {
        return draw_key(model, canvas, y, &key.text);
    }
    let Some(found) = &model.onboard.options else {
        canvas.text(2, y, "Looking at what this machine has …", Role::Quiet);
        return (2, y);
    };
    let mut caret = (0, y);
    for (index, option) in found.options.iter().enumerate() {
        if y + 1 >= bottom {
            break;
        }
        let is_chosen = index == model.onboard.chosen;
        let mark = if is_chosen { "❯ " } else { "  " };
        canvas.text(0, y, mark, Role::Accent);
        canvas.text(2, y, &clean_line(&option.title), Role::Plain);
        if is_chosen {
            caret = (0, y);
            canvas.tint(2, y, body.columns.saturating_sub(2), Role::Selected);
        }
        y += 1;
        let about = about(option);
        if !about.is_empty() && y < bottom {
            canvas.text(4, y, &about, Role::Quiet);
            y += 1;
        }
    }
    y += 1;
    let message = model
        .onboard
        .message
        .iter()
        .map(|text| (text, Role::Warning));
    let notes = found.notes.iter().map(|text| (text, Role::Quiet));
    let busy = "One moment …".to_owned();
    let busy = model.onboard.is_busy.then_some((&busy, Role::Accent));
    for (text, role) in busy.into_iter().chain(message).chain(notes) {
        let room = body.columns.saturating_sub(4);
        for row in wrap(&[Span::new(clean_line(text), role)], room, BreakAt::Words) {
            if y < bottom {
                canvas.row(2, y, room, &row);
                y += 1;
            }
        }
    }
    caret
}

/// What an option needs and can do.
fn about(option: &OnboardOption) -> String {
    let megabytes = |bytes: u64| format!("{} MB", bytes / 1_000_000);
    let mut parts = Vec::new();
    if option.kind != OnboardKind::Paste {
        parts.extend(option.models.first().map(|model| clean_line(model)));
    }
    parts.extend(
        option
            .download_bytes
            .map(|it| format!("{} to download", megabytes(it))),
    );
    parts.extend(
        option
            .memory_bytes
            .map(|it| format!("{} of memory", megabytes(it))),
    );
    parts.extend(option.tools.map(|can| {
        let text = if can {
            "can use tools"
        } else {
            "cannot use tools"
        };
        text.to_owned()
    }));
    parts.extend(option.licence.as_deref().map(clean_line));
    parts.join(" · ")
}

/// The key that is pasted is never shown, only its length.
fn draw_key(model: &Model, canvas: &mut Canvas<'_>, y: usize, text: &str) -> (usize, usize) {
    let Some(key) = &model.onboard.key else {
        return (0, y);
    };
    let provider = key.providers.get(key.provider);
    let provider = provider.map_or_else(String::new, |it| clean_line(it));
    let line = format!("Provider: {provider}   (↑↓ chooses another)");
    canvas.text(2, y, &line, Role::Plain);
    let taken = canvas.text(2, y + 2, "Paste its key: ", Role::Plain);
    let dots = "•".repeat(text.chars().count().min(40));
    let typed = canvas.text(2 + taken, y + 2, &dots, Role::Plain);
    canvas.text(
        2,
        y + 4,
        "enter tries and keeps it · esc goes back",
        Role::Quiet,
    );
    (2 + taken + typed, y + 2)
}
