//! Text that arrives in pieces, broken between words to fit a terminal. Pure.
//!
//! Invariants: apart from line breaks that replace spaces, and the indentation after them, what
//! comes out is what went in; code and tables are never broken; at most one word is held back.

use crate::render::words::{harmless, width};

/// Letters of a line's beginning that decide how it is broken.
const HEAD_LETTERS_MAX: usize = 12;
/// Below this, breaking helps nobody.
const COLUMNS_MIN: usize = 20;

/// The state of one text on its way to the screen.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// None when the reader is not a terminal: text then passes as it is.
    columns: Option<usize>,
    column: usize,
    word: String,
    /// Spaces before `word`.
    gap: usize,
    /// How the present line of the text begins.
    head: String,
    fenced: bool,
}

impl Flow {
    pub fn new(columns: Option<usize>) -> Self {
        Flow {
            columns: columns.filter(|columns| *columns >= COLUMNS_MIN),
            ..Flow::default()
        }
    }

    /// What to print for the next piece.
    pub fn push(&mut self, piece: &str) -> String {
        let piece = harmless(piece);
        let mut out = String::with_capacity(piece.len() + 8);
        for letter in piece.chars() {
            self.letter(letter, &mut out);
        }
        out
    }

    /// What was held back.
    pub fn rest(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        self.gap = 0;
        out
    }

    /// The rest, and a line break unless the cursor stands at the beginning of a line.
    pub fn end_line(&mut self) -> String {
        let mut out = self.rest();
        if self.column > 0 {
            out.push('\n');
            self.next_line();
        }
        out
    }

    /// Whether nothing stands on the present line.
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

    /// Puts the held word on this line, or on the next if it does not fit.
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

    /// Code and tables keep their lines.
    fn is_verbatim(&self) -> bool {
        let head = self.head.as_str();
        self.fenced
            || head.starts_with("    ")
            || head.starts_with(['\t', '|'])
            || head.trim_start().starts_with("```")
    }

    /// Where the lines after the first of a paragraph or list item begin.
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
#[path = "flow_tests.rs"]
mod tests;
