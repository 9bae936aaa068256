//! Finds out while an answer streams that it repeats itself. Pure.
//!
//! Small models fall into loops: the same line, or the same phrase, until the output limit. Two
//! rules find them. A line may come twice and not a third time. A phrase may not fill the end of the
//! answer: see [`PHRASE_TIMES_MIN`].
//!
//! Invariants: the verdict and the released text do not depend on how the text is cut into pieces;
//! released text is never taken back; the third repetition of a line is never released, because a
//! line that may become one is held back until it differs or ends.

use std::collections::{BTreeMap, VecDeque};

/// A line ends the answer when it comes this often.
pub const LINE_TIMES_MAX: u32 = 3;
/// The letters and digits of the shortest line that counts in [`LineScope::InARow`]. Data and code
/// have short lines that follow each other, such as `0,` and `}`.
const LINE_LETTERS_MIN: usize = 8;
/// A longer line is not compared; the rule about phrases still holds in it.
const LINE_BYTES_MAX: usize = 1_024;
/// The most different lines that are remembered.
const LINES_MAX: usize = 1_024;
/// A list marker or number is at most this long.
const MARKER_BYTES_MAX: usize = 8;

/// A phrase ends the answer when its repetitions fill this many characters at the end of the text …
const PHRASE_CHARS_MIN: usize = 200;
/// … and are this many.
const PHRASE_TIMES_MIN: usize = 4;
/// The characters in which phrases are looked for, so the longest phrase is a quarter of this.
const WINDOW_CHARS: usize = 1_024;
/// Phrases are looked for each time this many characters arrived.
const CHECK_CHARS: usize = 64;

/// Which repetitions of a line count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineScope {
    /// Only those that follow each other; blank lines between them do not matter. Good answers repeat
    /// lines in other places: code, tables, refrains.
    InARow,
    /// Those anywhere in the answer, for models whose answers are short.
    Anywhere,
}

/// The kind of repetition that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    Line,
    Phrase,
}

/// Watches one answer.
#[derive(Clone, Debug)]
pub struct RepetitionGuard {
    scope: LineScope,
    /// The present line.
    line: String,
    /// The bytes of the present line that were released.
    released: usize,
    /// The present line is none that came twice already.
    differs: bool,
    /// How often each line came, by its text without a list marker.
    counts: BTreeMap<String, u32>,
    /// The last line that counts, and how often it came in a row.
    last: Option<(String, u32)>,
    window: VecDeque<char>,
    unchecked: usize,
    found: Option<Repetition>,
}

impl RepetitionGuard {
    pub fn new(scope: LineScope) -> RepetitionGuard {
        RepetitionGuard {
            scope,
            line: String::new(),
            released: 0,
            differs: false,
            counts: BTreeMap::new(),
            last: None,
            window: VecDeque::with_capacity(WINDOW_CHARS),
            unchecked: 0,
            found: None,
        }
    }

    /// Returns the repetition that ended the answer, if any.
    pub fn found(&self) -> Option<Repetition> {
        self.found
    }

