//! Text in pieces at 20 and more columns.

use super::*;

/// `text` in pieces of `size` letters.
fn flowed(text: &str, columns: Option<usize>, size: usize) -> String {
    let mut flow = StreamWrapper::new(columns);
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::new();
    for piece in letters.chunks(size) {
        out.push_str(&flow.push(&piece.iter().collect::<String>()));
    }
    out.push_str(&flow.rest());
    out
}

#[test]
fn lines_break_between_words_however_the_pieces_come() {
    let text = "The quick brown fox jumps over the lazy dog.\n\nAnd a second paragraph follows.";
    let expected =
        "The quick brown fox\njumps over the lazy\ndog.\n\nAnd a second\nparagraph follows.";
    for size in [1, 2, 3, 7, 100] {
        assert_eq!(flowed(text, Some(20), size), expected, "pieces of {size}");
    }
}

#[test]
fn items_hang_below_their_text() {
    let text = "- one two three four five six\n  2. seven eight nine ten eleven";
    let expected = "- one two three four\n  five six\n  2. seven eight\n     nine ten eleven";
    assert_eq!(flowed(text, Some(20), 3), expected);
}

#[test]
fn code_and_tables_keep_their_lines() {
    let text = "```rust\nlet answer = forty_two(and, more);\n```\n| a table with | many columns |\n    indented code stays as it is\nplain text is broken again here";
    let out = flowed(text, Some(20), 4);
    assert!(
        out.contains("let answer = forty_two(and, more);\n```\n"),
        "{out}"
    );
    assert!(out.contains("| a table with | many columns |\n"), "{out}");
    assert!(out.contains("    indented code stays as it is\n"), "{out}");
    assert!(out.ends_with("plain text is broken\nagain here"), "{out}");
}

#[test]
fn a_program_gets_the_text_as_it_is() {
    let text = "word  word   \n  and a very long line that no terminal would hold in one row\n";
    assert_eq!(flowed(text, None, 5), text);
}

#[test]
fn nothing_from_outside_moves_the_cursor() {
    for columns in [None, Some(40)] {
        let out = flowed("a\u{1b}[2Jb\rc\u{7}d\u{202e}e\tf", columns, 2);
        let moves = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
        assert!(!out.contains(moves) && !out.contains('\u{202e}'), "{out:?}");
    }
}

#[test]
fn the_end_of_a_line_is_known() {
    let mut flow = StreamWrapper::new(Some(40));
    assert!(flow.is_at_line_start());
    assert_eq!(flow.push("half a li"), "half a");
    assert!(!flow.is_at_line_start());
    assert_eq!(flow.end_line(), " li\n");
    assert_eq!(
        (flow.is_at_line_start(), flow.end_line().as_str()),
        (true, "")
    );
}

#[test]
fn a_word_wider_than_the_screen_is_left_to_the_terminal() {
    let long = "x".repeat(50);
    assert_eq!(
        flowed(&format!("see {long} ok"), Some(20), 9),
        format!("see\n{long}\nok")
    );
}
