//! The one filter that all text from models, tools and people passes before it becomes a cell. Pure.
//!
//! Invariants: the result has no control character but the line break, no escape sequence and no
//! character that reorders its neighbours; no letter carries more than [`MARKS_MAX`] marks. Filtering
//! twice changes nothing.

/// The most combining marks on one letter.
const MARKS_MAX: usize = 4;
/// The columns of a tab.
const TAB: &str = "    ";
/// The longest escape sequence that is removed as a whole; a longer one is no sequence.
const SEQUENCE_CHARS_MAX: usize = 4_096;

/// Returns the text as it may be shown. Line breaks stay, tabs become spaces.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut marks = 0;
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                let after = sequence_end(letters.clone());
                for _ in 0..after {
                    letters.next();
                }
            }
            '\n' | '\u{2028}' | '\u{2029}' => {
                out.push('\n');
                marks = 0;
            }
            '\t' => out.push_str(TAB),
            control if control.is_control() => {}
            bidi if is_reordering(bidi) => out.push_str(&mark(bidi)),
            invisible if is_invisible(invisible) => {}
            joined if is_mark(joined) => {
                marks += 1;
                if marks <= MARKS_MAX {
                    out.push(joined);
                }
            }
            shown => {
                marks = 0;
                out.push(shown);
            }
        }
    }
    out
}

/// Returns the text on one line.
pub fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// The number of characters that belong to an escape sequence after its first.
fn sequence_end(mut letters: impl Iterator<Item = char> + Clone) -> usize {
    let kept = letters.clone();
    let Some(kind) = letters.next() else {
        return 0;
    };
    match kind {
        // A control sequence ends with its first letter.
        '[' => {
            let inside = letters.take(SEQUENCE_CHARS_MAX);
            let length = inside.take_while(|it| ('\u{20}'..='\u{3f}').contains(it));
            let length = length.count();
            let last = kept.clone().nth(length + 1);
            1 + length + usize::from(last.is_some_and(|it| ('\u{40}'..='\u{7e}').contains(&it)))
        }
        // A string ends with BEL or ST, and at the latest with the line.
        ']' | 'P' | 'X' | '^' | '_' => string_length(kept),
        '(' | ')' | '*' | '+' | '#' | '%' => 1 + usize::from(letters.next().is_some_and(is_plain)),
        other if is_plain(other) => 1,
        _ => 0,
    }
}

fn is_plain(letter: char) -> bool {
    ('\u{20}'..='\u{7e}').contains(&letter)
}

fn string_length(letters: impl Iterator<Item = char>) -> usize {
    let mut is_escaped = false;
    let mut length = 0;
    for letter in letters.take(SEQUENCE_CHARS_MAX) {
        match letter {
            '\n' => return length,
            '\u{7}' | '\u{9c}' => return length + 1,
            '\\' if is_escaped => return length + 1,
            _ => {}
        }
        is_escaped = letter == '\u{1b}';
        length += 1;
    }
    length
}

/// Returns true for characters that change the order in which others are shown.
fn is_reordering(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true for characters without a shape that are not needed to join others.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true for characters that stand on or join the one before them.
fn is_mark(letter: char) -> bool {
    use unicode_width::UnicodeWidthChar;
    letter.width() == Some(0)
}

fn mark(letter: char) -> String {
    format!("⟨{:04X}⟩", u32::from(letter))
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
