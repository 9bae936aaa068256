//! Patterns of arguments and hosts. `*` stands for anything, a backslash takes the next sign as it
//! is. Pure.
//!
//! Invariants: without a `*` a pattern fits one text and no other; a `*` in a command of a rule
//! that allows fits plain words only, never a sign that a shell could understand as more; where
//! the program is named, such a `*` fits no space, `/` or `=` either.

use super::program_place::{ProgramPlace, StarPlace};
use crate::command_line::Spelling;

/// Stars of one pattern.
pub(super) const STARS_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Star,
}

/// What a `*` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Star {
    Anything,
    /// Plain words of a command line.
    Words,
    /// Of an address: nothing that ends the host's name, as long as it stands in the host.
    Address,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Pattern {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '*' => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    if pieces.last() != Some(&Piece::Star) {
                        pieces.push(Piece::Star);
                    }
                }
                '\\' => plain.push(letters.next().unwrap_or('\\')),
                other => plain.push(other),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Pattern { pieces }
    }

    /// The one text it fits, if it has no star.
    pub(super) fn literal(&self) -> Option<&str> {
        match &self.pieces[..] {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub(super) fn stars(&self) -> usize {
        let stars = self.pieces.iter().filter(|piece| **piece == Piece::Star);
        stars.count()
    }

    /// Whether it fits the whole of `value`.
    pub(super) fn fits(&self, value: &str, star: Star) -> bool {
        if let Some(text) = self.literal() {
            return text == value;
        }
        if !value.starts_with(self.beginning()) {
            return false;
        }
        if star == Star::Words {
            return self.fits_command(value);
        }
        // The places of `value` that the pieces so far can end at. Every way is kept, because a
        // star that may not cross a sign could fail where another way would not.
        let mut ends = vec![false; value.len() + 1];
        ends[0] = true;
        let mut slashes = 0;
        for piece in &self.pieces {
            ends = match piece {
                Piece::Text(text) => {
                    slashes += text.matches('/').count();
                    after_text(&ends, value, text)
                }
                Piece::Star => after_star(&ends, value, |letter| star.stands_for(letter, slashes)),
            };
        }
        ends[value.len()]
    }

    /// The text before its first star.
    pub(super) fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            Some(Piece::Star) | None => "",
        }
    }

    /// Whether it fits the whole of a command line, with stars that stand for plain words.
    fn fits_command(&self, line: &str) -> bool {
        let mut ends = vec![false; line.len() + 1];
        ends[0] = true;
        let mut place = ProgramPlace::default();
        for (index, piece) in self.pieces.iter().enumerate() {
            ends = match piece {
                Piece::Text(text) => {
                    place.take_text(text);
                    after_text(&ends, line, text)
                }
                Piece::Star => {
                    let next = self.pieces.get(index + 1);
                    let next_is_blank =
                        matches!(next, Some(Piece::Text(text)) if text.starts_with([' ', '\t']));
                    match place.take_star() {
                        StarPlace::Arguments => after_star(&ends, line, is_plain),
                        // An empty first word would make the next one the program.
                        StarPlace::Program { begins: true } if next_is_blank => {
                            let first = after_letter(&ends, line, is_of_program);
                            after_star(&first, line, is_of_program)
                        }
                        StarPlace::Program { .. } => after_star(&ends, line, is_of_program),
                    }
                }
            };
        }
        ends[line.len()] && !place.has_prefix()
    }

    /// Of a pattern whose star stands where the program is named: what it does not cover, and which
    /// patterns to use. Such a star once stood for spaces, `/` and `=` too.
    pub(super) fn program_note(&self) -> Option<String> {
        if self.literal().is_some() {
            return None;
        }
        let mut place = ProgramPlace::default();
        let mut in_program = false;
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => place.take_text(text),
                Piece::Star => in_program |= place.take_star() != StarPlace::Arguments,
            }
        }
        if place.has_prefix() {
            let note = "Covers nothing: with a '*', a command pattern begins with the program, not with a variable or a redirection.";
            return Some(note.to_owned());
        }
        if !in_program {
            return None;
        }
        let advice = match &self.pieces[..] {
            [Piece::Text(text), Piece::Star] if !text.contains([' ', ';', '|', '&', '(', '/']) => {
                let text = escaped(text);
                format!(" Use '{text}' and '{text} *'.")
            }
            _ => String::new(),
        };
        Some(format!(
            "Covers less than before: a '*' in a program's name stands for no space, '/' or '='.{advice}"
        ))
    }

    /// Whether it fits a stretch of a taken-apart line, from a command's beginning to a command's
    /// end.
    pub(super) fn fits_commands(&self, line: &Spelling) -> bool {
        let text = line.text.as_str();
        let begins = |start: &&usize| text[**start..].starts_with(self.beginning());
        if let Some(literal) = self.literal() {
            let is_end = |at: usize| line.ends.binary_search(&at).is_ok();
            let mut starts = line.starts.iter().filter(begins);
            return starts.any(|start| is_end(start + literal.len()));
        }
        let mut ends = vec![false; text.len() + 1];
        let mut any = false;
        for start in line.starts.iter().filter(begins) {
            ends[*start] = true;
            any = true;
        }
        if !any {
            return false;
        }
        for piece in &self.pieces {
            ends = match piece {
                Piece::Text(piece) => after_text(&ends, text, piece),
                Piece::Star => after_star(&ends, text, |_| true),
            };
        }
        line.ends.iter().any(|end| ends[*end])
    }

    /// Whether it could fit a stretch of a line that is known only when the line runs.
    pub(super) fn may_fit_commands(&self, line: &Spelling) -> bool {
        let beginning = self.beginning();
        line.starts.iter().any(|start| {
            let next = line.unknown.partition_point(|at| at < start);
            let Some(unknown) = line.unknown.get(next) else {
                return false;
            };
            let known = &line.text[*start..*unknown];
            known.starts_with(beginning) || beginning.starts_with(known)
        })
    }
}

