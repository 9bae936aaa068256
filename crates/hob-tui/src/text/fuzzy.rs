//! Finds the letters of a query in a name, in order, and says how well they fit. Pure.

/// A name that has the letters of the query. Better ones have a higher score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FuzzyMatch {
    pub score: i64,
}

/// The points of a letter that begins a word, follows the last one, or is the first.
const WORD_START: i64 = 8;
const CONSECUTIVE: i64 = 5;
const FIRST: i64 = 6;

/// Matches without regard to case; an empty query matches everything equally.
pub fn fuzzy_match(query: &str, name: &str) -> Option<FuzzyMatch> {
    let mut wanted = query.chars().flat_map(char::to_lowercase).peekable();
    let mut score = 0;
    let mut before: Option<char> = None;
    let mut was_hit = false;
    let mut length = 0_i64;
    for (index, letter) in name.chars().enumerate() {
        length += 1;
        let is_hit = wanted
            .peek()
            .is_some_and(|it| letter.to_lowercase().eq(std::iter::once(*it)));
        if is_hit {
            wanted.next();
            score += 1;
            let starts_word = before.is_none_or(|it| !it.is_alphanumeric())
                || (letter.is_uppercase() && before.is_some_and(char::is_lowercase));
            score += if starts_word { WORD_START } else { 0 };
            score += if was_hit { CONSECUTIVE } else { 0 };
            score += if index == 0 { FIRST } else { 0 };
        }
        was_hit = is_hit;
        before = Some(letter);
    }
    // Of two names that fit alike, the shorter one is probably meant.
    wanted.peek().is_none().then_some(FuzzyMatch {
        score: score * 64 - if query.is_empty() { 0 } else { length.min(63) },
    })
}

#[cfg(test)]
#[path = "fuzzy_tests.rs"]
mod tests;
