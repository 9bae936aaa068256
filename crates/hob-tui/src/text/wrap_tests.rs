//! Rows of words, code, wide letters and arbitrary text.

use super::*;
use crate::text::{clean, width};
use proptest::prelude::*;

fn rows(text: &str, columns: usize, at: BreakAt) -> Vec<String> {
    let rows = wrap(&[Span::plain(text)], columns, at);
    rows.iter().map(Row::text).collect()
}

#[test]
fn words_are_broken_between_and_long_ones_inside() {
    let words = |text, columns| rows(text, columns, BreakAt::Words);
    assert_eq!(words("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(words("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(words("a  b", 10), ["a  b"]);
    assert_eq!(words("one\n\ntwo", 10), ["one", "", "two"]);
    assert_eq!(words("well-known words", 12), ["well-known", "words"]);
    assert_eq!(words("a-bcdef", 5), ["a-", "bcdef"]);
    assert_eq!(words("1-234漢", 5), ["1-", "234漢"]);
    assert_eq!(words("漢字漢字漢", 4), ["漢字", "漢字", "漢"]);
    assert_eq!(words("a漢字b", 3), ["a漢", "字b"]);
    assert_eq!(words("👩‍👩‍👧👍🏽é", 3), ["👩‍👩‍👧", "👍🏽é"]);
}

#[test]
fn code_keeps_its_spaces() {
    assert_eq!(rows("  if x {", 4, BreakAt::Anywhere), ["  if", " x {"]);
}

#[test]
fn continued_rows_say_so() {
    let rows = wrap(&[Span::plain("aa bb\ncc")], 2, BreakAt::Words);
    let continues: Vec<bool> = rows.iter().map(|row| row.continues).collect();
    assert_eq!(continues, [false, true, false]);
}

proptest! {
    #[test]
    fn rows_fit_and_lose_nothing(text in any::<String>(), columns in 2usize..40) {
        let text = clean(&text);
        for at in [BreakAt::Words, BreakAt::Anywhere] {
            let rows = wrap(&[Span::plain(text.as_str())], columns, at);
            for row in &rows {
                prop_assert!(row.width() <= columns, "{:?}", row);
            }
            let joined: String = rows.iter().map(Row::text).collect();
            let letters = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(letters(&joined), letters(&text));
            prop_assert!(rows.iter().all(|row| width(&row.text()) == row.width()));
        }
    }
}
