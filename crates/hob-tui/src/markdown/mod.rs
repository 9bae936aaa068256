//! Markdown as rows of a width. Pure. The text is filtered before it is read, so nothing in it gives
//! orders to the terminal.
//!
//! Invariants: any text gives rows that fit the width; a text beyond [`MARKDOWN_BYTES_MAX`] is shown
//! as it is.

mod block_writer;
mod table;

use crate::text::{BreakAt, Role, Row, Span, clean, wrap};
use block_writer::BlockWriter;
use pulldown_cmark::{Options, Parser};

/// The longest text that is read as Markdown.
const MARKDOWN_BYTES_MAX: usize = 256 * 1_024;

/// Lays the text out. While it is open, a table in it is shown as it is written: columns that move
/// with each row are hard to read.
pub fn rows(text: &str, columns: usize, is_open: bool) -> Vec<Row> {
    let text = clean(text);
    let text = text.trim_end_matches('\n');
    if text.len() > MARKDOWN_BYTES_MAX || (is_open && begins_table(text)) {
        return wrap(&[Span::plain(text)], columns, BreakAt::Words);
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = BlockWriter::new(columns);
    for event in Parser::new_ext(text, options) {
        writer.write(event);
    }
    writer.finish()
}

fn begins_table(text: &str) -> bool {
    text.trim_start().starts_with('|')
}

/// The rows of a fenced block.
fn code_rows(language: &str, text: &str, columns: usize) -> Vec<Row> {
    let language = language.split([',', ' ']).next().unwrap_or_default();
    let mut out = Vec::new();
    if !language.is_empty() {
        out.push(Row::single(language, Role::Quiet));
    }
    let text = text.trim_end_matches('\n');
    if language == "diff" || language == "patch" {
        out.extend(crate::diff::rows(text, columns));
    } else {
        out.extend(wrap(
            &[Span::new(text, Role::Code)],
            columns,
            BreakAt::Anywhere,
        ));
    }
    out
}

#[cfg(test)]
#[path = "../markdown_tests.rs"]
mod tests;
