//! The title of a session: the first words of a message. Pure.
//!
//! Invariant: a title is one line of at most [`TITLE_CHARS_MAX`] characters.

use hob_wire::content::{ContentPart, MessageContent};

/// The most characters of a title, with the mark of an omission.
pub const TITLE_CHARS_MAX: usize = 60;
/// The most bytes of a message that are looked at; the first line with words is near its beginning.
const LOOKED_AT_BYTES_MAX: usize = 4_096;

/// Returns the title that a message gives its session; `None` without words.
pub fn title(content: &MessageContent) -> Option<String> {
    let text = match content {
        MessageContent::Text(text) => text,
        MessageContent::Parts(parts) => parts.iter().find_map(|part| match part {
            ContentPart::Text { text } if !text.trim().is_empty() => Some(text),
            _ => None,
        })?,
    };
    let head = &text[..text.floor_char_boundary(LOOKED_AT_BYTES_MAX)];
    let line = head.lines().find(|line| !line.trim().is_empty())?;
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(shortened(&words))
}

/// Shortens a line after a word, or within the first word if that is too long.
fn shortened(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(TITLE_CHARS_MAX) else {
        return line.to_owned();
    };
    // One character is for the mark.
    let room = line[..end].char_indices().next_back();
    let head = &line[..room.map_or(0, |(last, _)| last)];
    let head = head.rsplit_once(' ').map_or(head, |(words, _)| words);
    format!("{head}…")
}

#[cfg(test)]
#[path = "session_title_tests.rs"]
mod tests;
