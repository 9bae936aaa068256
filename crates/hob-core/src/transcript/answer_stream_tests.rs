//! Any mix of loss, repeat and reorder of the deltas gives each step's text once.

use super::*;
use proptest::prelude::*;

fn piece(step: u32, attempt: u32, offset: u64, text: &str) -> TextDelta<'_> {
    let kind = DeltaKind::Text;
    TextDelta {
        step,
        attempt,
        offset,
        kind,
        text,
    }
}

fn text(step: u32, attempt: u32, text: &str) -> StepText<'_> {
    StepText {
        step,
        attempt,
        text,
    }
}

/// The texts of the steps as a client has them; a replaced one begins anew.
fn shown(outputs: &[AnswerOutput]) -> Vec<(u32, String)> {
    let mut steps: Vec<(u32, String)> = Vec::new();
    for output in outputs {
        match output {
            AnswerOutput::Show { step, kind, text } => {
                assert_eq!(*kind, BlockKind::Text);
                match steps.last_mut() {
                    Some((last, shown)) if last == step => shown.push_str(text),
                    _ => steps.push((*step, text.clone())),
                }
            }
            AnswerOutput::Replaced { step } => {
                let replaced = steps.pop();
                assert_eq!(replaced.map(|(step, _)| step), Some(*step));
            }
        }
    }
    steps
}

#[test]
fn deltas_are_shown_as_they_come_and_the_end_adds_nothing() {
    let (mut stream, mut out) = (AnswerStream::default(), Vec::new());
    for (offset, text) in [(0, "# Good "), (7, "morning\n\n"), (16, "you")] {
        let before = out.len();
        assert!(!stream.apply_delta(piece(1, 1, offset, text), &mut out));
        let new: Vec<_> = shown(&out[before..]);
        assert_eq!(new, [(1, text.to_owned())]);
    }
    let before = out.len();
    stream.apply_step_end(text(1, 1, "# Good morning\n\nyou"), &mut out);
    stream.apply_step_end(text(1, 1, "# Good morning\n\nyou"), &mut out);
    stream.apply_run_end("# Good morning\n\nyou", &mut out);
    assert_eq!(out.len(), before);
}

#[test]
fn a_gap_asks_once_and_the_status_or_the_end_fills_it() {
    let (mut stream, mut out) = (AnswerStream::default(), Vec::new());
    stream.apply_delta(piece(1, 1, 0, "ab"), &mut out);
    assert!(stream.apply_delta(piece(1, 1, 4, "ef"), &mut out));
    assert!(!stream.apply_delta(piece(1, 1, 6, "gh"), &mut out) && stream.has_gap());
    stream.apply_status(text(1, 1, "abcdefgh"), &mut out);
    assert!(!stream.has_gap());
    assert_eq!(shown(&out), [(1, "abcdefgh".to_owned())]);
    assert!(stream.apply_delta(piece(1, 1, 9, "j"), &mut out));
    stream.status_failed();
    assert!(stream.apply_delta(piece(1, 1, 10, "k"), &mut out));
    stream.apply_step_end(text(1, 1, "abcdefghijk"), &mut out);
    assert_eq!(shown(&out), [(1, "abcdefghijk".to_owned())]);
}

#[test]
fn an_attempt_that_says_the_same_is_no_news_and_another_replaces() {
    let (mut stream, mut out) = (AnswerStream::default(), Vec::new());
    stream.apply_delta(piece(1, 1, 0, "Hello wor"), &mut out);
    stream.apply_delta(piece(1, 2, 0, "Hello"), &mut out);
    stream.apply_delta(piece(1, 1, 9, "late"), &mut out);
    stream.apply_delta(piece(1, 2, 5, " world"), &mut out);
    assert!(!out.contains(&AnswerOutput::Replaced { step: 1 }));
    assert_eq!(shown(&out), [(1, "Hello world".to_owned())]);
    stream.apply_delta(piece(1, 3, 0, "Good day"), &mut out);
    assert_eq!(shown(&out), [(1, "Good day".to_owned())]);
    // One that ends with less than was shown is another text, and so is none at all.
    stream.apply_step_end(text(1, 4, "Good"), &mut out);
    assert_eq!(shown(&out), [(1, "Good".to_owned())]);
    stream.apply_delta(piece(2, 1, 0, "Well"), &mut out);
    stream.apply_step_end(text(2, 2, ""), &mut out);
    assert_eq!(shown(&out), [(1, "Good".to_owned())]);
}

