//! Filters the output of a terminal command on its way to stdout. Pure: it returns the text to write.
//!
//! On a screen the text passes through with its carriage returns, so that a progress bar stays one
//! line. For a program each line is written once, as it is when it ends. Invariant: only newlines,
//! tabs and, on a screen, carriage returns move the cursor.

use crate::render::text::replace_hidden;

/// The bytes of an unfinished line that are held back for a program.
const LINE_CHARS_MAX: usize = 64 * 1024;

/// The bytes of the output's end that are remembered: as many as the store keeps of a command's
/// output.
const TAIL_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct OutputFilter {
    /// Stdout is a terminal.
    is_screen: bool,
    /// The unfinished line, held back for a program.
    line: String,
    /// A carriage return was read; a newline may follow.
    returned: bool,
    /// The bytes received.
    printed: usize,
    /// The last bytes received.
    tail: String,
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

    /// Returns true if anything was printed.
    pub(super) fn has_output(&self) -> bool {
        self.printed > 0
    }

    /// Returns true if the output so far ends with this line.
    pub(super) fn ends_with_line(&self, line: &str) -> bool {
        self.tail.trim_end().ends_with(line)
    }

    /// Returns the part of the whole output that was not printed yet; `None` if that is unknown.
    pub(super) fn unprinted_rest<'o>(&self, output: &'o str) -> Option<&'o str> {
        let is_whole = self.printed == self.tail.len();
        let printed = self.tail.replace("\r\n", "\n");
        is_whole.then(|| output.strip_prefix(&printed)).flatten()
    }

    /// Takes a piece of output; returns the text to write.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.printed = self.printed.saturating_add(text.len());
        self.tail.push_str(text);
        let cut = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..self.tail.ceil_char_boundary(cut));
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
