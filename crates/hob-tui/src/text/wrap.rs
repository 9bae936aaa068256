//! Breaks styled text into rows of a width, by grapheme clusters. Pure.
//!
//! Invariants: no row is wider than asked, unless a single grapheme is; without the spaces at breaks
//! the text is unchanged.

use super::{Row, Span, Tone, grapheme_width};
use unicode_segmentation::UnicodeSegmentation;

/// Where a row may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakAt {
    /// Between words, and inside a word that is wider than a row.
    Words,
    /// Anywhere: code and output, whose spaces matter.
    Anywhere,
}

/// One grapheme with its place in a row.
struct Piece<'t> {
    text: &'t str,
    columns: usize,
    tone: Tone,
}

/// Breaks the text into rows. A line break in a span ends a row.
pub fn wrap(spans: &[Span], columns: usize, at: BreakAt) -> Vec<Row> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    let mut line = LineInProgress::default();
    for span in spans {
        for text in span.text.graphemes(true) {
            if text == "\n" || text == "\r\n" {
                rows.push(line.end());
                line = LineInProgress::default();
                continue;
            }
            let piece = Piece {
                text,
                columns: grapheme_width(text),
                tone: span.tone,
            };
            line.push(piece, columns, at, &mut rows);
        }
    }
    rows.push(line.end());
    rows
}

#[derive(Default)]
struct LineInProgress<'t> {
    pieces: Vec<Piece<'t>>,
    columns: usize,
    /// The number of pieces before the last place where the row may be broken.
    break_at: Option<usize>,
    continues: bool,
}

impl<'t> LineInProgress<'t> {
    fn push(&mut self, piece: Piece<'t>, columns: usize, at: BreakAt, rows: &mut Vec<Row>) {
        let is_space = piece.text == " ";
        // What is left behind a break may still be too wide together with the next letter.
        while self.columns + piece.columns > columns && !self.pieces.is_empty() {
            if is_space && at == BreakAt::Words {
                // The break takes the space's place.
                rows.push(self.end_here());
                return;
            }
            let split = match at {
                BreakAt::Words => self.break_at.filter(|split| *split < self.pieces.len()),
                BreakAt::Anywhere => None,
            };
            let rest = split.map(|split| self.pieces.split_off(split));
            rows.push(self.end_here());
            self.pieces = rest.unwrap_or_default();
            self.columns = self.pieces.iter().map(|piece| piece.columns).sum();
        }
        // A space at the beginning of a continued row is part of the break.
        if is_space && self.continues && self.pieces.is_empty() && at == BreakAt::Words {
            return;
        }
        let is_wide = piece.columns > 1;
        if is_wide && !self.pieces.is_empty() {
            self.break_at = Some(self.pieces.len());
        }
        let breaks_after = is_space || is_wide || matches!(piece.text, "-" | "/" | "—");
        self.columns += piece.columns;
        self.pieces.push(piece);
        if breaks_after {
            self.break_at = Some(self.pieces.len());
        }
    }

    /// Ends the row where the next one continues.
    fn end_here(&mut self) -> Row {
        let next = LineInProgress {
            continues: true,
            ..LineInProgress::default()
        };
        std::mem::replace(self, next).end()
    }

    fn end(mut self) -> Row {
        while self.pieces.last().is_some_and(|piece| piece.text == " ") {
            self.pieces.pop();
        }
        let mut spans: Vec<Span> = Vec::new();
        for piece in self.pieces {
            match spans.last_mut() {
                Some(span) if span.tone == piece.tone => span.text.push_str(piece.text),
                _ => spans.push(Span::new(piece.text, piece.tone)),
            }
        }
        Row {
            spans,
            continues: self.continues,
        }
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
