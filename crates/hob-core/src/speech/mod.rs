//! Speech: texts cut into pieces that are spoken one after the other, and the sound they make put
//! together again. Pure.
//!
//! - [`split`]: the pieces of a text
//! - [`wav`]: what a WAV file says of itself, mended and joined

pub mod wav;

/// The pieces of a text, each at most `weight_max` heavy: cut at the end of a sentence, else
/// between words, else anywhere. Together they are the text but for the space around the cuts.
///
/// A letter weighs one; what is spoken as a whole word or syllable (a digit, a sign, a letter of a
/// script that writes syllables) weighs more, so that a piece's sound is bounded too.
pub fn split(text: &str, weight_max: usize) -> Vec<&str> {
    let weight_max = weight_max.max(HEAVY);
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let cut = cut(rest, weight_max);
        let (piece, after) = rest.split_at(cut);
        let piece = piece.trim_end();
        if !piece.is_empty() {
            pieces.push(piece);
        }
        rest = after.trim_start();
    }
    pieces
}

/// How heavy a piece of a text at this speed may be: slower speech lasts longer.
pub fn weight_max(chars_max: usize, speed: Option<u16>) -> usize {
    let percent = usize::from(speed.unwrap_or(100)).clamp(25, 100);
    chars_max * percent / 100
}

const HEAVY: usize = 5;

fn weight(letter: char) -> usize {
    let light = letter.is_whitespace()
        || "'\".,;:!?()-".contains(letter)
        // Alphabets; scripts of syllables and words begin beyond them.
        || (letter.is_alphabetic() && letter < '\u{0700}');
    if light { 1 } else { HEAVY }
}

/// Where the first piece of `text` ends.
fn cut(text: &str, weight_max: usize) -> usize {
    let (mut sentence, mut word, mut weighs) = (None, None, 0);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        weighs += weight(letter);
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
