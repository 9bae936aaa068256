//! Tables for the ordinary ways of a run, and random journals for what must always hold.

use super::*;
use crate::turn::ProbeResult;
use hob_wire::work::{DoubtAnswer, Idempotency};
use proptest::prelude::*;

fn turn() -> TurnMachine {
    TurnMachine::new(RunLimits::DEFAULT)
}

fn feed(turn: &mut TurnMachine, event: TurnEvent) -> Vec<TurnEffect> {
    let mut out = Vec::new();
    turn.step(event, &mut out);
    out
}

fn call(id: &str, effect: Idempotency) -> CallSpec {
    CallSpec {
        id: id.into(),
        tool: "tool".into(),
        args: format!("{{\"n\":\"{id}\"}}"),
        effect,
    }
}

fn asks_for(calls: Vec<CallSpec>) -> TurnEvent {
    TurnEvent::ModelDone {
        answer: ModelAnswer {
            calls,
            tokens: 10,
            micro_dollars: Some(1),
            ..ModelAnswer::default()
        },
        at: 2,
    }
}

fn answers() -> TurnEvent {
    asks_for(Vec::new())
}

fn allowed(id: &str) -> TurnEvent {
    TurnEvent::Decided {
        call: id.into(),
        allowed: true,
        at: 3,
    }
}

fn begun(id: &str) -> TurnEvent {
    TurnEvent::Begun {
        call: id.into(),
        at: 4,
    }
}

fn done(id: &str) -> TurnEvent {
    TurnEvent::ToolDone {
        call: id.into(),
        failed: false,
        at: 5,
    }
}

fn run(id: &str, intent: bool) -> TurnEffect {
    TurnEffect::Run {
        call: id.into(),
        intent,
    }
}

#[test]
fn a_plain_answer_ends_the_run() {
    let mut turn = turn();
    let first = TurnEffect::CallModel {
        step: 1,
        attempt: 1,
    };
    assert_eq!(feed(&mut turn, TurnEvent::Begin { at: 1 }), [first]);
    assert_eq!(
        feed(&mut turn, answers()),
        [TurnEffect::Finish {
            cause: RunEndCause::Answered
        }]
    );
    assert_eq!(feed(&mut turn, TurnEvent::Cancelled { at: 9 }), []);
}

#[test]
fn parallel_calls_are_each_asked_and_the_next_step_waits_for_all() {
    let mut turn = turn();
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    let calls = vec![call("a", Idempotency::Pure), call("b", Idempotency::Opaque)];
    let asks = [
        TurnEffect::Ask { call: "a".into() },
        TurnEffect::Ask { call: "b".into() },
    ];
    assert_eq!(feed(&mut turn, asks_for(calls)), asks);
    assert_eq!(feed(&mut turn, allowed("a")), [run("a", false)]);
    assert_eq!(feed(&mut turn, allowed("b")), [run("b", true)]);
    assert_eq!(feed(&mut turn, done("a")), []);
    assert_eq!(
        feed(&mut turn, done("b")),
        [],
        "an opaque call that never began has no result"
    );
    feed(&mut turn, begun("b"));
    assert_eq!(
        feed(&mut turn, done("b")),
        [TurnEffect::CallModel {
            step: 2,
            attempt: 1
        }]
    );
}

#[test]
fn a_restart_treats_each_effect_class_by_what_repeating_it_does() {
    let expected = [
        (Idempotency::Pure, run("a", false)),
        (Idempotency::Keyed, run("a", true)),
        (
            Idempotency::Probeable,
            TurnEffect::Probe { call: "a".into() },
        ),
        (Idempotency::Opaque, TurnEffect::Doubt { call: "a".into() }),
    ];
    for (class, effect) in expected {
        let mut turn = turn();
        feed(&mut turn, TurnEvent::Begin { at: 1 });
        feed(&mut turn, asks_for(vec![call("a", class)]));
        feed(&mut turn, allowed("a"));
        feed(&mut turn, begun("a"));
        assert_eq!(
            feed(&mut turn, TurnEvent::Restarted { at: 6 }),
            [effect],
            "{class:?}"
        );
    }
}

