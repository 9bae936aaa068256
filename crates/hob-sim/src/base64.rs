//! Whether a text is base64, as providers check pictures; nothing is decoded.

/// Standard alphabet, padded, not empty.
pub(crate) fn is_sound(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && body.bytes().all(letters)
}
