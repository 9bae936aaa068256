//! Which bytes of a terminal are an answer.

use super::*;

#[test]
fn a_key_answers_and_a_paste_does_not() {
    let keys = ['y', 'n'];
    assert_eq!(find_key("y", &keys), Some('y'));
    assert_eq!(find_key("N", &keys), Some('n'));
    assert_eq!(find_key("xy", &keys), Some('y'));
    for nothing in ["", "x", "\u{1b}[A", "\u{1b}n", "yes please", "é"] {
        assert_eq!(find_key(nothing, &keys), None, "{nothing:?}");
    }
}
