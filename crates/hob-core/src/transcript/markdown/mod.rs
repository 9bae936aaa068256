//! Splits a streamed Markdown text at its top-level blocks.
//!
//! A boundary is reported where the next top-level block begins: everything before it can no longer
//! change. Text is released as soon as it is known which side of a boundary it is on; only the first
//! characters of a line are ever held back, and a line that may be HTML or a fence as a whole.
//!
//! Invariants: the released pieces joined are the text; however the text is cut into pushes, the
//! boundaries are the same; a boundary is never inside a fence, a list, a table or an HTML block.
//! Link reference definitions act within their own block only.

mod line_start;
mod structure;

use structure::BlockStructure;

/// A piece of the split text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPiece {
    /// The text before it is complete blocks; the text after it begins another one.
    Boundary,
    Text(String),
}

/// The state of one streamed text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkdownSplitter {
    structure: BlockStructure,
    /// The current line so far.
    line: String,
    /// The side of the current line is known; what comes of it is released at once.
    decided: bool,
    /// A block has begun.
    begun: bool,
}

impl MarkdownSplitter {
    /// Adds a piece of the text.
    pub fn push(&mut self, text: &str, out: &mut Vec<TextPiece>) {
        for part in text.split_inclusive('\n') {
            let known = self.line.len();
            self.line.push_str(part);
            if let Some(line) = part.ends_with('\n').then(|| without_end(&self.line)) {
                let begins = self.structure.push_line(line);
                self.release(Some(begins), known, out);
                self.line.clear();
                self.decided = false;
            } else if self.decided {
                self.release(None, known, out);
            } else if let Some(begins) = self.structure.begins_block(without_end(&self.line)) {
                self.release(Some(begins), known, out);
            }
        }
    }

    /// Ends the text and releases what was held back.
    pub fn finish(&mut self, out: &mut Vec<TextPiece>) {
        if !self.decided && !self.line.is_empty() {
            let begins = self.structure.push_line(without_end(&self.line));
            self.release(Some(begins), 0, out);
        }
        *self = MarkdownSplitter::default();
    }

    /// Releases the current line from the byte `known` on, or whole if it was held back.
    fn release(&mut self, begins: Option<bool>, known: usize, out: &mut Vec<TextPiece>) {
        let held = !self.decided;
        if held && begins == Some(true) {
            if self.begun {
                out.push(TextPiece::Boundary);
            }
            self.begun = true;
        }
        self.decided = true;
        let from = if held { 0 } else { known };
        let text = self.line.get(from..).unwrap_or_default();
        match out.last_mut() {
            Some(TextPiece::Text(last)) => last.push_str(text),
            _ => out.push(TextPiece::Text(text.to_owned())),
        }
    }
}

/// The line without its end.
fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
