//! What counts as a key.

use super::*;

#[test]
fn a_key_is_one_word_of_plain_characters() {
    assert_eq!(check_key(" sk-ant-0123456789\n"), Ok("sk-ant-0123456789"));
    let longest = "k".repeat(KEY_BYTES_MAX);
    assert_eq!(check_key(&longest), Ok(longest.as_str()));
    for (text, error) in [
        ("", KeyShapeError::TooShort),
        ("short", KeyShapeError::TooShort),
        ("two words here", KeyShapeError::BadCharacter),
        ("sk-012345\nsk-678901", KeyShapeError::BadCharacter),
        ("sk-0123\u{1b}[A456", KeyShapeError::BadCharacter),
        ("sk-0123456\u{0}", KeyShapeError::BadCharacter),
        ("sk-0123456é", KeyShapeError::BadCharacter),
    ] {
        assert_eq!(check_key(text), Err(error), "{text:?}");
        assert!(!error.sentence().contains("sk-"));
    }
    let longer = "k".repeat(KEY_BYTES_MAX + 1);
    assert_eq!(check_key(&longer), Err(KeyShapeError::TooLong));
}
