//! Any mix of loss, repeat and reorder of the volatile pieces shows each step's text once.

use super::*;
use proptest::prelude::*;

fn piece(step: u32, attempt: u32, offset: u64, text: &str) -> TextDelta<'_> {
    let kind = StreamKind::Text;
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

fn show(step: u32, text: &str) -> FollowOutput {
    FollowOutput::Show {
        step,
        kind: StreamKind::Text,
        text: text.to_owned(),
    }
}

/// What `act` lets a follower say.
fn said(
    follow: &mut RunFollower,
    act: impl FnOnce(&mut RunFollower, &mut Vec<FollowOutput>),
) -> Vec<FollowOutput> {
    let mut out = Vec::new();
    act(follow, &mut out);
    out
}

#[test]
fn pieces_in_order_are_shown_as_they_come_and_the_end_adds_nothing() {
    let mut follow = RunFollower::default();
    let first = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 1, 0, "Good "), out);
    });
    assert_eq!(first, [show(1, "Good ")]);
    let second = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 1, 5, "morning"), out);
    });
    assert_eq!(second, [show(1, "morning")]);
    let end = said(&mut follow, |f, out| {
        f.apply_step_end(text(1, 1, "Good morning"), out);
        f.apply_run_end("Good morning", out);
    });
    assert_eq!(end, []);
}

#[test]
fn a_hole_asks_once_and_the_status_fills_it_with_what_was_held() {
    let mut follow = RunFollower::default();
    let out = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 1, 0, "ab"), out);
        f.apply_delta(piece(1, 1, 4, "ef"), out);
        f.apply_delta(piece(1, 1, 6, "gh"), out);
    });
    assert_eq!(out, [show(1, "ab"), FollowOutput::RequestStatus]);
    let out = said(&mut follow, |f, out| {
        f.apply_status(text(1, 1, "abcd"), out);
    });
    assert_eq!(out, [show(1, "cd"), show(1, "ef"), show(1, "gh")]);
}

#[test]
fn a_repeat_is_dropped_and_an_overlap_shows_its_rest() {
    let mut follow = RunFollower::default();
    let out = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 1, 0, "abc"), out);
        f.apply_delta(piece(1, 1, 0, "abc"), out);
        f.apply_delta(piece(1, 1, 1, "bcd"), out);
    });
    assert_eq!(out, [show(1, "abc"), show(1, "d")]);
}

#[test]
fn a_new_attempt_drops_the_former_and_its_late_pieces() {
    let mut follow = RunFollower::default();
    let out = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 1, 0, "old"), out);
        f.apply_delta(piece(1, 2, 0, "new"), out);
        f.apply_delta(piece(1, 1, 3, " words"), out);
        f.apply_step_end(text(1, 2, "new."), out);
    });
    let restart = FollowOutput::Restart {
        step: 1,
        attempt: 2,
    };
    assert_eq!(out, [show(1, "old"), restart, show(1, "new"), show(1, ".")]);
}

#[test]
fn an_attempt_that_showed_nothing_is_dropped_without_a_word() {
    let mut follow = RunFollower::default();
    let out = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 3, 0, "first words"), out);
    });
    assert_eq!(out, [show(1, "first words")]);
}

#[test]
fn a_step_waits_for_the_end_of_the_one_before() {
    let mut follow = RunFollower::default();
    let out = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 1, 0, "one"), out);
        f.apply_delta(piece(2, 1, 0, "tw"), out);
        f.apply_step_end(text(1, 1, "one!"), out);
        f.apply_delta(piece(2, 1, 2, "o"), out);
        f.apply_status(text(2, 1, "two"), out);
    });
    let expected = [
        show(1, "one"),
        show(1, "!"),
        FollowOutput::RequestStatus,
        show(2, "two"),
    ];
    assert_eq!(out, expected);
}

