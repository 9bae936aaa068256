//! Splits a text into pieces for speech synthesis, and joins their sound. Pure.
//!
//! - [`split`]: the pieces of a text
//! - [`wav`]: parses, repairs and joins WAV files

pub mod wav;

/// Splits a text into pieces of at most `weight_max`: at the end of a sentence, else between words,
/// else anywhere. Together the pieces are the text without the space around the cuts.
///
/// A letter weighs one. A character spoken as a whole word or syllable (a digit, a sign, a letter
/// of a syllabic script) weighs more, so the length of a piece's sound is bounded too.
pub fn split(text: &str, weight_max: usize) -> Vec<&str> {
    // A smaller maximum fits no heavy character, and the loop below would never advance.
    let weight_max = weight_max.max(SYLLABLE_WEIGHT);
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let cut = first_piece_end(rest, weight_max);
        let (piece, after) = rest.split_at(cut);
        let piece = piece.trim_end();
        if !piece.is_empty() {
            pieces.push(piece);
        }
        rest = after.trim_start();
    }
    pieces
}

/// Returns the maximum weight of a piece at this speed: slower speech lasts longer.
pub fn weight_max(chars_max: usize, speed: Option<u16>) -> usize {
    let percent = usize::from(speed.unwrap_or(100)).clamp(25, 100);
    chars_max * percent / 100
}

const SYLLABLE_WEIGHT: usize = 5;

fn char_weight(letter: char) -> usize {
    let light = letter.is_whitespace()
        || "'\".,;:!?()-".contains(letter)
        // Alphabets end below U+0700; syllabic and logographic scripts come after.
        || (letter.is_alphabetic() && letter < '\u{0700}');
    if light { 1 } else { SYLLABLE_WEIGHT }
}

/// Returns the end of the first piece of `text`.
fn first_piece_end(text: &str, weight_max: usize) -> usize {
    let (mut sentence, mut word, mut weighs) = (None, None, 0);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        weighs += char_weight(letter);
        if weighs > weight_max {
            return sentence.or(word).unwrap_or(at);
        }
        let after = at + letter.len_utf8();
        let before_space = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if "。！？".contains(letter) || (".!?…\n".contains(letter) && before_space) {
            sentence = Some(after);
        }
        if letter.is_whitespace() {
            word = Some(after);
        }
    }
    text.len()
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
