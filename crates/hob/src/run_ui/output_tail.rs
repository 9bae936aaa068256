//! The last few lines that running tools print, redrawn in place. Pure: it returns the text to
//! write.
//!
//! Invariants: only its own drawing moves the cursor; its memory is bounded.

use crate::render::text::{group_thousands, prose_line, truncate};
use crate::render::{ScreenStyle, TextTone};
use std::collections::{BTreeMap, VecDeque};

/// The most lines shown.
const LINES_MAX: usize = 6;
/// The most characters kept of one line, whatever the screen's width.
const LINE_CHARS_MAX: usize = 1_000;
/// The most calls and streams with an unfinished line.
const CALLS_MAX: usize = 16;

/// The output lines on the screen and the unfinished lines behind them.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputTail {
    lines: VecDeque<String>,
    /// Lines that have not ended yet, by call and stream.
    begun: BTreeMap<(String, bool), String>,
    /// The number of finished lines since the tail began.
    seen: u64,
    /// Lines on the screen that the next drawing replaces.
    drawn: usize,
}

impl OutputTail {
    /// Adds output of a call; `is_error` means its stderr.
    pub(super) fn push_output(&mut self, call: &str, is_error: bool, text: &str) {
        let key = (call.to_owned(), is_error);
        let mut line = self.begun.remove(&key).unwrap_or_default();
        for letter in strip_escapes(text).chars() {
            match letter {
                '\n' => self.end_line(std::mem::take(&mut line)),
                // A carriage return rewrites the line, as progress bars do.
                '\r' => line.clear(),
                letter if line.chars().count() < LINE_CHARS_MAX => line.push(letter),
                _ => {}
            }
        }
        // Beyond the limit an unfinished line is dropped from the display; the result still has it.
        if !line.is_empty() && self.begun.len() < CALLS_MAX {
            self.begun.insert(key, line);
        }
    }

    /// Returns the text that replaces the drawn lines by the latest ones.
    pub(super) fn draw(&mut self, screen: &ScreenStyle) -> String {
        let room = screen.width.unwrap_or(80).saturating_sub(4);
        let most = screen
            .rows
            .map_or(LINES_MAX, |rows| LINES_MAX.min(rows / 3).max(1));
        let lines = self.lines.iter().chain(self.begun.values());
        let lines: Vec<&String> = lines.collect();
        let hidden = lines.len().saturating_sub(most);
        let shown = lines[hidden..]
            .iter()
            .map(|line| truncate(&prose_line(line), room));
        let mut shown: Vec<String> = shown.map(|line| format!("  │ {line}")).collect();
        let before = self.seen.saturating_sub(self.lines.len() as u64) + hidden as u64;
        if before > 0 {
            let noun = if before == 1 { "line" } else { "lines" };
            let line = format!("  │ … {} {noun} before", group_thousands(before));
            shown.insert(0, truncate(&line, room + 4));
        }
        let mut out = match self.drawn {
            0 => String::new(),
            // Moves up to the first drawn line and clears to the end of the screen.
            drawn => format!("\u{1b}[{drawn}F\u{1b}[J"),
        };
        self.drawn = shown.len();
        for line in shown {
            out.push_str(&screen.paint(TextTone::Quiet, line.trim_end()));
            out.push('\n');
        }
        out
    }

    /// Returns true when the next drawing replaces lines.
    pub(super) fn is_drawn(&self) -> bool {
        self.drawn > 0
    }

    /// Leaves the drawn lines on the screen and starts an empty tail: something else follows below.
    pub(super) fn settle(&mut self) {
        *self = OutputTail::default();
    }

    fn end_line(&mut self, line: String) {
        self.seen += 1;
        self.lines.push_back(line);
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }
}

/// Removes escape sequences (colours, cursor movement) and expands tabs.
fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => skip_sequence(&mut letters),
            '\t' => out.push_str("    "),
            letter => out.push(letter),
        }
    }
    out
}

fn skip_sequence(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match letters.next() {
        // A CSI sequence ends with a byte from '@' to '~'.
        Some('[') => {
            letters.find(|letter| matches!(letter, '@'..='~' | '\n'));
        }
        // An OSC sequence (title, link) ends with BEL or ESC \\.
        Some(']') => {
            while let Some(letter) = letters.next_if(|letter| *letter != '\n') {
                if letter == '\u{7}' || letter == '\\' {
                    break;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "output_tail_tests.rs"]
mod tests;