impl Star {
    fn stands_for(self, letter: char, slashes: usize) -> bool {
        /// Slashes before an address' path begins: `https://host/`.
        const SLASHES_OF_HOST: usize = 3;
        match self {
            Star::Anything => true,
            Star::Words => is_plain(letter),
            Star::Address => slashes >= SLASHES_OF_HOST || is_of_name(letter),
        }
    }
}

/// A text as a pattern that fits it alone.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Signs that no shell takes for anything but a part of a word, and the space between words.
/// Letters beyond ASCII are such parts, whatever they look like.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(
            letter,
            ' ' | '-' | '_' | '.' | '/' | ',' | ':' | '=' | '+' | '@' | '%'
        )
        || (!letter.is_ascii() && !letter.is_control() && !letter.is_whitespace())
}

/// Signs that a `*` stands for where the program is named: it stays in its folder, assigns nothing
/// and ends with the word.
fn is_of_program(letter: char) -> bool {
    is_plain(letter) && !matches!(letter, ' ' | '/' | '=' | '%')
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_')
}

fn after_text(ends: &[bool], value: &str, text: &str) -> Vec<bool> {
    let mut next = vec![false; ends.len()];
    for (place, _) in ends.iter().enumerate().filter(|(_, end)| **end) {
        if value[place..].starts_with(text) {
            next[place + text.len()] = true;
        }
    }
    next
}

fn after_letter(ends: &[bool], value: &str, stands_for: impl Fn(char) -> bool) -> Vec<bool> {
    let mut next = vec![false; ends.len()];
    for (place, letter) in value.char_indices() {
        if ends[place] && stands_for(letter) {
            next[place + letter.len_utf8()] = true;
        }
    }
    next
}

fn after_star(ends: &[bool], value: &str, stands_for: impl Fn(char) -> bool) -> Vec<bool> {
    let mut next = ends.to_vec();
    for (place, letter) in value.char_indices() {
        if next[place] && stands_for(letter) {
            next[place + letter.len_utf8()] = true;
        }
    }
    next
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
