//! An outbox keeps its order and bounds, and drops only volatile events.

use super::*;
use crate::event::NewEvent;
use bytes::Bytes;
use hob_wire::rooms::gateway::GapReason;
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;

fn volatile(topic: &str, number: u64) -> (VolatileEvent, EventPosition) {
    let place = EventPosition::Volatile {
        seq: 0,
        sub: number,
    };
    let event = VolatileEvent {
        event: event(topic),
        subject: None,
    };
    (event, place)
}

fn event(topic: &str) -> Arc<NewEvent> {
    Arc::new(NewEvent {
        source: "s".into(),
        topic: topic.into(),
        session: None,
        payload: None,
    })
}

fn logged(seq: u64) -> Delivery {
    Delivery::Event {
        event: event("logged"),
        place: EventPosition::Logged { seq, prev: None },
        subject: None,
    }
}

fn answer(bytes: usize) -> Delivery {
    Delivery::Response {
        id: "1".into(),
        answer: Ok(Some(Bytes::from(vec![b'1'; bytes]))),
    }
}

/// The number of each event, logged or volatile.
fn numbers(deliveries: &[Delivery]) -> Vec<u64> {
    let number = |delivery: &Delivery| match delivery {
        Delivery::Event { place, .. } => match place {
            EventPosition::Logged { seq, .. } => *seq,
            EventPosition::Volatile { sub, .. } => *sub,
        },
        Delivery::Gap(range) => 1_000_000 + range.from,
        other => panic!("no event: {other:?}"),
    };
    deliveries.iter().map(number).collect()
}

#[tokio::test]
async fn frames_and_bytes_are_bounded() {
    let outbox = Outbox::new(2, 1_000_000);
    assert_eq!(outbox.push(answer(1)), Ok(()));
    assert_eq!(outbox.push(answer(1)), Ok(()));
    assert_eq!(outbox.push(answer(1)), Err(PushError::Full));
    let outbox = Outbox::new(100, 1_000);
    assert_eq!(outbox.push(answer(600)), Ok(()));
    assert_eq!(outbox.push(answer(600)), Err(PushError::Full));
    assert_eq!(outbox.push(answer(100)), Ok(()));
    let mut taken = Vec::new();
    assert_eq!(outbox.take(&mut taken, 100).await, None);
    assert_eq!(taken.len(), 2);
    // What was taken makes room; an empty outbox takes even what is over its bound.
    assert_eq!(outbox.push(answer(5_000)), Ok(()));
    assert_eq!(outbox.push(answer(1)), Err(PushError::Full));
}

#[tokio::test]
async fn a_batch_is_bounded_too() {
    let outbox = Outbox::new(1_024, usize::MAX);
    for seq in 0..100 {
        outbox.push(logged(seq)).expect("room");
    }
    let mut taken = Vec::new();
    outbox.take(&mut taken, usize::MAX).await;
    assert_eq!(taken.len(), BATCH_FRAMES_MAX);
    outbox.take(&mut taken, usize::MAX).await;
    assert_eq!(numbers(&taken), (0..100).collect::<Vec<_>>());
    for _ in 0..3 {
        outbox.push(answer(BATCH_BYTES_MAX)).expect("room");
    }
    taken.clear();
    outbox.take(&mut taken, usize::MAX).await;
    assert_eq!(taken.len(), 1);
}

#[tokio::test]
async fn a_closed_outbox_is_emptied_and_then_says_why() {
    let outbox = Outbox::new(2, 1_000_000);
    outbox.push(logged(1)).expect("room");
    outbox.push(logged(2)).expect("room");
    let gap = crate::delivery::gap(3, 3, GapReason::Slow);
    assert!(outbox.close_with_last(gap, CloseReason::Slow));
    assert!(!outbox.close(CloseReason::Normal));
    assert_eq!(outbox.push(logged(4)), Err(PushError::Closed));
    let mut taken = Vec::new();
    assert_eq!(outbox.take(&mut taken, 100).await, None);
    assert_eq!(numbers(&taken), [1, 2, 1_000_003]);
    assert_eq!(outbox.take(&mut taken, 100).await, Some(CloseReason::Slow));
}

#[tokio::test]
async fn a_revoked_party_gets_nothing_more() {
    let outbox = Outbox::new(2, 1_000_000);
    outbox.push(logged(1)).expect("room");
    outbox.close(CloseReason::Revoked);
    let mut taken = Vec::new();
    assert_eq!(
        outbox.take(&mut taken, 100).await,
        Some(CloseReason::Revoked)
    );
    assert!(taken.is_empty());
}

