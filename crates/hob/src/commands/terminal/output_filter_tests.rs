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
fn control_sequences_are_removed_wherever_the_bytes_are_cut() {
    let bytes = "\u{1b}[31mr\u{e9}d\u{1b}[0m \u{1b}]52;c;eA==\u{7}\u{1b}]7717;0;C;x\u{1b}\\ok\r\n"
        .as_bytes();
    for size in 1..bytes.len() {
        let mut filter = OutputFilter::new(true);
        let pieces = bytes.chunks(size).map(|piece| filter.push_bytes(piece));
        assert_eq!(pieces.collect::<String>(), "r\u{e9}d ok\n", "{size}");
    }
}
