//! What the filter lets through, by examples and by arbitrary text.

use super::*;
use proptest::prelude::*;

#[test]
fn sequences_are_removed_whole_and_words_stay() {
    for (text, shown) in [
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("a\u{1b}]0;title\u{7}b", "ab"),
        ("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "alink"),
        ("\u{1b}]52;c;aGVsbG8=\nnext", "\nnext"),
        ("\u{1b}Pq#0\u{1b}\\after", "after"),
        ("tab\there\r\n", "tab    here\n"),
        ("\u{9b}2Jgone", "2Jgone"),
        ("\u{1b}", ""),
        ("\u{1b}[", ""),
        ("bell\u{7}\u{8}", "bell"),
        ("\u{202e}txt", "⟨202E⟩txt"),
        ("zero\u{200b}width\u{feff}", "zerowidth"),
        ("👩‍👩‍👧 漢字 é", "👩‍👩‍👧 漢字 é"),
    ] {
        assert_eq!(clean(text), shown, "{text:?}");
    }
}

#[test]
fn marks_do_not_pile_up() {
    let piled = format!("a{}b", "\u{301}".repeat(200));
    assert_eq!(clean(&piled), format!("a{}b", "\u{301}".repeat(MARKS_MAX)));
}

proptest! {
    #[test]
    fn no_bytes_reach_the_terminal_as_orders(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let shown = clean(&text);
        prop_assert!(shown.chars().all(|it| it == '\n' || !it.is_control()), "{:?}", shown);
        prop_assert!(!shown.chars().any(is_reordering));
        prop_assert_eq!(clean(&shown), shown.clone());
        prop_assert!(!clean_line(&text).contains('\n'));
    }

    #[test]
    fn escapes_in_words_never_survive(text in "[a-z\u{1b}\\[\\]P0-9;m\u{7}\u{9b}\u{9d}\\\\\n]{0,80}") {
        let shown = clean(&text);
        prop_assert!(shown.chars().all(|it| it == '\n' || !it.is_control()), "{:?}", shown);
    }
}
