//! What a command in a terminal prints, on its way to stdout. Pure: it says what to write.
//!
//! On a screen the text goes as it comes, with its returns, so that a progress bar stays one line.
//! For a program a line is what is left of it when it ends. Invariant: nothing but newlines, tabs
//! and, on a screen, returns moves the cursor.

use crate::render::words::harmless;

/// Letters of a line without end that are kept for a program before they are handed on.
const LINE_CHARS_MAX: usize = 64 * 1024;

/// Bytes at the end that are remembered: as many as the record keeps of what a command prints.
const TAIL_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Printing {
    /// Whether a person looks.
    is_screen: bool,
    /// The line that has not ended, for a program.
    line: String,
    /// A return whose line's end may follow.
    returned: bool,
    /// Bytes that were printed.
    printed: usize,
    /// The last of them.
    tail: String,
    /// Whether the last line has ended.
    is_open: bool,
}

impl Printing {
    pub(super) fn new(is_screen: bool) -> Printing {
        Printing {
            is_screen,
            ..Printing::default()
        }
    }

    /// Whether anything was printed.
    pub(super) fn has_any(&self) -> bool {
        self.printed > 0
    }

    /// Whether the last that was printed is this line.
    pub(super) fn has_last(&self, line: &str) -> bool {
        self.tail.trim_end().ends_with(line)
    }

    /// What is left of the whole output behind what was printed; none where that is not known.
    pub(super) fn rest_of<'o>(&self, output: &'o str) -> Option<&'o str> {
        let is_whole = self.printed == self.tail.len();
        let printed = self.tail.replace("\r\n", "\n");
        is_whole.then(|| output.strip_prefix(&printed)).flatten()
    }

    /// What to write for this piece.
    pub(super) fn take(&mut self, text: &str) -> String {
        self.printed = self.printed.saturating_add(text.len());
        self.tail.push_str(text);
        let cut = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..self.tail.ceil_char_boundary(cut));
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            self.letter(letter, &mut out);
        }
        if self.line.len() > LINE_CHARS_MAX {
            out.push_str(&std::mem::take(&mut self.line));
        }
        out
    }

    fn letter(&mut self, letter: char, out: &mut String) {
        let returned = std::mem::take(&mut self.returned);
        match letter {
            '\n' => {
                out.push_str(&std::mem::take(&mut self.line));
                out.push('\n');
                self.is_open = false;
            }
            '\r' => {
                self.returned = true;
            }
            other => {
                if returned {
                    self.begin_again(out);
                }
                let shown = harmless(other.encode_utf8(&mut [0; 4]));
                self.is_open = true;
                if self.is_screen {
                    out.push_str(&shown);
                } else {
                    self.line.push_str(&shown);
                }
            }
        }
    }

    /// The line is written over.
    fn begin_again(&mut self, out: &mut String) {
        if self.is_screen {
            out.push('\r');
        } else {
            self.line.clear();
        }
    }

    /// What is left at the end; a person's prompt begins on a line of its own.
    pub(super) fn end(&mut self) -> String {
        let mut out = std::mem::take(&mut self.line);
        if self.is_screen && std::mem::take(&mut self.is_open) {
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
#[path = "printing_tests.rs"]
mod tests;
