//! Makes untrusted text safe to look at: names, labels, commands. Pure.
//!
//! A character that is invisible, reorders text or stacks on its neighbour is shown as `\u{200b}`.
//! So is a look-alike letter: in a word that mixes Latin letters with another alphabet, and in a
//! word made only of letters that look like ASCII. Words of one script, accents, ideographs and
//! pictographs stay readable.
//!
//! Invariant: two different texts are shown differently, as far as the tables here reach.

use std::fmt::Write;

/// Returns a name or label that is safe to show in a list.
pub fn visible(text: &str) -> String {
    let honest = unambiguous_alphabets(text);
    let mut out = String::with_capacity(text.len());
    for part in text_parts(text) {
        match part {
            TextPart::Word(word) => {
                // A single letter beside unambiguous words of its alphabet is a word of that
                // language.
                let mut letters = word.chars();
                let own = letters.next().and_then(alphabet);
                let is_lone =
                    letters.next().is_none() && own.is_some_and(|it| honest.contains(&it));
                push_word(&mut out, word, is_lone);
            }
            TextPart::Sign(letter) if is_hidden(letter) => push_escaped(&mut out, letter),
            TextPart::Sign(letter) => out.push(letter),
        }
    }
    out
}

/// A name, label or argument from outside on one line. Characters that are invisible, move the
/// cursor or look like another are escaped as `\u{200b}`.
pub fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\r', '\t'], " "))
}

/// Returns text for a person who decides about it. Beyond [`visible`], it escapes signs that look
/// like ASCII signs and doubles backslashes, so nothing can imitate an escape.
pub fn visible_exactly(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text_parts(text) {
        match part {
            TextPart::Word(word) => push_word(&mut out, word, false),
            TextPart::Sign('\\') => out.push_str("\\\\"),
            // A real line break could fake another line of the question.
            TextPart::Sign('\n') => out.push_str("\\n"),
            TextPart::Sign('\t') => out.push_str("\\t"),
            TextPart::Sign('\r') => out.push_str("\\r"),
            TextPart::Sign(letter) if is_hidden(letter) || looks_like_ascii_sign(letter) => {
                push_escaped(&mut out, letter);
            }
            TextPart::Sign(letter) => out.push(letter),
        }
    }
    out
}

/// Returns true if [`visible`] escapes anything in the text.
pub fn needs_escaping(text: &str) -> bool {
    visible(text) != text
}

/// Returns true for characters that are invisible or reorder text.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || (letter.is_whitespace() && letter != ' ')
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
        // Combining marks stack on the letter before them.
        || matches!(letter, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// A word or a single sign of a text.
enum TextPart<'t> {
    /// Consecutive letters and digits.
    Word(&'t str),
    Sign(char),
}

fn text_parts(text: &str) -> impl Iterator<Item = TextPart<'_>> {
    let is_of_word = |letter: char| letter.is_alphanumeric() && !is_hidden(letter);
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let first = rest.chars().next()?;
        if !is_of_word(first) {
            at += first.len_utf8();
            return Some(TextPart::Sign(first));
        }
        let end = rest.find(|letter: char| !is_of_word(letter));
        let word = &rest[..end.unwrap_or(rest.len())];
        at += word.len();
        Some(TextPart::Word(word))
    })
}

/// Alphabets whose letters look like each other's or change the direction of their neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Latin,
    Other(u8),
}

/// Returns the alphabet of a letter; `None` for digits, ideographs and scripts without look-alikes.
fn alphabet(letter: char) -> Option<Alphabet> {
    let block = match letter {
        'a'..='z' | 'A'..='Z' => return Some(Alphabet::Latin),
        '\u{c0}'..='\u{24f}' | '\u{250}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}' => {
            return Some(Alphabet::Latin);
        }
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => 1,
        '\u{400}'..='\u{52f}'
        | '\u{1c80}'..='\u{1c8f}'
        | '\u{2de0}'..='\u{2dff}'
        | '\u{a640}'..='\u{a69f}' => 2,
        '\u{530}'..='\u{58f}' => 3,
        '\u{590}'..='\u{5ff}' => 4,
        '\u{600}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' | '\u{fb50}'..='\u{fdff}' => 5,
        '\u{10a0}'..='\u{10ff}' | '\u{1c90}'..='\u{1cbf}' | '\u{2d00}'..='\u{2d2f}' => 6,
        '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => 7,
        '\u{2c80}'..='\u{2cff}' => 8,
        '\u{a4d0}'..='\u{a4ff}' => 9,
        '\u{2d30}'..='\u{2d7f}' => 10,
        '\u{10400}'..='\u{1044f}' | '\u{118a0}'..='\u{118ff}' => 11,
        _ => return None,
    };
    Some(Alphabet::Other(block))
}