#[test]
fn a_step_waits_for_the_end_of_the_one_before_unless_there_is_none() {
    let (mut stream, mut out) = (AnswerStream::default(), Vec::new());
    stream.apply_delta(piece(1, 1, 0, "one"), &mut out);
    stream.apply_delta(piece(2, 1, 0, "tw"), &mut out);
    stream.apply_step_end(text(1, 1, "one!"), &mut out);
    assert!(stream.apply_delta(piece(2, 1, 2, "o"), &mut out));
    stream.apply_step_end(text(2, 1, "two"), &mut out);
    stream.apply_delta(piece(3, 1, 0, "three"), &mut out);
    stream.skip_to_step(5, &mut out);
    stream.apply_delta(piece(5, 1, 0, "fi"), &mut out);
    stream.apply_run_end("five", &mut out);
    let steps = [(1, "one!"), (2, "two"), (3, "three"), (5, "five")];
    assert_eq!(
        shown(&out),
        steps.map(|(step, text)| (step, text.to_owned()))
    );
}

#[test]
fn a_stopped_run_may_end_with_less_than_was_shown() {
    let (mut stream, mut out) = (AnswerStream::default(), Vec::new());
    stream.apply_delta(piece(1, 1, 0, "Once upon"), &mut out);
    stream.apply_run_end("Once", &mut out);
    assert_eq!(shown(&out), [(1, "Once upon".to_owned())]);
}

#[test]
fn reasoning_goes_on_behind_a_gap() {
    let (mut stream, mut out) = (AnswerStream::default(), Vec::new());
    let thought = |offset, text| TextDelta {
        kind: DeltaKind::Thinking,
        ..piece(1, 1, offset, text)
    };
    for (offset, text) in [(0, "so "), (0, "so "), (9, "then")] {
        assert!(!stream.apply_delta(thought(offset, text), &mut out));
    }
    let texts = out.iter().map(|output| match output {
        AnswerOutput::Show {
            kind: BlockKind::Thinking,
            text,
            ..
        } => text.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(texts.collect::<String>(), "so then");
}

/// A step: its attempts, each as pieces. The last attempt counts.
type Step = Vec<Vec<String>>;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let piece = prop::string::string_regex("[a-c\u{e9}\u{65e5} #`\n]{1,4}").expect("a pattern");
    let attempt = prop::collection::vec(piece, 0..8);
    prop::collection::vec(prop::collection::vec(attempt, 1..4), 1..4)
}

proptest! {
    #[test]
    fn every_text_is_shown_once(
        steps in steps(),
        fates in prop::collection::vec((prop::bool::weighted(0.25), 1..3_usize, any::<bool>()), 64),
    ) {
        let (mut stream, mut out) = (AnswerStream::default(), Vec::new());
        let mut fates = fates.iter().cycle();
        for (step, attempts) in (1..).zip(&steps) {
            for (attempt, pieces) in (1..).zip(attempts) {
                let mut so_far = String::new();
                for one in pieces {
                    let offset = so_far.len() as u64;
                    so_far.push_str(one);
                    let (is_lost, times, is_answered) = fates.next().expect("endless");
                    for _ in 0..if *is_lost { 0 } else { *times } {
                        let asks = stream.apply_delta(piece(step, attempt, offset, one), &mut out);
                        if asks && *is_answered {
                            stream.apply_status(text(step, attempt, &so_far), &mut out);
                        } else if asks {
                            stream.status_failed();
                        }
                    }
                }
            }
            let whole = attempts.last().map(|pieces| pieces.concat()).unwrap_or_default();
            let attempt = u32::try_from(attempts.len()).expect("few");
            stream.apply_step_end(text(step, attempt, &whole), &mut out);
            let last = shown(&out).into_iter().filter(|(last, _)| *last == step);
            let last = last.map(|(_, text)| text).collect::<String>();
            prop_assert_eq!(last, whole);
        }
    }
}
