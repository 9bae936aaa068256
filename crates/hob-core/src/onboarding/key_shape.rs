//! The shape of a pasted key, checked before anything sees it.

/// The longest key.
pub const KEY_BYTES_MAX: usize = 4_096;
/// A shorter text is no key.
const KEY_BYTES_MIN: usize = 8;

/// The reason why a text is no key. It never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyShapeError {
    TooShort,
    TooLong,
    /// A space, a line break, a control character or a letter outside ASCII.
    BadCharacter,
}

impl KeyShapeError {
    /// A sentence for the person.
    pub fn sentence(self) -> &'static str {
        match self {
            KeyShapeError::TooShort => "That is too short for a key.",
            KeyShapeError::TooLong => "That is too long for a key.",
            KeyShapeError::BadCharacter => {
                "A key has no spaces, line breaks or special characters; paste only the key."
            }
        }
    }
}

/// Returns the key without the white space around it.
pub fn check_key(pasted: &str) -> Result<&str, KeyShapeError> {
    let key = pasted.trim();
    if key.len() > KEY_BYTES_MAX {
        return Err(KeyShapeError::TooLong);
    }
    if key.len() < KEY_BYTES_MIN {
        return Err(KeyShapeError::TooShort);
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(KeyShapeError::BadCharacter);
    }
    Ok(key)
}

#[cfg(test)]
#[path = "key_shape_tests.rs"]
mod tests;