#[tokio::test]
async fn a_cancelled_catch_up_pushes_nothing_more() {
    let outbox = Outbox::new(4, 1_000_000);
    let cancelled = AtomicBool::new(false);
    assert!(outbox.push_catching_up(logged(1), &cancelled).is_ok());
    assert!(outbox.push_catching_up(logged(2), &cancelled).is_ok());
    let full = outbox.push_catching_up(logged(3), &cancelled);
    assert!(
        matches!(full, Err((PushError::Full, _))),
        "half is kept free"
    );
    let pending = outbox.push_waiting(logged(3), &cancelled);
    let mut taken = Vec::new();
    let (pushed, _) = tokio::join!(pending, outbox.take(&mut taken, 100));
    assert_eq!(pushed, Ok(()));
    cancelled.store(true, Ordering::Relaxed);
    let refused = outbox.push_waiting(logged(4), &cancelled).await;
    assert_eq!(refused, Err(PushError::Closed));
}

#[tokio::test]
async fn the_last_change_of_each_subject_stays_and_a_full_outbox_refuses_more() {
    let outbox = Outbox::new(8, 1_000_000);
    let push = |subject: &str, number| {
        let (mut change, place) = volatile("changes", number);
        change.subject = Some(subject.into());
        outbox.push_volatile(&change, place)
    };
    for number in 1..=4 {
        assert_eq!(push("a", number), Ok(VolatileOutcome::Queued));
    }
    assert_eq!(push("b", 5), Ok(VolatileOutcome::Queued));
    // Half full: a newer change of `a` replaces one of `a`, never the one of `b`.
    for number in 6..100 {
        assert_eq!(push("a", number), Ok(VolatileOutcome::Coalesced));
    }
    for (number, subject) in (100..).zip(["c", "d", "e"]) {
        assert_eq!(push(subject, number), Ok(VolatileOutcome::Queued));
    }
    assert_eq!(push("f", 103), Err(PushError::Full));
    let mut taken = Vec::new();
    outbox.take(&mut taken, 100).await;
    assert_eq!(numbers(&taken), [1, 2, 3, 5, 99, 100, 101, 102]);
}

/// What happens to an outbox, one step at a time.
#[derive(Clone, Debug)]
enum Step {
    Logged,
    Volatile(&'static str),
    Take(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Logged),
        4 => prop::sample::select(&["a", "b", "c"]).prop_map(Step::Volatile),
        1 => (1..6_usize).prop_map(Step::Take),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// Against a plain list that follows the rules as they are written down.
    #[test]
    fn order_holds_and_only_volatile_events_are_left_out(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let outbox = Outbox::new(8, 1_000_000);
        let mut model: Vec<(u64, Option<&str>)> = Vec::new();
        let (mut taken, mut expected) = (Vec::new(), Vec::new());
        for (number, step) in (1..).zip(steps) {
            match step {
                Step::Logged => {
                    let pushed = outbox.push(logged(number));
                    prop_assert_eq!(pushed.is_ok(), model.len() < 8);
                    if pushed.is_ok() {
                        model.push((number, None));
                    }
                }
                Step::Volatile(topic) => {
                    let (event, place) = volatile(topic, number);
                    let passed = outbox.push_volatile(&event, place).expect("open");
                    let held = model.len();
                    let older = model.iter().rposition(|(_, held)| *held == Some(topic));
                    if held >= 4 && let Some(older) = older {
                        model.remove(older);
                    }
                    let replaced = model.len() < held;
                    let fits = model.len() < 8;
                    if fits {
                        model.push((number, Some(topic)));
                    }
                    prop_assert_eq!(passed == VolatileOutcome::Coalesced, replaced || !fits);
                }
                Step::Take(frames) if outbox.len() > 0 => {
                    runtime.block_on(outbox.take(&mut taken, frames));
                    expected.extend(model.drain(..frames.min(model.len())).map(|it| it.0));
                }
                Step::Take(_) => {}
            }
            prop_assert_eq!(outbox.len(), model.len());
        }
        outbox.close(CloseReason::Normal);
        while runtime.block_on(outbox.take(&mut taken, 8)).is_none() {}
        expected.extend(model.iter().map(|it| it.0));
        prop_assert!(expected.is_sorted_by(|a, b| a < b), "{:?}", expected);
        prop_assert_eq!(numbers(&taken), expected);
    }
}