#[test]
fn a_cut_model_call_is_asked_again_as_the_next_attempt() {
    let mut turn = turn();
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    let again = TurnEffect::CallModel {
        step: 1,
        attempt: 2,
    };
    assert_eq!(feed(&mut turn, TurnEvent::Restarted { at: 2 }), [again]);
}

#[test]
fn a_run_resumed_three_times_in_vain_is_parked_but_progress_counts() {
    let mut turn = turn();
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    for _ in 0..3 {
        assert!(matches!(
            feed(&mut turn, TurnEvent::Restarted { at: 2 })[..],
            [TurnEffect::CallModel { .. }]
        ));
    }
    let mut stuck = turn.clone();
    let parked = TurnEffect::Finish {
        cause: RunEndCause::Parked,
    };
    assert_eq!(feed(&mut stuck, TurnEvent::Restarted { at: 2 }), [parked]);
    feed(&mut turn, asks_for(vec![call("a", Idempotency::Pure)]));
    let ask = TurnEffect::Ask { call: "a".into() };
    assert_eq!(feed(&mut turn, TurnEvent::Restarted { at: 2 }), [ask]);
}

#[test]
fn a_person_settles_a_call_in_doubt() {
    let in_doubt = || {
        let mut turn = turn();
        feed(&mut turn, TurnEvent::Begin { at: 1 });
        feed(&mut turn, asks_for(vec![call("a", Idempotency::Opaque)]));
        feed(&mut turn, allowed("a"));
        feed(&mut turn, begun("a"));
        feed(&mut turn, TurnEvent::Restarted { at: 6 });
        turn
    };
    let resolve = |answer| TurnEvent::Resolved {
        call: "a".into(),
        answer,
        at: 7,
    };
    let next = TurnEffect::CallModel {
        step: 2,
        attempt: 1,
    };
    assert_eq!(
        feed(&mut in_doubt(), resolve(DoubtAnswer::Happened)),
        [next]
    );
    assert_eq!(
        feed(&mut in_doubt(), resolve(DoubtAnswer::DidNot)),
        [run("a", true)]
    );
    let ended = [
        TurnEffect::StopAll,
        TurnEffect::Finish {
            cause: RunEndCause::GivenUp,
        },
    ];
    assert_eq!(feed(&mut in_doubt(), resolve(DoubtAnswer::GiveUp)), ended);
}

#[test]
fn each_limit_ends_the_run_with_its_cause() {
    let cases = [
        (
            RunLimits {
                steps: 1,
                ..RunLimits::DEFAULT
            },
            RunEndCause::StepLimit,
        ),
        (
            RunLimits {
                tokens: 10,
                ..RunLimits::DEFAULT
            },
            RunEndCause::TokenLimit,
        ),
        (
            RunLimits {
                micro_dollars: 1,
                ..RunLimits::DEFAULT
            },
            RunEndCause::MoneyLimit,
        ),
        (
            RunLimits {
                wall_ms: 4,
                ..RunLimits::DEFAULT
            },
            RunEndCause::TimeLimit,
        ),
    ];
    for (limits, cause) in cases {
        let mut turn = TurnMachine::new(limits);
        feed(&mut turn, TurnEvent::Begin { at: 1 });
        feed(&mut turn, asks_for(vec![call("a", Idempotency::Pure)]));
        feed(&mut turn, allowed("a"));
        assert_eq!(feed(&mut turn, done("a")), [TurnEffect::Finish { cause }]);
    }
}

