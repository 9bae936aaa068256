//! Filters the output of a terminal command on its way to stdout. Pure: it returns the text to write.
//!
//! On a screen the text passes through with its carriage returns, so that a progress bar stays one
//! line. For a program each line is written once, as it is when it ends. Invariant: only newlines,
//! tabs and, on a screen, carriage returns move the cursor.

use crate::render::text::replace_hidden;
use hob_core::terminal::escape_stripper::EscapeStripper;

/// The bytes of an unfinished line that are held back for a program.
const LINE_CHARS_MAX: usize = 64 * 1024;

#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about the screen and the current line"
)]
pub(super) struct OutputFilter {
    /// Stdout is a terminal.
    is_screen: bool,
    /// The unfinished line, held back for a program.
    line: String,
    /// A carriage return was read; a newline may follow.
    returned: bool,
    has_output: bool,
    plain: EscapeStripper,
    /// The last line has text and no newline yet.
    is_open: bool,
}

impl OutputFilter {
    pub(super) fn new(is_screen: bool) -> OutputFilter {
        OutputFilter {
            is_screen,
            ..OutputFilter::default()
        }
    }

    /// Returns true if anything was received.
    pub(super) fn has_output(&self) -> bool {
        self.has_output
    }

    /// Takes bytes of the recording; returns the text to write.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> String {
        let text = self.plain.feed(bytes);
        self.push(&text)
    }

    /// Takes a piece of output; returns the text to write.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.has_output |= !text.is_empty();
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            self.push_char(letter, &mut out);
        }
        // A line without an end must not grow without bound.
        if self.line.len() > LINE_CHARS_MAX {
            out.push_str(&std::mem::take(&mut self.line));
        }
        out
    }

    fn push_char(&mut self, letter: char, out: &mut String) {
        let returned = std::mem::take(&mut self.returned);
        match letter {
            '\n' => {
                out.push_str(&std::mem::take(&mut self.line));
                out.push('\n');
                self.is_open = false;
            }
            // Held back, because `\r\n` is a plain line end.
            '\r' => {
                self.returned = true;
            }
            other => {
                if returned {
                    self.restart_line(out);
                }
                let shown = replace_hidden(other.encode_utf8(&mut [0; 4]));
                self.is_open = true;
                if self.is_screen {
                    out.push_str(&shown);
                } else {
                    self.line.push_str(&shown);
                }
            }
        }
    }

    /// Starts to overwrite the line.
    fn restart_line(&mut self, out: &mut String) {
        if self.is_screen {
            out.push('\r');
        } else {
            self.line.clear();
        }
    }

    /// Returns the rest at the end. On a screen it ends the last line, so that the shell's prompt
    /// starts on a new one.
    pub(super) fn finish(&mut self) -> String {
        let mut out = std::mem::take(&mut self.line);
        if self.is_screen && std::mem::take(&mut self.is_open) {
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
#[path = "output_filter_tests.rs"]
mod tests;
