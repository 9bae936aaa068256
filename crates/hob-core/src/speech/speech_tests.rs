//! Where texts are cut, and that nothing of them is lost.

use super::{split, weight_max};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

#[test]
fn a_short_text_stays_whole() {
    assert_eq!(split("  Hello there. ", 100), ["Hello there."]);
    assert!(split(" \n ", 100).is_empty());
}

#[test]
fn cuts_are_at_the_ends_of_sentences() {
    let text = "One two. Three four! Five 3.5 six? Seven";
    assert_eq!(
        split(text, 22),
        ["One two. Three four!", "Five 3.5 six?", "Seven"]
    );
    assert_eq!(split("one two three four", 10), ["one two", "three four"]);
    assert_eq!(split("abcdefghij", 5), ["abcde", "fghij"]);
}

#[test]
fn what_takes_long_to_speak_makes_short_pieces() {
    assert_eq!(split("1234", 10), ["12", "34"]);
    assert_eq!(split("你好。世界。", 15), ["你好。", "世界。"]);
    assert_eq!(weight_max(1_000, None), 1_000);
    assert_eq!(weight_max(1_000, Some(50)), 500);
    assert_eq!(weight_max(1_000, Some(400)), 1_000);
    assert_eq!(weight_max(1_000, Some(1)), 250);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn nothing_is_lost(text in "[a-z0-9 .!?\n好。é]{0,200}", max in 1_usize..40) {
        let pieces = split(&text, max);
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(plain(&pieces.concat()), plain(&text));
        for piece in pieces {
            prop_assert!(!piece.trim().is_empty());
            prop_assert!(piece.chars().count() <= max.max(5));
        }
    }
}
