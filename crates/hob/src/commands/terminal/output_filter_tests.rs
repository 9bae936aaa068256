//! The same bytes for a person and for a program.

use super::*;

fn printed(is_screen: bool, pieces: &[&str]) -> String {
    let mut printing = Printing::new(is_screen);
    let mut out: String = pieces.iter().map(|piece| printing.take(piece)).collect();
    out.push_str(&printing.end());
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
    let mut printing = Printing::new(false);
    let long = "x".repeat(LINE_CHARS_MAX + 1);
    assert_eq!(printing.take(&long).len(), long.len());
}

#[test]
fn the_last_line_is_known_when_it_has_come() {
    let mut printing = Printing::new(false);
    assert!(printing.has_last("") && !printing.has_last("done"));
    printing.take(&"é".repeat(TAIL_BYTES_MAX));
    printing.take("\r\nall do");
    assert!(!printing.has_last("all done"));
    printing.take("ne\r\n");
    assert!(printing.has_last("all done") && printing.tail.len() <= TAIL_BYTES_MAX);
}

#[test]
fn the_rest_is_what_follows_what_was_printed() {
    let mut printing = Printing::new(true);
    assert_eq!(printing.rest_of("one\n"), Some("one\n"));
    printing.take("one\r");
    printing.take("\ntw");
    assert_eq!(printing.rest_of("one\ntwo\n"), Some("o\n"));
    assert_eq!(printing.rest_of("other\n"), None);
    printing.take(&"x".repeat(TAIL_BYTES_MAX));
    assert_eq!(printing.rest_of("one\ntwo\n"), None, "too much to compare");
}
