//! Markdown as it looks, and any text at any width.

use super::*;
use proptest::prelude::*;

fn shown(text: &str, columns: usize) -> String {
    let rows = rows(text, columns, false);
    let lines: Vec<String> = rows
        .iter()
        .map(|row| row.spans.iter().map(|span| span.text.as_str()).collect())
        .collect();
    lines.join("\n")
}

#[test]
fn every_construct_has_its_look() {
    let text = "# Title\n\nA *word* and `code`, a [link](https://example.org).\n\n\
        1. one\n2. two\n   - inner with a long line that wraps\n   - [x] done\n\n\
        > quoted\n> text\n\n```rust\nfn main() {}\n```\n\n\
        | name | size |\n|---|--:|\n| a | 10 |\n| long name | 2 |\n\n---\nend";
    insta::assert_snapshot!(shown(text, 34));
}

#[test]
fn a_table_too_wide_is_a_list() {
    let text = "| one | two | three |\n|---|---|---|\n| alpha beta | gamma | delta |";
    assert_eq!(shown(text, 16), "one: alpha beta\ntwo: gamma\nthree: delta");
}

#[test]
fn an_open_table_is_shown_as_written() {
    let text = "| a | b |\n|---|---|\n| 1 |";
    assert_eq!(rows(text, 40, true).len(), 3);
    assert_eq!(rows(text, 40, true)[0].text(), "| a | b |");
}

proptest! {
    #[test]
    fn any_text_fits_any_width(text in "[a-z #*_`>|\\-\\[\\]()\n0-9.漢👩]{0,200}", columns in 2usize..60) {
        for row in rows(&text, columns, false) {
            prop_assert!(row.width() <= columns, "{:?}", row);
        }
    }
}
