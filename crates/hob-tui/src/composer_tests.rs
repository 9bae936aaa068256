//! Editing, pastes, history and completion, by examples and by random keys.

use super::*;
use proptest::prelude::*;
use unicode_segmentation::GraphemeCursor;

fn typed(text: &str) -> Composer {
    let mut composer = Composer::default();
    text.chars().for_each(|letter| composer.type_char(letter));
    composer
}

#[test]
fn it_edits_as_readline_does() {
    let mut composer = typed("one two three");
    composer.edit(TextBuffer::cut_word_left);
    assert_eq!(composer.buffer().text(), "one two ");
    composer.edit(TextBuffer::yank);
    composer.move_caret(TextBuffer::line_start);
    composer.move_caret(TextBuffer::word_right);
    composer.edit(TextBuffer::cut_to_end);
    assert_eq!(composer.buffer().text(), "one");
    composer.edit(TextBuffer::yank);
    composer.edit(TextBuffer::cut_to_start);
    assert!(composer.is_empty());
}

#[test]
fn a_caret_never_stands_inside_of_a_letter() {
    let mut composer = typed("a👩‍👩‍👧é");
    composer.move_caret(TextBuffer::left);
    composer.edit(TextBuffer::delete_left);
    assert_eq!(composer.buffer().text(), "aé");
    composer.edit(TextBuffer::delete_right);
    assert_eq!(composer.buffer().text(), "a");
}

#[test]
fn rows_and_the_caret_are_where_they_are_seen() {
    let composer = typed("漢字x\nlong line here");
    let buffer = composer.buffer();
    let rows: Vec<&str> = buffer
        .rows(4)
        .iter()
        .map(|row| &buffer.text()[row.start..row.end])
        .collect();
    assert_eq!(rows, ["漢字", "x", "long", " lin", "e he", "re"]);
    assert_eq!(buffer.caret_place(4), (5, 2));
    assert_eq!(typed("abcd").buffer().caret_place(4), (1, 0));
    let mut composer = typed("abc\nd");
    composer.move_caret(|buffer| assert!(buffer.up(10)));
    assert_eq!(composer.buffer().caret(), 1);
    composer.move_caret(|buffer| assert!(!buffer.up(10)));
}

#[test]
fn a_long_paste_is_shown_by_its_name_and_sent_whole() {
    let mut composer = typed("look: ");
    let long = (0..20)
        .map(|it| format!("line {it}\n"))
        .collect::<Vec<_>>()
        .concat();
    composer.paste(&long.replace('\n', "\r"));
    composer.type_char('!');
    assert_eq!(composer.buffer().text(), "look: [paste 1: 20 lines]!");
    assert_eq!(composer.message(), format!("look: {long}!"));
    let mut short = Composer::default();
    short.paste("two\r\nlines");
    assert_eq!(short.buffer().text(), "two\nlines");
    // A name that was changed is a text like others.
    composer.edit(|buffer| {
        buffer.left();
        buffer.delete_left();
    });
    assert_eq!(composer.message(), "look: [paste 1: 20 lines!");
}

#[test]
fn history_goes_back_and_returns_to_the_unsent() {
    let mut composer = Composer {
        history: History::new(vec!["first".into(), "second\nline".into()]),
        ..Composer::default()
    };
    composer.type_char('x');
    assert!(composer.recall(true) && composer.buffer().text() == "second\nline");
    assert!(composer.recall(true) && composer.buffer().text() == "first");
    assert!(!composer.recall(true));
    assert!(composer.recall(false) && composer.recall(false));
    assert_eq!(composer.buffer().text(), "x");
    assert!(!composer.recall(false));
    composer.clear();
    composer.search_history();
    "IR".chars().for_each(|letter| composer.type_char(letter));
    assert_eq!(composer.buffer().text(), "first");
    assert!(composer.end_search(false));
    assert_eq!(composer.take(), "first");
}

#[test]
fn the_history_file_is_that_of_the_prompt() {
    let messages = vec!["one".to_owned(), "two\nlines \\ and n\\n".to_owned()];
    let text = write_history(&messages);
    assert_eq!(text, "#V2\none\ntwo\\nlines \\\\ and n\\\\n\n");
    assert_eq!(read_history(&text), messages);
    assert_eq!(read_history("old\nform"), ["old", "form"]);
}

#[test]
fn words_are_completed_where_the_caret_is() {
    let mut composer = typed("see @ma");
    assert_eq!(composer.word_to_complete(), Some("@ma"));
    let items = ["src/main.rs", "README.md"].into_iter().map(|name| {
        let text = format!("@{name} ");
        (
            name.to_owned(),
            CompletionItem {
                text,
                about: String::new(),
            },
        )
    });
    composer.offer(Some(Completion::of("ma", items)));
    assert!(composer.accept_completion().is_some());
    assert_eq!(composer.buffer().text(), "see @src/main.rs ");
    assert_eq!(typed("/mo").word_to_complete(), Some("/mo"));
    assert_eq!(typed("a /mo").word_to_complete(), None);
    assert_eq!(typed("漢字\u{3000}@x").word_to_complete(), Some("@x"));
}

proptest! {
    #[test]
    fn any_keys_leave_a_caret_between_graphemes(steps in proptest::collection::vec((0u8..16, any::<char>()), 0..60)) {
        let mut buffer = TextBuffer::default();
        for (step, letter) in steps {
            match step {
                0 => buffer.left(),
                1 => buffer.right(),
                2 => buffer.word_left(),
                3 => buffer.word_right(),
                4 => buffer.delete_left(),
                5 => buffer.delete_right(),
                6 => buffer.cut_word_left(),
                7 => buffer.cut_to_end(),
                8 => buffer.cut_to_start(),
                9 => buffer.yank(),
                10 => drop(buffer.up(7)),
                11 => drop(buffer.down(7)),
                12 => buffer.insert("\n"),
                _ => buffer.insert(&crate::text::clean(&letter.to_string())),
            }
            let mut cursor = GraphemeCursor::new(buffer.caret(), buffer.text().len(), true);
            prop_assert!(cursor.is_boundary(buffer.text(), 0).unwrap());
            let (row, column) = buffer.caret_place(7);
            prop_assert!(row < buffer.rows(7).len() && column <= 7);
        }
    }
}
