//! Loops of small models, and good answers that only look like one.

use super::{LINE_TIMES_MAX, LineScope, Repetition, RepetitionGuard};
use proptest::prelude::*;

/// The text that is shown, and the verdict.
fn guard(scope: LineScope, pieces: &[&str]) -> (String, Option<Repetition>) {
    let mut guard = RepetitionGuard::new(scope);
    let mut shown: String = pieces.iter().map(|piece| guard.push(piece)).collect();
    shown.push_str(&guard.finish());
    (shown, guard.found())
}

fn whole(scope: LineScope, text: &str) -> Option<Repetition> {
    guard(scope, &[text]).1
}

#[test]
fn a_line_comes_twice_and_not_a_third_time() {
    let text = "The capital of Italy is Rome.\n".repeat(43);
    for scope in [LineScope::InARow, LineScope::Anywhere] {
        let (shown, found) = guard(scope, &[&text]);
        assert_eq!(found, Some(Repetition::Line));
        assert_eq!(shown, "The capital of Italy is Rome.\n".repeat(2));
    }
}

#[test]
fn a_third_line_without_an_end_is_found_when_the_answer_ends() {
    let text = "It is Rome, surely.\nIt is Rome, surely.\nIt is Rome, surely.";
    let (shown, found) = guard(LineScope::InARow, &[text]);
    assert_eq!(found, Some(Repetition::Line));
    assert_eq!(shown, "It is Rome, surely.\nIt is Rome, surely.\n");
}

#[test]
fn a_line_that_begins_like_a_repeated_one_is_shown_once_it_differs() {
    let mut guard = RepetitionGuard::new(LineScope::InARow);
    guard.push("Rome is old and large.\nRome is old and large.\n");
    assert_eq!(guard.push("Rome is "), "");
    assert_eq!(guard.push("young"), "Rome is young");
    assert_eq!(guard.push("."), ".");
    assert_eq!((guard.finish().as_str(), guard.found()), ("", None));
}

#[test]
fn numbers_and_bullets_do_not_hide_a_repetition() {
    for text in [
        "1. Use a better model.\n2. Use a better model.\n3. Use a better model.\n",
        "- Use a better model.\n\n- Use a better model.\n\n* Use a better model.\n",
    ] {
        assert_eq!(
            whole(LineScope::InARow, text),
            Some(Repetition::Line),
            "{text}"
        );
    }
}

#[test]
fn lines_elsewhere_count_only_for_short_answers() {
    let text = "Yes, that is right.\nA.\nYes, that is right.\nB.\nYes, that is right.\n";
    assert_eq!(whole(LineScope::InARow, text), None);
    assert_eq!(whole(LineScope::Anywhere, text), Some(Repetition::Line));
}

#[test]
fn a_phrase_on_one_line_is_found_soon() {
    let phrase = "and then he said that ";
    let text = phrase.repeat(100);
    let (shown, found) = guard(LineScope::InARow, &[&text]);
    assert_eq!(found, Some(Repetition::Phrase));
    assert!(shown.chars().count() < 300, "{}", shown.len());
}

#[test]
fn a_cycle_of_lines_is_a_phrase() {
    let text = "A: What is it?\nB: I do not know.\nA: Who does?\n".repeat(20);
    assert_eq!(whole(LineScope::InARow, &text), Some(Repetition::Phrase));
}

#[test]
fn good_answers_are_left_alone() {
    let rows = "| 1 | 2 |\n|---|---|\n".to_owned() + &"| 0 | 0 |\n".repeat(50);
    let counted: Vec<String> = (1..200).map(|number: u32| number.to_string()).collect();
    let counted = counted.join("\n");
    let code = "fn a() {\n    if b {\n        c();\n    }\n}\n\nfn d() {\n    if e {\n        f();\n    }\n}\n";
    let data = "let zeros = [\n".to_owned() + &"    0,\n".repeat(20) + "];\n";
    let rule = "─".repeat(300) + "\n" + &"-".repeat(300) + "\n" + &"=".repeat(300);
    let song = "Row, row, row your boat,\nGently down the stream.\nMerrily, merrily, merrily, merrily,\nLife is but a dream.\n".repeat(3);
    for text in [
        rows.as_str(),
        &counted,
        code,
        &data,
        &rule,
        &song,
        &"0".repeat(400),
        "Ha ha ha ha ha ha ha ha.",
    ] {
        assert_eq!(guard(LineScope::InARow, &[text]), (text.to_owned(), None));
    }
}

/// Text as looping models write it: few words, few lines, often the same.
fn looping() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("Rome "),
        Just("is "),
        Just("the capital\n"),
        Just("the capital of Italy.\n"),
        Just("1. "),
        Just("- "),
        Just("\n"),
        Just("é"),
        Just("Rome is the capital of Italy.\n"),
    ];
    proptest::collection::vec(word, 0..120).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn the_pieces_do_not_matter(text in looping(), cuts in proptest::collection::vec(1_usize..9, 1..60)) {
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        let mut lengths = cuts.iter().cycle();
        while !rest.is_empty() {
            let length = rest.ceil_char_boundary(*lengths.next().unwrap_or(&1));
            let (piece, more) = rest.split_at(length);
            pieces.push(piece);
            rest = more;
        }
        for scope in [LineScope::InARow, LineScope::Anywhere] {
            prop_assert_eq!(guard(scope, &pieces), guard(scope, &[&text]));
        }
    }

    #[test]
    fn what_is_shown_is_a_beginning_without_a_third_line(text in looping()) {
        let (shown, found) = guard(LineScope::Anywhere, &[&text]);
        prop_assert!(text.starts_with(&shown));
        prop_assert!(found.is_some() || shown == text);
        for line in shown.lines().map(str::trim).filter(|line| !line.is_empty()) {
            // A cut line may be the beginning of another, so only whole ones are counted.
            let times = shown.lines().map(str::trim).filter(|other| *other == line).count();
            let marker = line.len() <= 2;
            prop_assert!(marker || times < LINE_TIMES_MAX as usize + usize::from(found == Some(Repetition::Phrase)), "{line:?} in {shown:?}");
        }
    }
}
