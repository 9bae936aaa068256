//! Text as it is shown: filtered, measured by graphemes, broken into rows. Pure.

mod filter;
mod fuzzy;
mod quantity;
mod span;
mod wrap;

pub use filter::{clean, clean_line};
pub use fuzzy::{FuzzyMatch, fuzzy_match};
pub use quantity::{ago, clock, count, dollars, duration};
pub use span::{Emphasis, Role, Row, Span, Tone};
pub use wrap::{BreakAt, wrap};

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The columns of one grapheme: two at most, whatever it is made of.
pub fn grapheme_width(text: &str) -> usize {
    text.width().min(2)
}

/// The columns of a text.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(grapheme_width).sum()
}

/// Shortens the text to `columns` and ends it with `…`.
pub fn truncate(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut taken = 0;
    for grapheme in text.graphemes(true) {
        taken += grapheme_width(grapheme);
        if taken >= columns {
            break;
        }
        out.push_str(grapheme);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// The text with spaces behind it up to `columns`, or shortened to them.
pub fn fit(text: &str, columns: usize) -> String {
    let mut out = truncate(text, columns);
    out.push_str(&" ".repeat(columns.saturating_sub(width(&out))));
    out
}
