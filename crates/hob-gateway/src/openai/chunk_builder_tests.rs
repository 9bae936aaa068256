//! What a client is told while pieces are lost, repeated and begun anew.

use super::*;

fn piece(step: u32, attempt: u32, offset: u64, text: &str) -> Piece<'_> {
    Piece {
        step,
        attempt,
        offset,
        kind: Kind::Text,
        text,
    }
}

/// The words told, joined.
fn told(words: &[Word]) -> String {
    let texts = words.iter().filter_map(|word| match word {
        Word::Text(text) => Some(text.as_str()),
        Word::Thinking(_) | Word::AskStatus => None,
    });
    texts.collect()
}

#[test]
fn a_chat_is_told_as_it_comes() {
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    tale.piece(piece(1, 1, 0, "Hel"), true, &mut words).unwrap();
    tale.piece(piece(1, 1, 3, "lo"), true, &mut words).unwrap();
    tale.ended("Hello", &mut words).unwrap();
    let expected = ["Hel", "lo"].map(|text| Word::Text(text.to_owned()));
    assert_eq!(words, expected);
}

#[test]
fn the_end_brings_what_was_lost() {
    for lost in 0..4 {
        let (mut tale, mut words) = (Tale::default(), Vec::new());
        for (at, text) in [(0, "a"), (1, "b"), (2, "c"), (3, "d")] {
            if at != lost {
                tale.piece(piece(1, 1, at, text), true, &mut words).unwrap();
            }
        }
        tale.ended("abcd", &mut words).unwrap();
        assert_eq!(told(&words), "abcd", "without piece {lost}");
    }
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    tale.ended("all at once", &mut words).unwrap();
    assert_eq!(told(&words), "all at once");
}

#[test]
fn steps_of_a_chat_follow_each_other() {
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    tale.piece(piece(1, 1, 0, "Let me look."), true, &mut words)
        .unwrap();
    // A step that only called a tool says nothing.
    tale.piece(piece(3, 1, 0, "It is "), true, &mut words)
        .unwrap();
    tale.piece(piece(3, 1, 6, "five."), true, &mut words)
        .unwrap();
    tale.ended("It is five.", &mut words).unwrap();
    assert_eq!(told(&words), "Let me look.\n\nIt is five.");
}

#[test]
fn the_first_words_may_come_in_a_later_step() {
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    tale.piece(piece(2, 1, 0, "Five."), true, &mut words)
        .unwrap();
    tale.ended("Five.", &mut words).unwrap();
    assert_eq!(told(&words), "Five.");
}

#[test]
fn another_attempt_that_says_the_same_goes_on() {
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    tale.piece(piece(1, 1, 0, "Hello wor"), true, &mut words)
        .unwrap();
    tale.piece(piece(1, 2, 0, "Hello"), true, &mut words)
        .unwrap();
    tale.piece(piece(1, 2, 5, " world"), true, &mut words)
        .unwrap();
    tale.piece(piece(1, 1, 9, "late"), true, &mut words)
        .unwrap();
    tale.ended("Hello world", &mut words).unwrap();
    assert_eq!(told(&words), "Hello world");
}

#[test]
fn another_attempt_that_says_something_else_ends_the_stream() {
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    tale.piece(piece(1, 1, 0, "Hello"), true, &mut words)
        .unwrap();
    let fault = tale.piece(piece(1, 2, 0, "Good day"), true, &mut words);
    assert_eq!(fault.unwrap_err().status.as_u16(), 502);
    assert_eq!(told(&words), "Hello");
}

#[test]
fn a_hole_that_nothing_fills_is_not_passed_over() {
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    tale.piece(piece(1, 1, 0, "a"), true, &mut words).unwrap();
    tale.piece(piece(1, 1, 2, "c"), true, &mut words).unwrap();
    assert!(words.contains(&Word::AskStatus));
    assert!(
        tale.piece(piece(2, 1, 0, "next"), true, &mut words)
            .is_err()
    );
}

#[test]
fn a_run_is_mended_by_its_status_and_its_steps() {
    let (mut tale, mut words) = (Tale::default(), Vec::new());
    let text = |step, text| Text {
        step,
        attempt: 1,
        text,
    };
    tale.piece(piece(1, 1, 1, "b"), false, &mut words).unwrap();
    tale.status(text(1, "ab"), &mut words).unwrap();
    tale.piece(piece(1, 1, 3, "d"), false, &mut words).unwrap();
    tale.step_ended(text(1, "abcd"), &mut words).unwrap();
    tale.step_ended(text(2, "end"), &mut words).unwrap();
    tale.ended("end", &mut words).unwrap();
    assert_eq!(told(&words), "abcd\n\nend");
}
