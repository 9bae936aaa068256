//! Word wrap of streamed text. Pure.
//!
//! Invariants: the output equals the input, except for line breaks that replace spaces and the
//! indentation after them; code and tables are never wrapped; at most one word is held back.

use crate::render::text::{replace_hidden, width};

/// The characters at the start of a line that decide how it is wrapped.
const HEAD_LETTERS_MAX: usize = 12;
/// The least columns for wrapping.
const COLUMNS_MIN: usize = 20;

/// The wrapping state of one text.
#[derive(Clone, Debug, Default)]
pub struct StreamWrapper {
    /// `None` without a terminal: the text then passes unchanged.
    columns: Option<usize>,
    column: usize,
    word: String,
    /// Spaces before `word`.
    gap: usize,
    /// The start of the current input line.
    head: String,
    fenced: bool,
}

impl StreamWrapper {
    pub fn new(columns: Option<usize>) -> Self {
        StreamWrapper {
            columns: columns.filter(|columns| *columns >= COLUMNS_MIN),
            ..StreamWrapper::default()
        }
    }

    /// Wraps the next piece and returns the text to print.
    pub fn push(&mut self, piece: &str) -> String {
        let piece = replace_hidden(piece);
        let mut out = String::with_capacity(piece.len() + 8);
        for letter in piece.chars() {
            self.letter(letter, &mut out);
        }
        out
    }

    /// Returns the word that was held back.
    pub fn rest(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        self.gap = 0;
        out
    }

    /// Returns the rest, and a line break unless the cursor is at the start of a line.
    pub fn end_line(&mut self) -> String {
        let mut out = self.rest();
        if self.column > 0 {
            out.push('\n');
            self.next_line();
        }
        out
    }

    /// Returns true when the current line is empty.
    pub fn is_at_line_start(&self) -> bool {
        self.column == 0 && self.word.is_empty()
    }

    fn letter(&mut self, letter: char, out: &mut String) {
        if letter == '\n' {
            self.end_word(out);
            self.gap = 0;
            out.push('\n');
            if self.head.trim_start().starts_with("```") {
                self.fenced = !self.fenced;
            }
            return self.next_line();
        }
        if self.head.chars().count() < HEAD_LETTERS_MAX {
            self.head.push(letter);
        }
        if self.columns.is_none() || self.is_verbatim() {
            self.end_word(out);
            self.column += width(letter.encode_utf8(&mut [0; 4])).max(1);
            out.push(letter);
        } else if letter == ' ' {
            self.end_word(out);
            self.gap += 1;
        } else {
            self.word.push(letter);
        }
    }

    /// Writes the held word on this line, or on the next if it does not fit.
    fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            if self.is_verbatim() || self.columns.is_none() {
                out.push_str(&" ".repeat(std::mem::take(&mut self.gap)));
            }
            return;
        }
        let word = std::mem::take(&mut self.word);
        let wide = width(&word);
        let columns = self.columns.unwrap_or(usize::MAX);
        if self.column > 0 && self.column + self.gap + wide > columns {
            out.push('\n');
            // At most half the width: a deep list must leave room for its text.
            let indent = self.indent().min(columns / 2);
            out.push_str(&" ".repeat(indent));
            self.column = indent;
        } else {
            out.push_str(&" ".repeat(self.gap));
            self.column += self.gap;
        }
        self.gap = 0;
        out.push_str(&word);
        self.column += wide;
    }

    fn next_line(&mut self) {
        self.column = 0;
        self.head.clear();
    }

    /// Returns true inside code and tables, which keep their lines.
    fn is_verbatim(&self) -> bool {
        let head = self.head.as_str();
        self.fenced
            || head.starts_with("    ")
            || head.starts_with(['\t', '|'])
            || head.trim_start().starts_with("```")
    }

    /// The indentation of the second and later lines of a paragraph or list item.
    fn indent(&self) -> usize {
        let spaces = self.head.len() - self.head.trim_start_matches(' ').len();
        let rest = &self.head[spaces..];
        let marker = rest.split(' ').next().unwrap_or_default();
        let number = marker.strip_suffix(['.', ')']).unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_marker = is_number || matches!(marker, "-" | "*" | "+" | "•");
        if is_marker && rest.len() > marker.len() {
            spaces + width(marker) + 1
        } else {
            spaces
        }
    }
}

#[cfg(test)]
#[path = "stream_wrapper_tests.rs"]
mod tests;
