//! The same bytes for a person and for a program.

use super::*;

fn printed(is_screen: bool, pieces: &[&str]) -> String {
    let mut filter = OutputFilter::new(is_screen);
    let mut out: String = pieces.iter().map(|piece| filter.push(piece)).collect();
    out.push_str(&filter.finish());
    out
}

#[test]
fn lines_end_as_lines_do_wherever_the_pieces_are_cut() {
    for is_screen in [true, false] {
        assert_eq!(printed(is_screen, &["a\r\nb\r", "\nc\n"]), "a\nb\nc\n");
        assert_eq!(printed(is_screen, &["a\n", "", "b\n"]), "a\nb\n");
    }
}

#[test]
fn a_progress_bar_is_one_line() {
    let pieces = ["10%\r20", "%\r100%\r\ndone\r\n"];
    assert_eq!(printed(true, &pieces), "10%\r20%\r100%\ndone\n");
    assert_eq!(printed(false, &pieces), "100%\ndone\n");
}

#[test]
fn a_line_without_end_is_left_as_it_is_for_a_program_and_closed_for_a_person() {
    assert_eq!(printed(false, &["ab", "c"]), "abc");
    assert_eq!(printed(true, &["ab", "c"]), "abc\n");
    assert_eq!(printed(true, &[]), "");
}

#[test]
fn nothing_moves_the_cursor_or_grows_without_end() {
    for is_screen in [true, false] {
        let out = printed(is_screen, &["\u{1b}[2Jx\u{7}\u{9b}31my\u{202e}\tz\n"]);
        let moves = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        assert!(
            !out.chars().any(moves) && !out.contains('\u{202e}'),
            "{out:?}"
        );
        assert!(out.ends_with("\tz\n"), "{out:?}");
    }
    let mut filter = OutputFilter::new(false);
    let long = "x".repeat(LINE_CHARS_MAX + 1);
    assert_eq!(filter.push(&long).len(), long.len());
}

#[test]
fn the_last_line_is_known_when_it_has_come() {
    let mut filter = OutputFilter::new(false);
    assert!(filter.ends_with_line("") && !filter.ends_with_line("done"));
    filter.push(&"é".repeat(TAIL_BYTES_MAX));
    filter.push("\r\nall do");
    assert!(!filter.ends_with_line("all done"));
    filter.push("ne\r\n");
    assert!(filter.ends_with_line("all done") && filter.tail.len() <= TAIL_BYTES_MAX);
}

#[test]
fn the_rest_is_what_follows_what_was_printed() {
    let mut filter = OutputFilter::new(true);
    assert_eq!(filter.unprinted_rest("one\n"), Some("one\n"));
    filter.push("one\r");
    filter.push("\ntw");
    assert_eq!(filter.unprinted_rest("one\ntwo\n"), Some("o\n"));
    assert_eq!(filter.unprinted_rest("other\n"), None);
    filter.push(&"x".repeat(TAIL_BYTES_MAX));
    assert_eq!(
        filter.unprinted_rest("one\ntwo\n"),
        None,
        "too much to compare"
    );
}
