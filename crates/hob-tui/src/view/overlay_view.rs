//! The palette and the help, over the screen.

use super::body;
use super::canvas::{Area, Canvas};
use crate::actions::{ACTIONS, Context, Keymap};
use crate::model::{Model, Overlay, palette_rows};
use crate::text::{Role, Row, Span, Tone, fit, truncate, width};

/// The most columns of an overlay.
const COLUMNS_MAX: usize = 90;
/// The columns of keys in the help.
const KEY_COLUMNS: usize = 24;

/// Draws the overlay, if there is one; returns the caret's place.
pub(super) fn draw(model: &mut Model, canvas: &mut Canvas<'_>) -> Option<(usize, usize)> {
    let body = body(canvas);
    let columns = body.columns.saturating_sub(4).min(COLUMNS_MAX);
    let area = Area {
        x: (body.columns - columns) / 2,
        y: body.y,
        columns,
        rows: body.rows,
    };
    let keymap = model.keymap.clone();
    match model.overlay.as_mut()? {
        Overlay::Palette { query, chosen } => {
            Some(draw_palette(canvas, area, &keymap, (query, *chosen)))
        }
        Overlay::Help { scroll } => {
            let rows = help_rows(&keymap, columns.saturating_sub(4));
            let height = area.rows.saturating_sub(2);
            *scroll = (*scroll).min(rows.len().saturating_sub(height));
            canvas.frame(
                area,
                "Keys and commands · any other key closes",
                Role::Quiet,
            );
            for (index, row) in rows.iter().skip(*scroll).take(height).enumerate() {
                canvas.row(
                    area.x + 2,
                    area.y + 1 + index,
                    columns.saturating_sub(4),
                    row,
                );
            }
            Some((area.x + 2, area.y + 1))
        }
    }
}

fn draw_palette(
    canvas: &mut Canvas<'_>,
    area: Area,
    keymap: &Keymap,
    (query, chosen): (&str, usize),
) -> (usize, usize) {
    let specs = palette_rows(query);
    let rows = (specs.len() + 3).min(area.rows).max(4);
    let area = Area { rows, ..area };
    canvas.frame(area, "Actions", Role::Accent);
    let (x, inner) = (area.x + 2, area.columns.saturating_sub(4));
    let taken = canvas.text(x, area.y + 1, "❯ ", Role::Accent);
    let typed = canvas.spans(x + taken, area.y + 1, inner - taken, &[Span::plain(query)]);
    let height = area.rows - 3;
    let first = (chosen + 1).saturating_sub(height);
    for (place, spec) in specs.iter().skip(first).take(height).enumerate() {
        let y = area.y + 2 + place;
        let key = keymap.shown(spec.action);
        let slash = spec.slash.map(|slash| format!("/{slash}"));
        let right = [slash, Some(key)].into_iter().flatten();
        let right: Vec<String> = right.filter(|text| !text.is_empty()).collect();
        let right = truncate(&right.join("  "), inner / 2);
        let title = truncate(spec.title, inner.saturating_sub(width(&right) + 1));
        canvas.spans(x, y, inner, &[Span::plain(title)]);
        canvas.text(x + inner - width(&right), y, &right, Role::Quiet);
        if first + place == chosen {
            canvas.tint(x, y, inner, Role::Selected);
        }
    }
    (x + taken + typed, area.y + 1)
}

/// The table of actions, by place.
fn help_rows(keymap: &Keymap, columns: usize) -> Vec<Row> {
    let contexts = [
        Context::Everywhere,
        Context::Composer,
        Context::Chat,
        Context::Card,
        Context::List,
    ];
    let mut out = Vec::new();
    for context in contexts {
        if !out.is_empty() {
            out.push(Row::default());
        }
        out.push(Row::single(context.title(), Tone::from(Role::Heading)));
        for spec in ACTIONS.iter().filter(|spec| spec.context == context) {
            let keys: Vec<String> = keymap
                .keys_of(spec.action)
                .iter()
                .map(ToString::to_string)
                .collect();
            let slash = spec.slash.map(|slash| format!("/{slash}"));
            let names: Vec<String> = keys.into_iter().chain(slash).collect();
            let names = fit(&names.join(" "), KEY_COLUMNS.min(columns / 2));
            out.push(Row::of(vec![
                Span::new(names, Role::Accent),
                Span::plain(format!(" {}", spec.title)),
            ]));
        }
    }
    out
}
