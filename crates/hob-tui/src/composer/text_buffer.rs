//! Text with a caret, changed as readline does. Pure.
//!
//! Invariant: the caret is at a boundary of graphemes of the text.

use crate::text::grapheme_width;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextBuffer {
    text: String,
    /// The byte before which the caret stands.
    caret: usize,
    /// What was cut last.
    cut: String,
    /// The column that moves up and down aim at.
    goal: Option<usize>,
}

/// A row of the text as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRow {
    pub start: usize,
    pub end: usize,
}

impl TextBuffer {
    pub fn with_text(text: &str) -> TextBuffer {
        TextBuffer {
            text: text.to_owned(),
            caret: text.len(),
            ..TextBuffer::default()
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn caret(&self) -> usize {
        self.caret
    }

    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.caret, text);
        self.caret += text.len();
        self.settle();
    }

    /// Replaces the bytes before the caret.
    pub fn replace_before(&mut self, bytes: usize, text: &str) {
        let start = self.caret.saturating_sub(bytes);
        if self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.caret, text);
            self.caret = start + text.len();
            self.settle();
        }
    }

    pub fn left(&mut self) {
        self.caret = self.boundary_before();
        self.goal = None;
    }

    pub fn right(&mut self) {
        self.caret = self.boundary_after();
        self.goal = None;
    }

    pub fn word_left(&mut self) {
        self.caret = self.word_before();
        self.goal = None;
    }

    pub fn word_right(&mut self) {
        self.caret = self.word_after();
        self.goal = None;
    }

    pub fn line_start(&mut self) {
        self.caret = self.text[..self.caret].rfind('\n').map_or(0, |at| at + 1);
        self.goal = None;
    }

    pub fn line_end(&mut self) {
        let end = self.text[self.caret..].find('\n');
        self.caret = end.map_or(self.text.len(), |at| self.caret + at);
        self.goal = None;
    }

    pub fn delete_left(&mut self) {
        let start = self.boundary_before();
        self.text.replace_range(start..self.caret, "");
        self.caret = start;
        self.settle();
    }

    pub fn delete_right(&mut self) {
        let end = self.boundary_after();
        self.text.replace_range(self.caret..end, "");
        self.settle();
    }

    pub fn cut_word_left(&mut self) {
        self.cut_range(self.word_before(), self.caret);
    }

    pub fn cut_word_right(&mut self) {
        self.cut_range(self.caret, self.word_after());
    }

    pub fn cut_to_end(&mut self) {
        let end = self.text[self.caret..].find('\n');
        let end = match end {
            // At the end of a line its break is cut.
            Some(0) => self.caret + 1,
            Some(at) => self.caret + at,
            None => self.text.len(),
        };
        self.cut_range(self.caret, end);
    }

    pub fn cut_to_start(&mut self) {
        let start = self.text[..self.caret].rfind('\n').map_or(0, |at| at + 1);
        self.cut_range(start, self.caret);
    }

    pub fn yank(&mut self) {
        let cut = self.cut.clone();
        self.insert(&cut);
    }

    /// Moves a row up; returns false on the first row.
    pub fn up(&mut self, columns: usize) -> bool {
        self.move_row(columns, true)
    }

    /// Moves a row down; returns false on the last row.
    pub fn down(&mut self, columns: usize) -> bool {
        self.move_row(columns, false)
    }

    /// The text in rows of a width. Always at least one.
    pub fn rows(&self, columns: usize) -> Vec<BufferRow> {
        let columns = columns.max(2);
        let mut rows = Vec::new();
        let (mut start, mut taken) = (0, 0);
        for (at, grapheme) in self.text.grapheme_indices(true) {
            if grapheme == "\n" {
                rows.push(BufferRow { start, end: at });
                (start, taken) = (at + 1, 0);
                continue;
            }
            let wide = grapheme_width(grapheme);
            if taken + wide > columns {
                rows.push(BufferRow { start, end: at });
                (start, taken) = (at, 0);
            }
            taken += wide;
        }
        let end = self.text.len();
        rows.push(BufferRow { start, end });
        // The caret behind a full last row stands on a row of its own.
        if taken >= columns {
            rows.push(BufferRow { start: end, end });
        }
        rows
    }

    /// The row and the column of the caret.
    pub fn caret_place(&self, columns: usize) -> (usize, usize) {
        let rows = self.rows(columns);
        let row = rows.iter().rposition(|row| row.start <= self.caret);
        let row = row.unwrap_or(0);
        let start = rows.get(row).map_or(0, |row| row.start);
        (row, crate::text::width(&self.text[start..self.caret]))
    }

    fn move_row(&mut self, columns: usize, is_up: bool) -> bool {
        let rows = self.rows(columns);
        let (row, column) = self.caret_place(columns);
        let target = if is_up {
            row.checked_sub(1)
        } else {
            Some(row + 1)
        };
        let Some(target) = target.and_then(|target| rows.get(target)) else {
            return false;
        };
        let goal = self.goal.unwrap_or(column);
        let mut taken = 0;
        self.caret = target.end;
        for (at, grapheme) in self.text[target.start..target.end].grapheme_indices(true) {
            if taken >= goal {
                self.caret = target.start + at;
                break;
            }
            taken += grapheme_width(grapheme);
        }
        self.goal = Some(goal);
        true
    }

    fn cut_range(&mut self, start: usize, end: usize) {
        if start < end {
            self.text[start..end].clone_into(&mut self.cut);
            self.text.replace_range(start..end, "");
            self.caret = start;
        }
        self.settle();
    }

    /// Moves the caret to a boundary: an insertion may have joined it with its neighbours.
    fn settle(&mut self) {
        self.goal = None;
        let mut cursor = GraphemeCursor::new(self.caret, self.text.len(), true);
        if !cursor.is_boundary(&self.text, 0).unwrap_or(true) {
            self.caret = self.boundary_after();
        }
    }

    fn boundary_before(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.caret, self.text.len(), true);
        let found = cursor.prev_boundary(&self.text, 0);
        found.ok().flatten().unwrap_or(0)
    }

    fn boundary_after(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.caret, self.text.len(), true);
        let found = cursor.next_boundary(&self.text, 0);
        found.ok().flatten().unwrap_or(self.text.len())
    }

    fn word_before(&self) -> usize {
        let words = self.text[..self.caret].split_word_bound_indices();
        let word = words.rev().find(|(_, word)| !word.trim().is_empty());
        word.map_or(0, |(at, _)| at)
    }

    fn word_after(&self) -> usize {
        let words = self.text[self.caret..].split_word_bound_indices();
        let mut words = words.skip_while(|(_, word)| word.trim().is_empty());
        let word = words.next();
        word.map_or(self.text.len(), |(at, word)| self.caret + at + word.len())
    }
}
