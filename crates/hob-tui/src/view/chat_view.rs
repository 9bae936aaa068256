//! The conversation and the message below it.

use super::canvas::{Area, Canvas};
use super::{TRANSCRIPT_TOP, body};
use crate::model::Model;
use crate::text::{Role, Row, Span, Tone, clean_line, duration, truncate, width};
use hob_wire::rooms::agent::RunState;

/// The most rows of the message that are seen at once.
const MESSAGE_ROWS_MAX: usize = 10;
/// The mark before the message.
const PROMPT: &str = "❯ ";
/// The frames of the mark of a working run.
const WORKING: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// Draws the screen; returns the caret's place.
pub(super) fn draw(model: &mut Model, canvas: &mut Canvas<'_>) -> (usize, usize) {
    let body = body(canvas);
    let columns = model.composer_columns();
    let buffer = model.composer.buffer();
    let message_rows = buffer.rows(columns).len();
    let most = MESSAGE_ROWS_MAX.min(body.rows / 3).max(1);
    let height = message_rows.min(most);
    let transcript = Area {
        rows: body.rows.saturating_sub(height + 1),
        ..body
    };
    draw_transcript(model, canvas, transcript);
    draw_rule(model, canvas, transcript.y + transcript.rows);
    let message = Area {
        y: body.y + body.rows - height,
        rows: height,
        ..body
    };
    let caret = draw_message(model, canvas, message);
    draw_completion(model, canvas, message.y - 1);
    draw_search(model, canvas, message).unwrap_or(caret)
}

fn draw_transcript(model: &mut Model, canvas: &mut Canvas<'_>, area: Area) {
    model.transcript.resize(area.columns, area.rows);
    let rows = model.transcript.visible();
    if rows.is_empty() {
        draw_welcome(model, canvas, area);
        return;
    }
    let query = model.transcript.query().to_lowercase();
    let chosen = model.transcript.chosen().map(str::to_owned);
    for (place, visible) in rows.iter().enumerate() {
        let y = area.y + place;
        canvas.row(area.x, y, area.columns, &visible.row);
        mark_found(canvas, area, y, &visible.row, &query);
        let block = model.transcript.blocks().get(visible.index);
        let is_chosen = chosen.is_some() && block.map(|block| &block.id) == chosen.as_ref();
        if is_chosen && visible.row.width() > 0 {
            canvas.tint(
                area.x,
                y,
                area.columns.min(visible.row.width()),
                Role::Selected,
            );
        }
    }
}

/// Marks the searched words in a row.
fn mark_found(canvas: &mut Canvas<'_>, area: Area, y: usize, row: &Row, query: &str) {
    if query.is_empty() {
        return;
    }
    let text: String = row.spans.iter().map(|span| span.text.as_str()).collect();
    let lower = text.to_lowercase();
    // Letters whose lower case has another length would shift the marks.
    if lower.len() != text.len() {
        return;
    }
    for (at, found) in lower.match_indices(query) {
        if let (Some(before), Some(it)) = (text.get(..at), text.get(at..at + found.len())) {
            canvas.tint(area.x + width(before), y, width(it), Role::Found);
        }
    }
}

fn draw_welcome(model: &Model, canvas: &mut Canvas<'_>, area: Area) {
    let lines = [
        (format!("hob {}", clean_line(&model.version)), Role::Heading),
        (String::new(), Role::Plain),
        (
            "Ask something, or let it work in this folder.".to_owned(),
            Role::Plain,
        ),
        (
            "What you start goes on when you leave.".to_owned(),
            Role::Quiet,
        ),
    ];
    let top = area.y + (area.rows.saturating_sub(lines.len())) / 3;
    for (index, (line, role)) in lines.iter().enumerate() {
        if top + index < area.y + area.rows {
            canvas.text(2, top + index, line, *role);
        }
    }
}