#[test]
fn the_same_call_again_and_again_ends_the_run() {
    let mut turn = TurnMachine::new(RunLimits {
        repeats: 2,
        ..RunLimits::DEFAULT
    });
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    for _ in 0..2 {
        feed(&mut turn, asks_for(vec![call("a", Idempotency::Pure)]));
        feed(&mut turn, allowed("a"));
        feed(&mut turn, done("a"));
    }
    let ended = TurnEffect::Finish {
        cause: RunEndCause::RepeatedCall,
    };
    assert_eq!(
        feed(&mut turn, asks_for(vec![call("a", Idempotency::Pure)])),
        [ended]
    );
}

#[test]
fn an_answer_that_repeats_itself_ends_the_run_with_its_cost_counted() {
    let mut turn = TurnMachine::new(RunLimits::DEFAULT);
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    // The model would go on with its repetition, so text that came meanwhile waits for the next run.
    feed(&mut turn, TurnEvent::Steered { at: 2 });
    let answer = ModelAnswer {
        tokens: 12,
        repeated: true,
        ..ModelAnswer::default()
    };
    let ended = TurnEffect::Finish {
        cause: RunEndCause::RepeatedText,
    };
    assert_eq!(
        feed(&mut turn, TurnEvent::ModelDone { answer, at: 3 }),
        [ended]
    );
    assert_eq!(turn.spent().tokens, 12);
}

#[test]
fn failures_in_a_row_end_the_run_and_a_success_forgives() {
    let mut turn = TurnMachine::new(RunLimits {
        error_streak: 2,
        ..RunLimits::DEFAULT
    });
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    let denied = |id: &str| TurnEvent::Decided {
        call: id.into(),
        allowed: false,
        at: 3,
    };
    feed(
        &mut turn,
        asks_for(vec![
            call("a", Idempotency::Pure),
            call("b", Idempotency::Pure),
        ]),
    );
    feed(&mut turn, denied("a"));
    feed(&mut turn, allowed("b"));
    assert!(matches!(
        feed(&mut turn, done("b"))[..],
        [TurnEffect::CallModel { .. }]
    ));
    feed(
        &mut turn,
        asks_for(vec![
            call("c", Idempotency::Pure),
            call("d", Idempotency::Pure),
        ]),
    );
    feed(&mut turn, denied("c"));
    assert_eq!(
        feed(&mut turn, denied("d")),
        [TurnEffect::Finish {
            cause: RunEndCause::ErrorStreak
        }]
    );
}

#[test]
fn money_beyond_the_run_pauses_and_asks() {
    let mut turn = turn();
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    assert_eq!(
        feed(&mut turn, TurnEvent::OutOfMoney { at: 2 }),
        [TurnEffect::AskForMoney]
    );
    assert_eq!(
        feed(&mut turn, TurnEvent::Tick { at: u64::MAX }),
        [],
        "a question does not time out"
    );
    let again = TurnEffect::CallModel {
        step: 1,
        attempt: 2,
    };
    assert_eq!(feed(&mut turn, TurnEvent::MoneyAllowed { at: 3 }), [again]);
}

#[test]
fn money_beyond_the_run_ends_it_where_nobody_is_there_to_be_asked() {
    let ends = [TurnEffect::Finish {
        cause: RunEndCause::Budget,
    }];
    let mut turn = turn();
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    let mut paused = turn.clone();
    assert_eq!(feed(&mut turn, TurnEvent::Unaffordable { at: 2 }), ends);
    assert_eq!(feed(&mut turn, TurnEvent::MoneyAllowed { at: 3 }), []);
    // One that a former version let wait ends when it is taken up.
    feed(&mut paused, TurnEvent::OutOfMoney { at: 2 });
    feed(&mut paused, TurnEvent::Restarted { at: 3 });
    assert_eq!(feed(&mut paused, TurnEvent::Unaffordable { at: 3 }), ends);
}