/// Appends a word. A word in plain ASCII or in one other alphabet stays as it is. A word that mixes
/// Latin letters with another alphabet, or consists only of look-alikes, has each of them escaped.
fn push_word(out: &mut String, word: &str, is_lone: bool) {
    if word.is_ascii() {
        return out.push_str(word);
    }
    let letters = || word.chars().filter_map(alphabet);
    let has_latin = letters().any(|it| it == Alphabet::Latin);
    let is_other = |letter: char| matches!(alphabet(letter), Some(Alphabet::Other(_)));
    let is_mixed = has_latin && word.chars().any(is_other);
    // No real word mixes two foreign alphabets.
    let mut others = letters().filter(|it| *it != Alphabet::Latin);
    let first = others.next();
    let is_mixed = is_mixed || others.any(|it| Some(it) != first);
    let honest = |letter: char| !letter.is_ascii() && !looks_like_ascii_letter(letter);
    let has_ascii = word.bytes().any(|byte| byte.is_ascii_alphanumeric());
    let imitates = word.chars().any(looks_like_ascii_letter);
    let imitates = imitates && !is_lone && (has_ascii || !word.chars().any(honest));
    for letter in word.chars() {
        let deceives =
            (is_mixed && is_other(letter)) || (imitates && looks_like_ascii_letter(letter));
        if is_styled_ascii(letter) || deceives {
            push_escaped(out, letter);
        } else {
            out.push(letter);
        }
    }
}

/// Returns the alphabets of letters without look-alikes.
fn unambiguous_alphabets(text: &str) -> Vec<Alphabet> {
    let mut out = Vec::new();
    for letter in text.chars().filter(|letter| !letter.is_ascii()) {
        let found = alphabet(letter).filter(|_| !looks_like_ascii_letter(letter));
        out.extend(found.filter(|it| !out.contains(it)));
    }
    out
}

fn push_escaped(out: &mut String, letter: char) {
    // Writing to a string cannot fail.
    let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
}

/// Returns true for signs that look like ASCII signs: slashes, dots, dashes, quotes.
fn looks_like_ascii_sign(letter: char) -> bool {
    matches!(letter,
        '\u{2010}'..='\u{2015}' | '\u{2018}'..='\u{201f}' | '\u{2024}' | '\u{2044}' | '\u{2212}'
        | '\u{2215}' | '\u{2216}' | '\u{2223}' | '\u{2236}' | '\u{29f5}' | '\u{29f8}' | '\u{29f9}'
        | '\u{2cb}' | '\u{2ca}' | '\u{37e}' | '\u{387}' | '\u{589}' | '\u{5c3}' | '\u{701}'
        | '\u{a789}' | '\u{fe52}' | '\u{fe68}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff5e}')
}

/// Returns true for ASCII letters and digits in another form: wide, raised, circled, mathematical,
/// Roman numerals.
fn is_styled_ascii(letter: char) -> bool {
    matches!(letter, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}'
        | '\u{1d400}'..='\u{1d7ff}' | '\u{2460}'..='\u{24ff}' | '\u{1f100}'..='\u{1f189}'
        | '\u{2100}'..='\u{218f}' | '\u{2070}'..='\u{209f}' | '\u{1d00}'..='\u{1dbf}'
        | '\u{2b0}'..='\u{2b8}' | '\u{aa}' | '\u{ba}' | '\u{b2}' | '\u{b3}' | '\u{b9}')
}

/// Returns true for letters of other scripts that look like ASCII letters.
fn looks_like_ascii_letter(letter: char) -> bool {
    const LIKE_ASCII: &str = concat!(
        // Cyrillic
        "аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХУІЈЅԌԜ",
        // Greek
        "οανρυικχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
        // Armenian, Latin beyond ASCII, Cherokee
        "օոսցհզԼՏՍɑɡıſʟɩƖᎠᎡᎢᎪᎬᎳᎷᎻᏀᏃᏎᏔᏙᏚᏞᏟᏢᏦᏴ"
    );
    // Lisu and Coptic capitals look like ASCII capitals.
    let drawn_alike = matches!(letter, '\u{a4d0}'..='\u{a4f7}' | '\u{2c80}'..='\u{2cb1}');
    drawn_alike || LIKE_ASCII.contains(letter)
}

#[cfg(test)]
#[path = "visible_text_tests.rs"]
mod tests;
