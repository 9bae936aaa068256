//! Shortens a long text to its beginning and end. Pure.

/// Returns at most `bytes_max` bytes of a text, plus a line that tells how much is left out.
pub fn excerpt(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let half = bytes_max / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

#[cfg(test)]
#[path = "excerpt_tests.rs"]
mod tests;
