//! Chunks when deltas are lost, repeated or started again.

use super::*;
use crate::openai::error::OpenaiError;
use hob_wire::rooms::agent::DeltaKind;

fn piece(step: u32, attempt: u32, offset: u64, text: &str) -> TextDelta<'_> {
    TextDelta {
        step,
        attempt,
        offset,
        kind: DeltaKind::Text,
        text,
    }
}

/// The chunks sent, joined.
fn sent(chunks: &[AnswerChunk]) -> String {
    let texts = chunks.iter().filter_map(|word| match word {
        AnswerChunk::Text(text) => Some(text.as_str()),
        AnswerChunk::Thinking(_) | AnswerChunk::AskStatus => None,
    });
    texts.collect()
}

#[test]
fn a_chat_is_told_as_it_comes() {
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    builder
        .piece(piece(1, 1, 0, "Hel"), true, &mut chunks)
        .unwrap();
    builder
        .piece(piece(1, 1, 3, "lo"), true, &mut chunks)
        .unwrap();
    builder.finish("Hello", &mut chunks).unwrap();
    let expected = ["Hel", "lo"].map(|text| AnswerChunk::Text(text.to_owned()));
    assert_eq!(chunks, expected);
}

#[test]
fn the_end_brings_what_was_lost() {
    for lost in 0..4 {
        let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
        for (at, text) in [(0, "a"), (1, "b"), (2, "c"), (3, "d")] {
            if at != lost {
                builder
                    .piece(piece(1, 1, at, text), true, &mut chunks)
                    .unwrap();
            }
        }
        builder.finish("abcd", &mut chunks).unwrap();
        assert_eq!(sent(&chunks), "abcd", "without piece {lost}");
    }
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    builder.finish("all at once", &mut chunks).unwrap();
    assert_eq!(sent(&chunks), "all at once");
}

#[test]
fn steps_of_a_chat_follow_each_other() {
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    builder
        .piece(piece(1, 1, 0, "Let me look."), true, &mut chunks)
        .unwrap();
    // A step that only called a tool says nothing.
    builder
        .piece(piece(3, 1, 0, "It is "), true, &mut chunks)
        .unwrap();
    builder
        .piece(piece(3, 1, 6, "five."), true, &mut chunks)
        .unwrap();
    builder.finish("It is five.", &mut chunks).unwrap();
    assert_eq!(sent(&chunks), "Let me look.\n\nIt is five.");
}

#[test]
fn the_first_words_may_come_in_a_later_step() {
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    builder
        .piece(piece(2, 1, 0, "Five."), true, &mut chunks)
        .unwrap();
    builder.finish("Five.", &mut chunks).unwrap();
    assert_eq!(sent(&chunks), "Five.");
}

#[test]
fn another_attempt_that_says_the_same_goes_on() {
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    builder
        .piece(piece(1, 1, 0, "Hello wor"), true, &mut chunks)
        .unwrap();
    builder
        .piece(piece(1, 2, 0, "Hello"), true, &mut chunks)
        .unwrap();
    builder
        .piece(piece(1, 2, 5, " world"), true, &mut chunks)
        .unwrap();
    builder
        .piece(piece(1, 1, 9, "late"), true, &mut chunks)
        .unwrap();
    builder.finish("Hello world", &mut chunks).unwrap();
    assert_eq!(sent(&chunks), "Hello world");
}

#[test]
fn another_attempt_that_says_something_else_ends_the_stream() {
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    builder
        .piece(piece(1, 1, 0, "Hello"), true, &mut chunks)
        .unwrap();
    let error = builder.piece(piece(1, 2, 0, "Good day"), true, &mut chunks);
    assert_eq!(error, Err(DivergedAnswer));
    assert_eq!(OpenaiError::from(DivergedAnswer).status, 502);
    assert_eq!(sent(&chunks), "Hello");
}

#[test]
fn what_is_lost_of_a_chat_is_not_passed_over_and_comes_with_its_reply() {
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    builder
        .piece(piece(1, 1, 0, "a"), true, &mut chunks)
        .unwrap();
    builder
        .piece(piece(1, 1, 2, "c"), true, &mut chunks)
        .unwrap();
    assert!(chunks.contains(&AnswerChunk::AskStatus));
    builder
        .piece(piece(2, 1, 0, "next"), true, &mut chunks)
        .unwrap();
    assert_eq!(sent(&chunks), "a");
    let first = StepText {
        step: 1,
        attempt: 1,
        text: "abc",
    };
    builder.step_ended(first, &mut chunks).unwrap();
    builder.finish("next one", &mut chunks).unwrap();
    assert_eq!(sent(&chunks), "abc\n\nnext one");
}

#[test]
fn a_run_is_mended_by_its_status_and_its_steps() {
    let (mut builder, mut chunks) = (ChunkBuilder::default(), Vec::new());
    let text = |step, text| StepText {
        step,
        attempt: 1,
        text,
    };
    builder
        .piece(piece(1, 1, 1, "b"), false, &mut chunks)
        .unwrap();
    builder.status(text(1, "ab"), &mut chunks).unwrap();
    builder
        .piece(piece(1, 1, 3, "d"), false, &mut chunks)
        .unwrap();
    builder.step_ended(text(1, "abcd"), &mut chunks).unwrap();
    builder.step_ended(text(2, "end"), &mut chunks).unwrap();
    builder.finish("end", &mut chunks).unwrap();
    assert_eq!(sent(&chunks), "abcd\n\nend");
}