/// The line between conversation and message, with what the run does.
fn draw_rule(model: &Model, canvas: &mut Canvas<'_>, y: usize) {
    let columns = canvas.columns();
    canvas.line(0, y, columns, Role::Quiet);
    let mut spans = Vec::new();
    if let Some(run) = &model.run {
        let frame = usize::try_from(model.motion_frame()).unwrap_or(0) % WORKING.len();
        let (mark, word, role) = match run.state {
            _ if run.is_stopping => (WORKING[frame], "stopping", Role::Warning),
            RunState::Queued => ("○", "queued", Role::Quiet),
            RunState::Waiting => ("?", "waits for you", Role::Warning),
            RunState::InDoubt => ("?", "in doubt", Role::Warning),
            RunState::Paused => ("‖", "paused", Role::Warning),
            RunState::Running | RunState::Done => (WORKING[frame], "working", Role::Accent),
        };
        let took = duration(model.now.saturating_sub(run.since));
        spans.push(Span::new(format!(" {mark} {word} "), role));
        spans.push(Span::new(
            format!("{took} · step {} ", run.step),
            Role::Quiet,
        ));
    }
    canvas.spans(2, y, columns.saturating_sub(4), &spans);
    let right = if model.transcript.has_unseen() {
        Some((" ↓ more below ", Role::Warning))
    } else if model.transcript.is_following() {
        None
    } else {
        Some((" ↓ not at the end ", Role::Quiet))
    };
    if let Some((text, role)) = right {
        canvas.text(columns.saturating_sub(width(text) + 2), y, text, role);
    }
}

fn draw_message(model: &Model, canvas: &mut Canvas<'_>, area: Area) -> (usize, usize) {
    let columns = model.composer_columns();
    let buffer = model.composer.buffer();
    let rows = buffer.rows(columns);
    let (row, column) = buffer.caret_place(columns);
    // The row of the caret is always seen.
    let first = (row + 1).saturating_sub(area.rows);
    for (place, row) in rows.iter().skip(first).take(area.rows).enumerate() {
        if first + place == 0 {
            canvas.text(0, area.y, PROMPT, Tone::from(Role::Accent));
        }
        let text = &buffer.text()[row.start..row.end];
        canvas.spans(2, area.y + place, columns, &[Span::plain(text)]);
    }
    if buffer.text().is_empty() {
        let text = truncate("Write a message", columns);
        canvas.text(2, area.y, &text, Role::Quiet);
    }
    (2 + column, area.y + row - first)
}

/// The proposals for the word at the caret, above the message.
fn draw_completion(model: &Model, canvas: &mut Canvas<'_>, bottom: usize) {
    let Some(completion) = model.composer.completion() else {
        return;
    };
    let items = completion.items();
    let names = items.iter().map(|item| width(item.text.trim_end()));
    let name_columns = names.max().unwrap_or(0).min(canvas.columns() / 2);
    let rows = items.len().min(bottom.saturating_sub(TRANSCRIPT_TOP));
    let area = Area {
        x: 0,
        y: bottom - rows,
        columns: canvas.columns(),
        rows,
    };
    canvas.clear(area);
    for (index, item) in items.iter().take(rows).enumerate() {
        let y = area.y + index;
        let name = crate::text::fit(&clean_line(item.text.trim_end()), name_columns);
        canvas.text(2, y, &name, Role::Code);
        let about = truncate(&item.about, area.columns.saturating_sub(name_columns + 6));
        canvas.text(name_columns + 4, y, &about, Role::Quiet);
        if index == completion.chosen_index() {
            canvas.tint(0, y, area.columns, Role::Selected);
        }
    }
}

/// The searched words take the place of the message.
fn draw_search(model: &Model, canvas: &mut Canvas<'_>, area: Area) -> Option<(usize, usize)> {
    let search = model.search.as_ref()?;
    canvas.clear(area);
    let prompt = if search.is_found {
        "find: "
    } else {
        "not found: "
    };
    let role = if search.is_found {
        Role::Accent
    } else {
        Role::Warning
    };
    let taken = canvas.text(0, area.y, prompt, role);
    let query = clean_line(&search.query);
    let typed = canvas.text(taken, area.y, &query, Role::Plain);
    Some((taken + typed, area.y))
}
