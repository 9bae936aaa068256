//! What is a question and what is a mistyped command.

use super::*;

fn line(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[test]
fn a_single_argument_with_a_space_or_a_question_mark_is_asked() {
    for question in [
        "what is filling my disk?",
        "why?",
        "good morning",
        "sesion lst",
    ] {
        assert_eq!(
            insert_ask(line(&["hob", question])),
            line(&["hob", "ask", "--terminal", question])
        );
        let json = line(&["hob", "ask", "--terminal", "--json", question]);
        assert_eq!(insert_ask(line(&["hob", "--json", question])), json);
    }
}

#[test]
fn words_after_two_dashes_are_asked_whatever_they_are() {
    for words in [&["uptime"][..], &["show", "--all"], &["status"]] {
        let typed = [&["hob", "--"], words].concat();
        let asked = [&["hob", "ask", "--terminal", "--"], words].concat();
        assert_eq!(insert_ask(line(&typed)), line(&asked));
    }
}

#[test]
fn everything_else_is_left_alone() {
    for words in [
        &["hob"][..],
        &["hob", "sesion"],
        &["hob", "session", "list"],
        &["hob", "what", "now?"],
        &["hob", "--json"],
        &["hob", "--"],
        &["hob", "uptime", "--", "x"],
        &["hob", "--jsn x"],
        &["hob", " "],
        &["hob", ""],
    ] {
        assert_eq!(insert_ask(line(words)), line(words), "{words:?}");
    }
}
