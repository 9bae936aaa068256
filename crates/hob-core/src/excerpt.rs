//! A text that is too long, by its beginning and its end. Pure.

/// At most so many bytes of a text, beside a line that says how much is missing between.
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