    /// Takes the next piece of the answer and returns the text to show. After a repetition was found
    /// there is none.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for letter in piece.chars() {
            if self.found.is_some() {
                break;
            }
            self.line.push(letter);
            if letter == '\n' {
                self.end_line(&mut out);
            }
            if self.found.is_none() {
                self.watch_phrase(letter);
            }
        }
        if self.found != Some(Repetition::Line) {
            self.release_unless_held(&mut out);
        }
        out
    }

    /// Ends the answer and returns the rest of the text.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if self.found.is_none() {
            self.end_line(&mut out);
        }
        out
    }

    /// Counts the line that ended, and releases it unless it came too often.
    fn end_line(&mut self, out: &mut String) {
        let key = line_key(&self.line);
        if self.times_with(key) >= LINE_TIMES_MAX {
            self.found = Some(Repetition::Line);
            return;
        }
        if counts(key, self.scope) {
            let key = key.to_owned();
            match self.scope {
                LineScope::Anywhere => {
                    // A full table forgets nothing; it only takes no new lines.
                    if self.counts.len() < LINES_MAX || self.counts.contains_key(&key) {
                        *self.counts.entry(key).or_default() += 1;
                    }
                }
                LineScope::InARow => {
                    let times = match &self.last {
                        Some((last, times)) if *last == key => times + 1,
                        _ => 1,
                    };
                    self.last = Some((key, times));
                }
            }
        } else if !key.is_empty() {
            self.last = None;
        }
        out.push_str(&self.line[self.released..]);
        self.line.clear();
        self.released = 0;
        self.differs = false;
    }

    /// How often a line has come, with this time.
    fn times_with(&self, key: &str) -> u32 {
        if !counts(key, self.scope) {
            return 0;
        }
        let before = match (self.scope, &self.last) {
            (LineScope::Anywhere, _) => self.counts.get(key).copied().unwrap_or(0),
            (LineScope::InARow, Some((last, times))) if last == key => *times,
            (LineScope::InARow, _) => 0,
        };
        before + 1
    }

    fn release_unless_held(&mut self, out: &mut String) {
        if !self.differs {
            self.differs = !self.may_come_again();
        }
        if self.differs {
            out.push_str(&self.line[self.released..]);
            self.released = self.line.len();
        }
    }

    /// True if the present line may become one that came too often.
    fn may_come_again(&self) -> bool {
        if is_marker(&self.line) {
            return self.line.len() <= MARKER_BYTES_MAX;
        }
        let begun = line_key(&self.line);
        if self.line.len() > LINE_BYTES_MAX {
            return false;
        }
        let too_often = LINE_TIMES_MAX - 1;
        match self.scope {
            LineScope::Anywhere => {
                let mut from = self.counts.range(begun.to_owned()..);
                from.by_ref()
                    .take_while(|(key, _)| key.starts_with(begun))
                    .any(|(_, times)| *times >= too_often)
            }
            LineScope::InARow => {
                let last = self.last.as_ref();
                last.is_some_and(|(key, times)| *times >= too_often && key.starts_with(begun))
            }
        }
    }

    /// Looks for a phrase that fills the end of the text.
    fn watch_phrase(&mut self, letter: char) {
        if self.window.len() == WINDOW_CHARS {
            self.window.pop_front();
        }
        self.window.push_back(letter);
        self.unchecked += 1;
        if self.unchecked >= CHECK_CHARS {
            self.unchecked = 0;
            if ends_in_phrase(self.window.make_contiguous()) {
                self.found = Some(Repetition::Phrase);
            }
        }
    }
}

/// The text of a line without its end, indentation and list marker. Lists of a looping model count on.
fn line_key(line: &str) -> &str {
    let line = line.trim();
    let after = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let marker = line.len() - after.len();
    let rest = after.strip_prefix(['.', ')', ':']);
    let numbered = rest.filter(|_| marker > 0 && marker < MARKER_BYTES_MAX);
    let bullet = || line.strip_prefix(['-', '*', '•', '+']);
    match numbered.or_else(bullet) {
        Some(rest) if rest.is_empty() || rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

/// True if the line is at most a list marker so far: digits with or without a sign, or a bullet.
fn is_marker(line: &str) -> bool {
    let line = line.trim();
    let after = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let signs: &[&str] = if after.len() < line.len() {
        &["", ".", ")", ":"]
    } else {
        &["", "-", "*", "•", "+"]
    };
    signs.contains(&after)
}

/// True if repetitions of this line count.
fn counts(key: &str, scope: LineScope) -> bool {
    if key.len() > LINE_BYTES_MAX {
        return false;
    }
    match scope {
        // The fences of code are no text.
        LineScope::Anywhere => !key.is_empty() && !key.starts_with("```"),
        LineScope::InARow => {
            let letters = key.chars().filter(|letter| letter.is_alphanumeric());
            letters.count() >= LINE_LETTERS_MIN
        }
    }
}

/// True if the text ends in repetitions of a phrase that fill [`PHRASE_CHARS_MIN`] characters.
fn ends_in_phrase(text: &[char]) -> bool {
    // The prefix function of the reversed text: a prefix of `length` characters whose longest border
    // has `border` characters is periodic with `length - border`.
    let reversed: Vec<char> = text.iter().rev().copied().collect();
    let mut borders = vec![0_usize; reversed.len()];
    for at in 1..reversed.len() {
        let mut border = borders[at - 1];
        while border > 0 && reversed[at] != reversed[border] {
            border = borders[border - 1];
        }
        if reversed[at] == reversed[border] {
            border += 1;
        }
        borders[at] = border;
        let length = at + 1;
        let phrase = length - border;
        if length >= PHRASE_CHARS_MIN
            && length >= phrase * PHRASE_TIMES_MIN
            && reversed[..phrase].iter().any(|letter| is_wordy(*letter))
        {
            return true;
        }
    }
    false
}

/// False for characters that rules and tables are drawn with, and for digits.
fn is_wordy(letter: char) -> bool {
    let drawn = ('\u{2500}'..='\u{259f}').contains(&letter);
    !(letter.is_ascii_punctuation() || letter.is_ascii_digit() || letter.is_whitespace() || drawn)
}

#[cfg(test)]
#[path = "repetition_tests.rs"]
mod tests;
