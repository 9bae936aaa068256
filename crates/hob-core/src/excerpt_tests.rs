//! The beginning and end of a long text.

use super::excerpt;

#[test]
fn a_short_text_stays_and_of_a_long_one_both_ends_do() {
    assert_eq!(excerpt("abcd", 4), "abcd");
    assert_eq!(excerpt("abcdef", 4), "ab\n[… 2 bytes left out …]\nef");
}

#[test]
fn no_character_is_cut() {
    assert_eq!(excerpt("äöüß", 5), "ä\n[… 4 bytes left out …]\nß");
}
