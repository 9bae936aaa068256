//! The header and the last row: where the person is, what it costs, what is wrong.

use super::canvas::Canvas;
use crate::actions::Action;
use crate::model::{LinkState, Model};
use crate::screens::Screen;
use crate::text::{Role, Span, clean_line, count, dollars, truncate, width};

pub(super) fn draw_header(model: &Model, canvas: &mut Canvas<'_>) {
    let columns = canvas.columns();
    let taken = canvas.text(0, 0, "hob", Role::Accent);
    let place = match model.screen {
        Screen::Chat => clean_line(model.session()),
        other => other.title().to_owned(),
    };
    let chosen = model.run_params.model.as_deref().map(clean_line);
    let answering = chosen.or_else(|| model.answering.clone());
    let facts = [
        Some(place),
        answering,
        model.folder.as_deref().map(clean_line),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let text = format!(" · {}", facts.join(" · "));
    let text = truncate(&text, columns.saturating_sub(taken));
    canvas.text(taken, 0, &text, Role::Quiet);
}

pub(super) fn draw_status(model: &Model, canvas: &mut Canvas<'_>) {
    let (columns, y) = (canvas.columns(), canvas.rows() - 1);
    let right = facts(model);
    let right_width: usize = right.iter().map(|span| width(&span.text)).sum();
    let room = columns.saturating_sub(right_width + 1);
    let (left, role) = match &model.notice {
        Some(notice) => (notice.text.clone(), notice.role),
        None => (hint(model), Role::Quiet),
    };
    canvas.text(0, y, &truncate(&left, room), role);
    if right_width < columns {
        canvas.spans(columns - right_width, y, right_width, &right);
    }
}

/// What stands at the right: the connection, open questions, the context and the cost.
fn facts(model: &Model) -> Vec<Span> {
    let mut parts: Vec<(String, Role)> = Vec::new();
    match model.link {
        LinkState::Connected => {}
        LinkState::Searching => parts.push(("looking for the daemon …".into(), Role::Warning)),
        LinkState::Ended => parts.push(("no daemon".into(), Role::Bad)),
    }
    let questions = model.cards.count();
    if questions > 0 {
        let word = if questions == 1 {
            "question"
        } else {
            "questions"
        };
        parts.push((format!("{questions} {word}"), Role::Warning));
    }
    if !model.captures_mouse {
        parts.push(("mouse free".into(), Role::Quiet));
    }
    if let Some(tokens) = model.context_tokens {
        parts.push((format!("{} in context", count(tokens)), Role::Quiet));
    }
    if model.cost.calls > 0 {
        let cost = model.cost.micro_dollars.map(dollars);
        let cost = cost.unwrap_or_else(|| "price unknown".to_owned());
        parts.push((cost, Role::Quiet));
    }
    let mut out = Vec::new();
    for (index, (text, role)) in parts.into_iter().enumerate() {
        if index > 0 {
            out.push(Span::new(" · ", Role::Quiet));
        }
        out.push(Span::new(text, role));
    }
    out
}

/// The keys that are of use now.
fn hint(model: &Model) -> String {
    let key = |action: Action| model.keymap.shown(action);
    if model.screen.is_list() {
        return model.screen.hint().to_owned();
    }
    if model.screen == Screen::Onboard {
        return "enter takes it · esc goes to the conversation".to_owned();
    }
    if let Some(search) = model.composer.search() {
        return format!("history: {}", search.query);
    }
    if model.search.is_some() {
        return "enter finds the one above · esc ends the search".to_owned();
    }
    if model.run.is_some() {
        return format!(
            "{} tells the run · {} sends after it · {} stops it",
            key(Action::Send),
            key(Action::Queue),
            key(Action::Escape)
        );
    }
    format!(
        "? help · {} actions · / commands · @ files",
        key(Action::Palette)
    )
}
