//! How tool calls and their outputs look: one row folded, everything unfolded. Pure.

use super::block_rows::{indented, is_open};
use crate::diff;
use crate::text::{BreakAt, Role, Row, Span, Tone, clean, clean_line, truncate, wrap};
use hob_wire::block::{Block, BlockContent};
use hob_wire::work::ToolCallState;
use serde_json::Value;

/// The lines of an output that are seen while it is folded.
const FOLDED_LINES: usize = 5;
/// The most lines of an output, unfolded; the whole is in `hob run show`.
const UNFOLDED_LINES_MAX: usize = 2_000;
/// The most bytes of one line of an output.
const LINE_BYTES_MAX: usize = 4_096;
/// Arguments that say what a call is about, the best first.
const TELLING: [&str; 8] = [
    "command", "path", "query", "pattern", "url", "name", "task", "text",
];
/// Pairs of arguments that are a change of text.
const CHANGES: [(&str, &str); 2] = [("oldText", "newText"), ("old", "new")];

/// The call on one line: `exec cargo test`.
pub(super) fn summary(block: &Block) -> String {
    let (name, about, _) = parts(block);
    format!("{name} {about}").trim_end().to_owned()
}

fn parts(block: &Block) -> (String, String, ToolCallState) {
    match &block.details.content {
        Some(BlockContent::Call {
            name, call, state, ..
        }) => {
            let args = call.as_ref().map(|call| &call.args);
            let about = args.map_or_else(|| clean_line(&block.text), about);
            (clean_line(name), about, *state)
        }
        _ => (String::new(), clean_line(&block.text), ToolCallState::Asked),
    }
}

/// What a call is about, in a line.
fn about(args: &Value) -> String {
    let telling = TELLING.iter().find_map(|name| args.get(name)?.as_str());
    match (telling, args) {
        (Some(text), _) => clean_line(text),
        (None, Value::Object(map)) if map.is_empty() => String::new(),
        (None, _) => clean_line(&args.to_string()),
    }
}

pub(super) fn call(block: &Block, columns: usize, is_unfolded: bool) -> Vec<Row> {
    let (name, about, state) = parts(block);
    let (mark, role, word) = match state {
        ToolCallState::Asked => ("○ ", Role::Quiet, ""),
        ToolCallState::Begun => ("◐ ", Role::Accent, ""),
        ToolCallState::Done => ("● ", Role::Good, ""),
        ToolCallState::Denied => ("✗ ", Role::Bad, " denied"),
        ToolCallState::InDoubt => ("? ", Role::Warning, " in doubt"),
        ToolCallState::Cancelled => ("– ", Role::Quiet, " cancelled"),
    };
    let room = columns.saturating_sub(crate::text::width(&name) + word.len() + 3);
    let mut out = vec![Row::of(vec![
        Span::new(mark, role),
        Span::new(format!("{name} "), Tone::from(Role::Heading).bold()),
        Span::plain(truncate(&about, room)),
        Span::new(word, role),
    ])];
    let Some(BlockContent::Call { call, denial, .. }) = &block.details.content else {
        return out;
    };
    if let Some(denial) = denial {
        let reason = Span::new(clean(&denial.reason), Role::Bad);
        out.extend(indented(wrap(&[reason], columns - 2, BreakAt::Words)));
    }
    if is_unfolded && let Some(call) = call {
        out.extend(indented(argument_rows(&call.args, columns - 2)));
    }
    out
}

/// The arguments: a change of text as a diff, a text as its lines, the rest as JSON.
fn argument_rows(args: &Value, columns: usize) -> Vec<Row> {
    let Value::Object(map) = args else {
        let text = clean(&args.to_string());
        return wrap(&[Span::plain(text)], columns, BreakAt::Anywhere);
    };
    let mut out = Vec::new();
    let text_of = |name: &str| map.get(name).and_then(Value::as_str);
    let change = CHANGES.iter().find_map(|(old, new)| {
        let both = (text_of(old)?, text_of(new)?);
        Some(((*old, *new), both))
    });
    for (name, value) in map {
        if change.is_some_and(|((old, new), _)| name == old || name == new) {
            continue;
        }
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let is_long = value.contains('\n');
        let name = format!("{}: {}", clean_line(name), if is_long { "\n" } else { "" });
        let spans = [
            Span::new(name, Role::Quiet),
            Span::plain(bounded(&value, UNFOLDED_LINES_MAX).0),
        ];
        out.extend(wrap(&spans, columns, BreakAt::Anywhere));
    }
    if let Some((_, (old, new))) = change {
        let signed = |sign: char, text: &str| -> String {
            let lines: Vec<String> = text.lines().map(|line| format!("{sign}{line}")).collect();
            lines.join("\n")
        };
        let text = format!("{}\n{}", signed('-', old), signed('+', new));
        out.extend(diff::rows(&bounded(&text, UNFOLDED_LINES_MAX).0, columns));
    }
    out
}

pub(super) fn output(block: &Block, columns: usize, is_unfolded: bool) -> Vec<Row> {
    let (is_error, mime_types) = match &block.details.content {
        Some(BlockContent::Output {
            is_error,
            mime_types,
            ..
        }) => (*is_error, mime_types.as_slice()),
        _ => (false, &[][..]),
    };
    let text = block.text.trim_end();
    let count = text.lines().count();
    let lines_max = if is_unfolded {
        UNFOLDED_LINES_MAX
    } else {
        FOLDED_LINES
    };
    let (text, left_out) = if is_open(block) && !is_unfolded {
        // What comes now is more telling than how it began.
        let skipped = count.saturating_sub(lines_max);
        let last: Vec<&str> = text.lines().skip(skipped).collect();
        (bounded(&last.join("\n"), lines_max).0, skipped)
    } else {
        bounded(text, lines_max)
    };
    let room = columns.saturating_sub(4).max(1);
    let role = if is_error { Role::Bad } else { Role::Quiet };
    let mut out = if text.is_empty() {
        Vec::new()
    } else if diff::is_diff(&text) {
        diff::rows(&text, room)
    } else {
        wrap(&[Span::new(text, role)], room, BreakAt::Anywhere)
    };
    // A folded output is short, however long its lines are.
    if !is_unfolded && out.len() > 2 * FOLDED_LINES {
        out.truncate(2 * FOLDED_LINES);
    }
    if left_out > 0 {
        let place = if is_open(block) { "earlier" } else { "more" };
        let line = format!("… {left_out} {place} lines");
        let row = Row::single(line, Role::Quiet);
        if is_open(block) {
            out.insert(0, row);
        } else {
            out.push(row);
        }
    }
    for mime_type in mime_types {
        out.push(Row::single(
            format!("[{}]", clean_line(mime_type)),
            Role::Quiet,
        ));
    }
    let rows = out.into_iter().enumerate();
    rows.map(|(index, row)| {
        let edge = if index == 0 { "  └ " } else { "    " };
        row.behind(&[Span::new(edge, Role::Gutter)])
    })
    .collect()
}

/// The first lines of a text, filtered, and how many were left out. Long lines are cut.
fn bounded(text: &str, lines_max: usize) -> (String, usize) {
    let count = text.lines().count();
    let lines = text.lines().take(lines_max).map(|line| {
        let end = line.floor_char_boundary(LINE_BYTES_MAX.min(line.len()));
        clean_line(&line[..end])
    });
    let lines: Vec<String> = lines.collect();
    (lines.join("\n"), count.saturating_sub(lines_max))
}