#[test]
fn words_that_arrive_during_the_last_answer_get_a_step_of_their_own() {
    let mut turn = turn();
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    feed(&mut turn, TurnEvent::Steered { at: 1 });
    assert_eq!(
        feed(&mut turn, answers()),
        [TurnEffect::CallModel {
            step: 2,
            attempt: 1
        }]
    );
    assert_eq!(
        feed(&mut turn, answers()),
        [TurnEffect::Finish {
            cause: RunEndCause::Answered
        }]
    );
}

fn any_class() -> impl Strategy<Value = Idempotency> {
    prop::sample::select(vec![
        Idempotency::Pure,
        Idempotency::Keyed,
        Idempotency::Probeable,
        Idempotency::Opaque,
    ])
}

fn any_event() -> impl Strategy<Value = TurnEvent> {
    let id = || prop::sample::select(vec!["a".to_owned(), "b".into(), "c".into()]);
    let at = 1..100_u64;
    prop_oneof![
        at.clone().prop_map(|at| TurnEvent::Begin { at }),
        (prop::collection::vec((id(), any_class()), 0..3), at.clone()).prop_map(|(calls, at)| {
            let calls = calls.iter().map(|(id, class)| call(id, *class)).collect();
            TurnEvent::ModelDone {
                answer: ModelAnswer {
                    calls,
                    tokens: 1,
                    micro_dollars: None,
                    misfit: false,
                    repeated: false,
                },
                at,
            }
        }),
        (id(), any::<bool>()).prop_map(|(call, allowed)| TurnEvent::Decided {
            call,
            allowed,
            at: 1
        }),
        id().prop_map(|call| TurnEvent::Begun { call, at: 1 }),
        (id(), any::<bool>()).prop_map(|(call, failed)| TurnEvent::ToolDone {
            call,
            failed,
            at: 1
        }),
        id().prop_map(|call| TurnEvent::Probed {
            call,
            found: ProbeResult::Unknown,
            at: 1
        }),
        id().prop_map(|call| TurnEvent::Resolved {
            call,
            answer: DoubtAnswer::DidNot,
            at: 1
        }),
        id().prop_map(|call| TurnEvent::Unanswered { call, at: 1 }),
        Just(TurnEvent::Lost {
            tokens: 1,
            micro_dollars: None,
            at: 1
        }),
        Just(TurnEvent::Charged {
            tokens: 1,
            micro_dollars: 1,
            at: 1
        }),
        Just(TurnEvent::Retried { at: 1 }),
        Just(TurnEvent::Restarted { at: 1 }),
        Just(TurnEvent::OutOfMoney { at: 1 }),
        Just(TurnEvent::MoneyAllowed { at: 1 }),
        Just(TurnEvent::Unaffordable { at: 1 }),
        Just(TurnEvent::Steered { at: 1 }),
        Just(TurnEvent::Tick { at: 1 }),
    ]
}

proptest! {
    /// Whatever comes in whatever order: the end is the end, a tool runs only after a yes, and an
    /// opaque call that began never runs again without a person's word.
    #[test]
    fn what_always_holds(events in prop::collection::vec(any_event(), 0..60)) {
        let mut turn = TurnMachine::new(RunLimits { repeats: 1_000, ..RunLimits::DEFAULT });
        let mut finished = false;
        for event in events {
            let before = turn.calls().to_vec();
            let effects = feed(&mut turn, event.clone());
            prop_assert!(!finished || effects.is_empty(), "effects after the end: {effects:?}");
            for effect in &effects {
                finished |= matches!(effect, TurnEffect::Finish { .. });
                let TurnEffect::Run { call: id, .. } = effect else { continue };
                let was = before.iter().find(|call| call.spec.id == *id);
                let was = was.expect("a call runs only if the step has it");
                let yes = matches!(&event, TurnEvent::Decided { allowed: true, .. });
                prop_assert!(yes || was.state != TurnCallState::Asked, "ran unasked");
                let opaque = was.spec.effect == Idempotency::Opaque;
                prop_assert!(!(opaque && was.state == TurnCallState::Begun), "ran twice in silence");
            }
        }
    }
}
