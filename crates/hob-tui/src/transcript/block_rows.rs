//! How each kind of block looks. Pure. Everything that comes from outside is filtered here.

use super::call_rows;
use crate::markdown;
use crate::text::{BreakAt, Role, Row, Span, Tone, clean, clean_line, wrap};
use hob_wire::block::{Block, BlockContent, BlockKind, BlockStatus};
use hob_wire::content::Role as Author;

/// The columns left of a text.
const INDENT: &str = "  ";
/// The mark before a person's message.
const PERSON: &str = "❯ ";
/// The thinking that is seen while it is folded and still comes.
const THINKING_ROWS: usize = 2;

/// The rows of a block, with an empty row before it where it begins something.
pub(super) fn rows(block: &Block, columns: usize, is_unfolded: bool) -> Vec<Row> {
    let columns = columns.max(4);
    let room = columns - 2;
    let body = match block.kind {
        BlockKind::Text if block.details.role == Some(Author::User) => person_rows(block, room),
        BlockKind::Text => indented(markdown::rows(&block.text, room, is_open(block))),
        BlockKind::Thinking => thinking_rows(block, room, is_unfolded),
        BlockKind::ToolCall => call_rows::call(block, columns, is_unfolded),
        BlockKind::ToolOutput => return call_rows::output(block, columns, is_unfolded),
        BlockKind::Notice => notice_rows(block, room),
        // A card shows it; here it only says where.
        BlockKind::Question => marked("? ", &block.text, Role::Warning.into(), room),
    };
    let mut body = body;
    body.extend(image_rows(block));
    body.insert(0, Row::default());
    body
}

/// The block as text for another program.
pub(super) fn plain(block: &Block) -> String {
    match block.kind {
        BlockKind::Text if block.details.role == Some(Author::User) => {
            format!("\n{PERSON}{}\n", block.text.trim_end())
        }
        BlockKind::Text | BlockKind::Notice => format!("\n{}\n", block.text.trim_end()),
        BlockKind::Thinking | BlockKind::Question => String::new(),
        BlockKind::ToolCall => format!("\n{}\n", call_rows::summary(block)),
        BlockKind::ToolOutput => {
            let lines = block.text.lines().map(|line| format!("    {line}\n"));
            lines.collect()
        }
    }
}

pub(super) fn is_open(block: &Block) -> bool {
    block.status == BlockStatus::Open
}

/// Rows two columns to the right.
pub(super) fn indented(rows: Vec<Row>) -> Vec<Row> {
    let rows = rows.into_iter();
    rows.map(|row| row.behind(&[Span::new(INDENT, Role::Gutter)]))
        .collect()
}

/// Text behind a mark, which stands before its first row.
fn marked(mark: &str, text: &str, tone: Tone, room: usize) -> Vec<Row> {
    let rows = wrap(&[Span::new(clean(text), tone)], room, BreakAt::Words);
    let rows = rows.into_iter().enumerate();
    rows.map(|(index, row)| {
        let edge = if index == 0 { mark } else { INDENT };
        row.behind(&[Span::new(edge, Tone::from(Role::Gutter).bold())])
    })
    .collect()
}

fn person_rows(block: &Block, room: usize) -> Vec<Row> {
    let tone = Tone::from(Role::Plain).bold();
    marked(PERSON, block.text.trim_end(), tone, room)
}

fn notice_rows(block: &Block, room: usize) -> Vec<Row> {
    let code = match &block.details.content {
        Some(BlockContent::Notice { code }) => code.as_str(),
        _ => "note",
    };
    let role = match code {
        "note" | "answered" => Role::Quiet,
        "damaged" => Role::Bad,
        _ => Role::Warning,
    };
    marked("• ", &block.text, role.into(), room)
}

fn thinking_rows(block: &Block, room: usize, is_unfolded: bool) -> Vec<Row> {
    let text = clean(block.text.trim_end());
    let lines = wrap(&[Span::new(text, Role::Quiet)], room, BreakAt::Words);
    let title = match (is_open(block), is_unfolded) {
        (true, _) => "▾ Thinking …".to_owned(),
        (false, true) => "▾ Thought".to_owned(),
        (false, false) => format!("▸ Thought ({} lines)", lines.len()),
    };
    let mut out = vec![Row::single(title, Role::Quiet)];
    let shown = match (is_unfolded, is_open(block)) {
        (true, _) => lines.len(),
        (false, true) => THINKING_ROWS.min(lines.len()),
        (false, false) => 0,
    };
    let skipped = lines.len() - shown;
    out.extend(indented(lines.into_iter().skip(skipped).collect()));
    out
}

/// Images by their type: their data is in the history.
fn image_rows(block: &Block) -> Vec<Row> {
    let Some(BlockContent::Images { mime_types }) = &block.details.content else {
        return Vec::new();
    };
    let rows = mime_types.iter().map(|mime_type| {
        let text = format!("{INDENT}[{}]", clean_line(mime_type));
        Row::single(text, Role::Quiet)
    });
    rows.collect()
}