#[test]
fn a_run_is_joined_on_its_way() {
    let mut follow = RunFollower::from_step(3);
    let out = said(&mut follow, |f, out| {
        f.apply_status(text(3, 2, "so far"), out);
        f.apply_delta(piece(3, 2, 3, "far"), out);
        f.apply_delta(piece(3, 2, 6, " so good"), out);
    });
    assert_eq!(out, [show(3, "so far"), show(3, " so good")]);
}

#[test]
fn a_stopped_run_keeps_what_was_shown() {
    let mut follow = RunFollower::default();
    let out = said(&mut follow, |f, out| {
        f.apply_delta(piece(1, 1, 0, "half an ans"), out);
        f.apply_run_end("", out);
    });
    assert_eq!(out, [show(1, "half an ans")]);
    let mut follow = RunFollower::default();
    let out = said(&mut follow, |f, out| f.apply_run_end("whole", out));
    assert_eq!(out, [show(1, "whole")]);
}

#[test]
fn lost_thinking_is_named_and_never_repeated() {
    let mut follow = RunFollower::default();
    let thought = |offset, text| TextDelta {
        kind: StreamKind::Thinking,
        ..piece(1, 1, offset, text)
    };
    let out = said(&mut follow, |f, out| {
        f.apply_delta(thought(0, "hm"), out);
        f.apply_delta(thought(0, "hm"), out);
        f.apply_delta(thought(5, "so"), out);
    });
    let kind = StreamKind::Thinking;
    let shown = |text: &str| FollowOutput::Show {
        step: 1,
        kind,
        text: text.to_owned(),
    };
    let expected = [
        shown("hm"),
        FollowOutput::Missing { step: 1, kind },
        shown("so"),
    ];
    assert_eq!(out, expected);
}

#[test]
fn what_is_held_is_bounded() {
    let mut follow = RunFollower::default();
    let big = "x".repeat(HELD_BYTES_MAX / 4);
    let mut out = Vec::new();
    for number in 0..40 {
        follow.apply_delta(piece(1, 1, 1 + number * big.len() as u64, &big), &mut out);
        assert!(follow.held_bytes <= HELD_BYTES_MAX);
    }
    assert_eq!(out, [FollowOutput::RequestStatus]);
}

/// What really happened, in order.
#[derive(Clone, Debug)]
enum Fact {
    Piece {
        step: u32,
        attempt: u32,
        offset: u64,
        text: String,
    },
    StepEnded {
        step: u32,
        attempt: u32,
        text: String,
    },
}

/// How the delivery of one fact is disturbed.
#[derive(Clone, Copy, Debug)]
struct Fate {
    lost: bool,
    repeats: usize,
    late: usize,
}

/// Steps of attempts of pieces; the last attempt of each step is the one that counts.
type Story = Vec<Vec<Vec<String>>>;

fn story() -> impl Strategy<Value = Story> {
    let piece = prop::string::string_regex("[a-cé日 ]{1,4}").expect("a pattern");
    let attempt = prop::collection::vec(piece, 0..8);
    let step = prop::collection::vec(attempt, 1..4);
    prop::collection::vec(step, 1..4)
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = (prop::bool::weighted(0.25), 0..3_usize, 0..6_usize);
    let fate = fate.prop_map(|(lost, repeats, late)| Fate {
        lost,
        repeats,
        late,
    });
    prop::collection::vec(fate, 128)
}

fn facts(story: &Story) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (step, attempts) in (1..).zip(story) {
        for (attempt, pieces) in (1..).zip(attempts) {
            let mut offset = 0;
            for text in pieces {
                let text = text.clone();
                let length = text.len() as u64;
                facts.push(Fact::Piece {
                    step,
                    attempt,
                    offset,
                    text,
                });
                offset += length;
            }
        }
        let attempt = u32::try_from(attempts.len()).expect("few");
        let text = attempts.last().map(|pieces| pieces.concat());
        facts.push(Fact::StepEnded {
            step,
            attempt,
            text: text.unwrap_or_default(),
        });
    }
    facts
}

