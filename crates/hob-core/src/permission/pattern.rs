//! Patterns for arguments and hosts. `*` matches anything, a backslash escapes the next character.
//! Pure.
//!
//! Invariants: without a `*` a pattern matches one text and no other; in a command of a rule that
//! allows, a `*` matches plain words only, never a character with a meaning to a shell; in the name
//! of a program such a `*` also matches no space, `/` or `=`.

use super::program_place::{ProgramPlace, StarPlace};
use crate::command_line::LineSpelling;

/// The most stars of one pattern.
pub(super) const STARS_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArgumentPattern {
    pub(super) pieces: Vec<PatternPiece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternPiece {
    Text(String),
    Star,
}

/// The set of characters a `*` matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StarKind {
    Anything,
    /// Plain words of a command line.
    Words,
    /// In a URL: while inside the host, nothing that could end the host's name.
    Address,
}

impl ArgumentPattern {
    pub(super) fn parse(text: &str) -> ArgumentPattern {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '*' => {
                    if !plain.is_empty() {
                        pieces.push(PatternPiece::Text(std::mem::take(&mut plain)));
                    }
                    // Two stars in a row match no more than one.
                    if pieces.last() != Some(&PatternPiece::Star) {
                        pieces.push(PatternPiece::Star);
                    }
                }
                // A backslash at the end stands for itself.
                '\\' => plain.push(letters.next().unwrap_or('\\')),
                other => plain.push(other),
            }
        }
        if !plain.is_empty() {
            pieces.push(PatternPiece::Text(plain));
        }
        ArgumentPattern { pieces }
    }

    /// Returns the only text it matches, if it has no star.
    pub(super) fn literal(&self) -> Option<&str> {
        match &self.pieces[..] {
            [] => Some(""),
            [PatternPiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub(super) fn stars(&self) -> usize {
        let stars = self
            .pieces
            .iter()
            .filter(|piece| **piece == PatternPiece::Star);
        stars.count()
    }

    /// Returns true if it matches the whole of `value`.
    pub(super) fn matches(&self, value: &str, star: StarKind) -> bool {
        if let Some(text) = self.literal() {
            return text == value;
        }
        // A cheap test first: most patterns fail here.
        if !value.starts_with(self.literal_prefix()) {
            return false;
        }
        if star == StarKind::Words {
            return self.matches_command(value);
        }
        // The positions in `value` where the pieces so far can end. All of them are kept: a star
        // that may not cross a character could fail where another alternative matches.
        let mut ends = vec![false; value.len() + 1];
        ends[0] = true;
        let mut slashes = 0;
        for piece in &self.pieces {
            ends = match piece {
                PatternPiece::Text(text) => {
                    slashes += text.matches('/').count();
                    after_text(&ends, value, text)
                }
                PatternPiece::Star => {
                    after_star(&ends, value, |letter| star.stands_for(letter, slashes))
                }
            };
        }
        ends[value.len()]
    }

    /// Returns the text before its first star.
    pub(super) fn literal_prefix(&self) -> &str {
        match self.pieces.first() {
            Some(PatternPiece::Text(text)) => text,
            Some(PatternPiece::Star) | None => "",
        }
    }

    /// Returns true if it matches a whole command line, with stars that match plain words.
    fn matches_command(&self, line: &str) -> bool {
        let mut ends = vec![false; line.len() + 1];
        ends[0] = true;
        let mut place = ProgramPlace::default();
        for (index, piece) in self.pieces.iter().enumerate() {
            ends = match piece {
                PatternPiece::Text(text) => {
                    place.take_text(text);
                    after_text(&ends, line, text)
                }
                PatternPiece::Star => {
                    let next = self.pieces.get(index + 1);
                    let next_is_blank = matches!(next, Some(PatternPiece::Text(text)) if text.starts_with([' ', '\t']));
                    match place.take_star() {
                        StarPlace::Arguments => after_star(&ends, line, is_plain_word_char),
                        // An empty first word would make the next one the program.
                        StarPlace::Program { begins: true } if next_is_blank => {
                            let first = after_char(&ends, line, is_program_name_char);
                            after_star(&first, line, is_program_name_char)
                        }
                        StarPlace::Program { .. } => after_star(&ends, line, is_program_name_char),
                    }
                }
            };
        }
        ends[line.len()] && !place.has_prefix()
    }

    /// Returns a note about a pattern with a star in the program's name: what it does not cover,
    /// and which patterns to use. Older versions let such a star match spaces, `/` and `=` too.
    pub(super) fn program_note(&self) -> Option<String> {
        if self.literal().is_some() {
            return None;
        }
        let mut place = ProgramPlace::default();
        let mut in_program = false;
        for piece in &self.pieces {
            match piece {
                PatternPiece::Text(text) => place.take_text(text),
                PatternPiece::Star => in_program |= place.take_star() != StarPlace::Arguments,
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
            [PatternPiece::Text(text), PatternPiece::Star]
                if !text.contains([' ', ';', '|', '&', '(', '/']) =>
            {
                let text = escaped(text);
                format!(" Use '{text}' and '{text} *'.")
            }
            _ => String::new(),
        };
        Some(format!(
            "Covers less than before: a '*' in a program's name stands for no space, '/' or '='.{advice}"
        ))
    }

    /// Returns true if it matches a part of a parsed line, from the beginning of a command to the
    /// end of a command.
    pub(super) fn matches_commands(&self, line: &LineSpelling) -> bool {
        let text = line.text.as_str();
        let begins = |start: &&usize| text[**start..].starts_with(self.literal_prefix());
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
                PatternPiece::Text(piece) => after_text(&ends, text, piece),
                PatternPiece::Star => after_star(&ends, text, |_| true),
            };
        }
        line.ends.iter().any(|end| ends[*end])
    }

    /// Returns true if it could match a part of a line that is known only when the line runs.
    pub(super) fn may_match_commands(&self, line: &LineSpelling) -> bool {
        let beginning = self.literal_prefix();
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

impl StarKind {
    fn stands_for(self, letter: char, slashes: usize) -> bool {
        /// The number of slashes before the path of a URL: `https://host/`.
        const SLASHES_OF_HOST: usize = 3;
        match self {
            StarKind::Anything => true,
            StarKind::Words => is_plain_word_char(letter),
            StarKind::Address => slashes >= SLASHES_OF_HOST || is_host_name_char(letter),
        }
    }
}

/// Escapes a text into a pattern that matches only it.
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

/// Returns true for characters that every shell treats as part of a word, and for the space between
/// words. Letters beyond ASCII are such parts, whatever they look like.
fn is_plain_word_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(
            letter,
            ' ' | '-' | '_' | '.' | '/' | ',' | ':' | '=' | '+' | '@' | '%'
        )
        || (!letter.is_ascii() && !letter.is_control() && !letter.is_whitespace())
}

/// Returns true for characters that a `*` matches in a program's name: it stays in its folder,
/// assigns nothing and ends with the word.
fn is_program_name_char(letter: char) -> bool {
    is_plain_word_char(letter) && !matches!(letter, ' ' | '/' | '=' | '%')
}

fn is_host_name_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_')
}

fn after_text(ends: &[bool], value: &str, text: &str) -> Vec<bool> {
    let mut next = vec![false; ends.len()];
    for (place, _) in ends.iter().enumerate().filter(|(_, end)| **end) {
        // A place is always between two characters, because only whole characters and texts move
        // it.
        if value[place..].starts_with(text) {
            next[place + text.len()] = true;
        }
    }
    next
}

fn after_char(ends: &[bool], value: &str, stands_for: impl Fn(char) -> bool) -> Vec<bool> {
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
        // Reads what this loop wrote before, so one pass covers a star of any length.
        if next[place] && stands_for(letter) {
            next[place + letter.len_utf8()] = true;
        }
    }
    next
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
