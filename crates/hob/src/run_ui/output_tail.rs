//! The last few lines that running tools print, drawn over each other while they come. Pure: it
//! says what to write and writes nothing.
//!
//! Invariants: nothing in it moves the cursor but its own drawing; what it keeps is bounded.

use crate::render::words::{cut, grouped, prose_line};
use crate::render::{Screen, Tone};
use std::collections::{BTreeMap, VecDeque};

/// Lines shown at the most.
const LINES_MAX: usize = 6;
/// Letters of one line that are kept, whatever the screen's width.
const LINE_CHARS_MAX: usize = 1_000;
/// Calls whose unfinished lines are kept at once.
const CALLS_MAX: usize = 16;

/// What stands on the screen, and what it came from.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    /// Lines that have not ended yet, by call and stream.
    begun: BTreeMap<(String, bool), String>,
    /// Lines that ended since the tail began.
    seen: u64,
    /// Lines on the screen that the next drawing replaces.
    drawn: usize,
}

impl Tail {
    /// Takes what a call printed; `is_error` is its stderr.
    pub(super) fn take(&mut self, call: &str, is_error: bool, text: &str) {
        let key = (call.to_owned(), is_error);
        let mut line = self.begun.remove(&key).unwrap_or_default();
        for letter in plain(text).chars() {
            match letter {
                '\n' => self.end_line(std::mem::take(&mut line)),
                // A line that is written again from its beginning, such as a bar of progress.
                '\r' => line.clear(),
                letter if line.chars().count() < LINE_CHARS_MAX => line.push(letter),
                _ => {}
            }
        }
        if !line.is_empty() && self.begun.len() < CALLS_MAX {
            self.begun.insert(key, line);
        }
    }

    /// What to write so that the last lines stand where the former ones stood.
    pub(super) fn draw(&mut self, screen: &Screen) -> String {
        let room = screen.width.unwrap_or(80).saturating_sub(4);
        let most = screen
            .rows
            .map_or(LINES_MAX, |rows| LINES_MAX.min(rows / 3).max(1));
        let lines = self.lines.iter().chain(self.begun.values());
        let lines: Vec<&String> = lines.collect();
        let hidden = lines.len().saturating_sub(most);
        let shown = lines[hidden..]
            .iter()
            .map(|line| cut(&prose_line(line), room));
        let mut shown: Vec<String> = shown.map(|line| format!("  │ {line}")).collect();
        let before = self.seen.saturating_sub(self.lines.len() as u64) + hidden as u64;
        if before > 0 {
            let noun = if before == 1 { "line" } else { "lines" };
            let line = format!("  │ … {} {noun} before", grouped(before));
            shown.insert(0, cut(&line, room + 4));
        }
        let mut out = match self.drawn {
            0 => String::new(),
            drawn => format!("\u{1b}[{drawn}F\u{1b}[J"),
        };
        self.drawn = shown.len();
        for line in shown {
            out.push_str(&screen.paint(Tone::Quiet, line.trim_end()));
            out.push('\n');
        }
        out
    }

    /// Whether lines stand that the next drawing replaces.
    pub(super) fn is_drawn(&self) -> bool {
        self.drawn > 0
    }

    /// Something else is written below: what stands stays, and the next line begins anew.
    pub(super) fn settle(&mut self) {
        *self = Tail::default();
    }

    fn end_line(&mut self, line: String) {
        self.seen += 1;
        self.lines.push_back(line);
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }
}

/// Text without the sequences by which programs colour it and move the cursor.
fn plain(text: &str) -> String {
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
        // Colours and movements end with a letter or one of a few signs.
        Some('[') => {
            letters.find(|letter| matches!(letter, '@'..='~' | '\n'));
        }
        // Titles and links end with a bell or another sequence.
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
#[path = "tail_tests.rs"]
mod tests;