/// The order of arrival: logged facts keep theirs, pieces are lost, repeated and late.
fn arrivals(facts: &[Fact], fates: &[Fate]) -> Vec<usize> {
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (index, fact) in facts.iter().enumerate() {
        let fate = fates[index % fates.len()];
        if matches!(fact, Fact::StepEnded { .. }) {
            order.push((index, index));
        } else if !fate.lost {
            for repeat in 0..=fate.repeats {
                order.push((index + fate.late * (1 + repeat), index));
            }
        }
    }
    order.sort_by_key(|(when, _)| *when);
    order.into_iter().map(|(_, index)| index).collect()
}

/// What a status says when the facts up to `last` have happened.
fn truth(facts: &[Fact], last: usize) -> (u32, u32, String) {
    let mut state = (1, 1, String::new());
    for fact in &facts[..=last] {
        match fact {
            Fact::Piece {
                step,
                attempt,
                text,
                ..
            } => {
                if (*step, *attempt) != (state.0, state.1) {
                    state = (*step, *attempt, String::new());
                }
                state.2.push_str(text);
            }
            Fact::StepEnded {
                step,
                attempt,
                text,
            } => state = (*step, *attempt, text.clone()),
        }
    }
    state
}

/// A face: the text of each step, and whether a status is owed.
#[derive(Default)]
struct Face {
    steps: BTreeMap<u32, String>,
    /// The attempt shown of each step.
    attempts: BTreeMap<u32, u32>,
    owed: bool,
}

impl Face {
    fn act(&mut self, out: Vec<FollowOutput>) {
        for output in out {
            match output {
                FollowOutput::Show { step, text, .. } => {
                    self.steps.entry(step).or_default().push_str(&text);
                }
                FollowOutput::Restart { step, attempt } => {
                    self.steps.remove(&step);
                    let former = self.attempts.insert(step, attempt);
                    assert!(former < Some(attempt), "an earlier attempt came back");
                }
                FollowOutput::RequestStatus => self.owed = true,
                FollowOutput::Missing { .. } => panic!("no thinking in this story"),
            }
        }
    }
}

proptest! {
    #[test]
    fn every_text_is_shown_exactly_once(story in story(), fates in fates()) {
        let facts = facts(&story);
        let mut follow = RunFollower::default();
        let mut face = Face::default();
        let mut happened = 0;
        for (count, index) in arrivals(&facts, &fates).into_iter().enumerate() {
            happened = happened.max(index);
            let mut out = Vec::new();
            match &facts[index] {
                Fact::Piece { step, attempt, offset, text } => {
                    follow.apply_delta(piece(*step, *attempt, *offset, text), &mut out);
                }
                Fact::StepEnded { step, attempt, text: whole } => {
                    follow.apply_step_end(text(*step, *attempt, whole), &mut out);
                }
            }
            // Some statuses come at once, some later, some never.
            if face.owed && fates[count % fates.len()].late < 4 {
                face.owed = false;
                let (step, attempt, so_far) = truth(&facts, happened);
                follow.apply_status(text(step, attempt, &so_far), &mut out);
            }
            face.act(out);
            for (step, shown) in &face.steps {
                let attempts = &story[*step as usize - 1];
                let begins = attempts.iter().any(|pieces| pieces.concat().starts_with(shown));
                prop_assert!(begins, "step {step} shows {shown:?}");
            }
        }
        let response = story.last().and_then(|step| step.last()).map(|pieces| pieces.concat());
        let mut out = Vec::new();
        follow.apply_run_end(&response.unwrap_or_default(), &mut out);
        prop_assert_eq!(out, []);
        for (step, attempts) in (1..).zip(&story) {
            let whole = attempts.last().map(|pieces| pieces.concat()).unwrap_or_default();
            prop_assert_eq!(face.steps.remove(&step).unwrap_or_default(), whole);
        }
    }
}
