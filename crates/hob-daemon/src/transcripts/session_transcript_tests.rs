//! Inputs reach the fold in order and changes leave in order, whoever reports first.

use super::*;
use hob_core::transcript::MessageOrigin;
use hob_wire::block::{Block, BlockOp};
use hob_wire::{Message, MessageContent, MessageId};

const BEGIN: u64 = 1_000;

fn run() -> RunId {
    RunId(hob_kit::randomness::Randomness::seeded(1).uuid(1))
}

fn transcript() -> SessionTranscript {
    let tag = SessionTag {
        id: "1".into(),
        key: None,
    };
    SessionTranscript::new(tag, SessionId(run().0), "1")
}

fn message(seq: u64, role: Role, step: Option<u32>) -> TranscriptInput {
    let message = Message {
        id: MessageId(run().0),
        seq,
        role,
        content: MessageContent::Text(format!("message {seq}")),
        at: seq,
    };
    let origin = step.map(|step| MessageOrigin {
        step: step_ref(step, 1),
        outcome: None,
    });
    TranscriptInput::Message(StoredMessage::new(message, origin))
}

fn step_ref(step: u32, attempt: u32) -> StepRef {
    StepRef {
        run: run(),
        step,
        attempt,
    }
}

fn text(offset: u64, text: &str) -> TranscriptInput {
    TranscriptInput::Text {
        at: step_ref(1, 1),
        offset,
        text: text.to_owned(),
    }
}

/// Applies inputs; returns the changes that a follower gets.
fn apply(
    transcript: &SessionTranscript,
    followed: bool,
    inputs: impl IntoIterator<Item = TranscriptInput>,
) -> Vec<BlockChange> {
    let mut changes = Vec::new();
    let is_told = transcript.apply(
        inputs,
        followed,
        || BEGIN,
        |change| {
            changes.push(change);
            true
        },
    );
    assert!(is_told);
    changes
}

fn look(transcript: &SessionTranscript) -> (Vec<Block>, u64) {
    let mut shown = None;
    transcript.look(
        false,
        |_| true,
        |fold, position| shown = Some((fold.blocks().cloned().collect(), position)),
    );
    shown.expect("the fold has begun")
}

fn positions(changes: &[BlockChange]) -> Vec<u64> {
    changes.iter().map(|change| change.position).collect()
}

/// The blocks in the order in which they were opened.
fn opened(changes: &[BlockChange]) -> Vec<&str> {
    let opened = changes.iter().filter(|change| change.op == BlockOp::Open);
    opened.map(|change| change.id.as_str()).collect()
}

#[test]
fn messages_that_are_reported_out_of_order_are_shown_in_order() {
    let transcript = transcript();
    let first = apply(&transcript, true, [message(5, Role::User, None)]);
    assert_eq!(first[0].id, "m5/t1");
    assert!(apply(&transcript, true, [message(8, Role::User, None)]).is_empty());
    assert!(apply(&transcript, true, [message(7, Role::User, None)]).is_empty());
    let rest = apply(&transcript, true, [message(6, Role::User, None)]);
    assert_eq!(opened(&rest), ["m6/t1", "m7/t1", "m8/t1"]);
    let all: Vec<u64> = positions(&first)
        .into_iter()
        .chain(positions(&rest))
        .collect();
    let expected: Vec<u64> = (BEGIN + 1..=BEGIN + all.len() as u64).collect();
    assert_eq!(all, expected);
    // A message that was reported before is nothing new.
    assert!(apply(&transcript, true, [message(6, Role::User, None)]).is_empty());
}

#[test]
fn what_follows_a_message_waits_for_it() {
    let transcript = transcript();
    let begun = TranscriptInput::RunBegun { run: run() };
    apply(&transcript, true, [begun, message(1, Role::User, Some(0))]);
    // Another task wrote message 2 and has not reported it yet.
    let end = TranscriptInput::RunEnded {
        run: run(),
        cause: hob_wire::work::RunEndCause::Answered,
        message: None,
        notes: vec!["a note".to_owned()],
    };
    let held = apply(
        &transcript,
        true,
        [message(3, Role::Assistant, Some(1)), end],
    );
    assert!(held.is_empty(), "{held:?}");
    let changes = apply(&transcript, true, [message(2, Role::User, None)]);
    let ids: Vec<String> = changes.iter().map(|change| change.id.clone()).collect();
    let answer = format!("{}/1/1/t1", run());
    let note = format!("{}/n1", run());
    let place = |id: &str| ids.iter().position(|other| other == id);
    assert!(
        place("m2/t1") < place(&answer) && place(&answer) < place(&note),
        "{ids:?}"
    );
}

#[test]
fn a_message_that_is_never_reported_makes_the_fold_begin_anew() {
    let transcript = transcript();
    apply(&transcript, true, [message(1, Role::User, None)]);
    let later = (3..=3 + HELD_MAX as u64).map(|seq| message(seq, Role::User, None));
    let is_told = transcript.apply(later, true, || BEGIN, |_| true);
    assert!(!is_told && transcript.is_lost());
    // Nothing is shown before what is stored was read.
    let held = [message(900, Role::User, None)];
    assert!(!transcript.apply(held, true, || BEGIN, |_| panic!("no change")));
    assert!(transcript.begin_load());
    let fold = TranscriptFold::new(900, 2 * BEGIN);
    transcript.start(fold, 901, true, |_| panic!("no change"));
    assert!(!transcript.is_lost());
    let next = apply(&transcript, true, [message(901, Role::User, None)]);
    assert_eq!(next[0].position, 2 * BEGIN + 1);
}

#[test]
fn pieces_that_nobody_looks_at_are_joined_and_shown_when_somebody_does() {
    let transcript = transcript();
    let begun = TranscriptInput::RunBegun { run: run() };
    let task = message(1, Role::User, Some(0));
    let attempt = TranscriptInput::Attempt(step_ref(1, 1));
    apply(&transcript, false, [begun, task, attempt]);
    apply(
        &transcript,
        false,
        [text(0, "One "), text(4, "two "), text(8, "three")],
    );
    assert_eq!(transcript.lock().deferred.len(), 1);
    let (blocks, position) = look(&transcript);
    assert_eq!(blocks.last().expect("a block").text, "One two three");
    // A follower that asked goes on from there.
    let next = apply(&transcript, true, [text(13, " four")]);
    assert_eq!(next[0].position, position + 1);
    assert_eq!((next[0].offset, next[0].text.as_str()), (13, " four"));
    // What the stored answer replaces is not folded at all.
    apply(&transcript, false, [text(18, " five")]);
    apply(&transcript, false, [message(2, Role::Assistant, Some(1))]);
    assert!(transcript.lock().deferred.is_empty());
    let (blocks, _) = look(&transcript);
    assert_eq!(blocks.last().expect("a block").text, "message 2");
}

#[test]
fn inputs_that_come_while_the_stored_part_is_read_are_applied_behind_it() {
    let transcript = transcript();
    assert!(transcript.begin_load());
    assert!(!transcript.begin_load(), "one reads for all");
    // The first of them is also among what is read.
    let inputs = [message(4, Role::User, None), message(5, Role::User, None)];
    assert!(apply(&transcript, true, inputs).is_empty());
    let mut changes = Vec::new();
    let emit = |change: BlockChange| {
        changes.push(change);
        true
    };
    transcript.start(TranscriptFold::new(4, BEGIN), 5, true, emit);
    assert_eq!(opened(&changes), ["m5/t1"]);
}
