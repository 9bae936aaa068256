//! Patterns of arguments and hosts. `*` stands for anything, a backslash takes the next sign as it
//! is. Pure.
//!
//! Invariants: without a `*` a pattern fits one text and no other; a `*` in a command of a rule
//! that allows fits plain words only, never a sign that a shell could understand as more.

/// Stars of one pattern.
pub(super) const STARS_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
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
        if let Some(Piece::Text(text)) = self.pieces.first()
            && !value.starts_with(text.as_str())
        {
            return false;
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
