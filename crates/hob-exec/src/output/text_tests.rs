//! The same text and lines, whatever the chunks.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn chunks_do_not_change_text(text in "[a€😀é\n]{0,80}", step in 1_usize..9) {
        let mut decoder = Utf8Decoder::default();
        let mut whole = String::new();
        for chunk in text.as_bytes().chunks(step) {
            whole.push_str(&decoder.push(chunk));
        }
        whole.push_str(&decoder.finish());
        prop_assert_eq!(whole, text);
    }

    #[test]
    fn chunks_do_not_change_lines(text in "[a€\n]{0,80}", step in 1_usize..9) {
        let mut lines = LineSplitter::default();
        let mut found = Vec::new();
        for chunk in text.as_bytes().chunks(step) {
            found.extend(lines.push(chunk));
        }
        found.extend(lines.finish());
        let expected: Vec<&str> = text.lines().collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_line_without_end_is_cut_once_and_the_next_is_whole() {
    let mut lines = LineSplitter::default();
    for _ in 0..100 {
        assert!(lines.push(&[b'x'; 4096]).is_empty());
    }
    let found = lines.push(b"\nnext\r\n");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].len(), LINE_BYTES_MAX + CUT_MARK.len());
    assert!(found[0].ends_with(CUT_MARK));
    assert_eq!(found[1], "next");
    assert_eq!(lines.finish(), None);
}
