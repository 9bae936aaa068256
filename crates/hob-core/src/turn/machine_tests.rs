//! Tables for the ordinary ways of a run, and random journals for what must always hold.

use super::*;
use proptest::prelude::*;

fn turn() -> Turn {
    Turn::new(Limits::DEFAULT)
}

fn feed(turn: &mut Turn, event: Event) -> Vec<Effect> {
    let mut out = Vec::new();
    turn.step(event, &mut out);
    out
}

fn call(id: &str, effect: EffectClass) -> CallSpec {
    CallSpec {
        id: id.into(),
        tool: "tool".into(),
        args: format!("{{\"n\":\"{id}\"}}"),
        effect,
    }
}

fn asks_for(calls: Vec<CallSpec>) -> Event {
    Event::ModelDone {
        answer: Answer {
            calls,
            tokens: 10,
            micro_dollars: Some(1),
            misfit: false,
        },
        at: 2,
    }
}

fn answers() -> Event {
    asks_for(Vec::new())
}

fn allowed(id: &str) -> Event {
    Event::Decided {
        call: id.into(),
        allowed: true,
        at: 3,
    }
}

fn begun(id: &str) -> Event {
    Event::Begun {
        call: id.into(),
        at: 4,
    }
}

fn done(id: &str) -> Event {
    Event::ToolDone {
        call: id.into(),
        failed: false,
        at: 5,
    }
}

fn run(id: &str, intent: bool) -> Effect {
    Effect::Run {
        call: id.into(),
        intent,
    }
}

#[test]
fn a_plain_answer_ends_the_run() {
    let mut turn = turn();
    let first = Effect::CallModel {
        step: 1,
        attempt: 1,
    };
    assert_eq!(feed(&mut turn, Event::Begin { at: 1 }), [first]);
    assert_eq!(
        feed(&mut turn, answers()),
        [Effect::Finish {
            cause: Cause::Answered
        }]
    );
    assert_eq!(feed(&mut turn, Event::Cancelled { at: 9 }), []);
}

#[test]
fn parallel_calls_are_each_asked_and_the_next_step_waits_for_all() {
    let mut turn = turn();
    feed(&mut turn, Event::Begin { at: 1 });
    let calls = vec![call("a", EffectClass::Pure), call("b", EffectClass::Opaque)];
    let asks = [
        Effect::Ask { call: "a".into() },
        Effect::Ask { call: "b".into() },
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
        [Effect::CallModel {
            step: 2,
            attempt: 1
        }]
    );
}

#[test]
fn a_restart_treats_each_effect_class_by_what_repeating_it_does() {
    let expected = [
        (EffectClass::Pure, run("a", false)),
        (EffectClass::Keyed, run("a", true)),
        (EffectClass::Probeable, Effect::Probe { call: "a".into() }),
        (EffectClass::Opaque, Effect::Doubt { call: "a".into() }),
    ];
    for (class, effect) in expected {
        let mut turn = turn();
        feed(&mut turn, Event::Begin { at: 1 });
        feed(&mut turn, asks_for(vec![call("a", class)]));
        feed(&mut turn, allowed("a"));
        feed(&mut turn, begun("a"));
        assert_eq!(
            feed(&mut turn, Event::Restarted { at: 6 }),
            [effect],
            "{class:?}"
        );
    }
}

#[test]
fn a_cut_model_call_is_asked_again_as_the_next_attempt() {
    let mut turn = turn();
    feed(&mut turn, Event::Begin { at: 1 });
    let again = Effect::CallModel {
        step: 1,
        attempt: 2,
    };
    assert_eq!(feed(&mut turn, Event::Restarted { at: 2 }), [again]);
}

#[test]
fn a_run_resumed_three_times_in_vain_is_parked_but_progress_counts() {
    let mut turn = turn();
    feed(&mut turn, Event::Begin { at: 1 });
    for _ in 0..3 {
        assert!(matches!(
            feed(&mut turn, Event::Restarted { at: 2 })[..],
            [Effect::CallModel { .. }]
        ));
    }
    let mut stuck = turn.clone();
    let parked = Effect::Finish {
        cause: Cause::Parked,
    };
    assert_eq!(feed(&mut stuck, Event::Restarted { at: 2 }), [parked]);
    feed(&mut turn, asks_for(vec![call("a", EffectClass::Pure)]));
    let ask = Effect::Ask { call: "a".into() };
    assert_eq!(feed(&mut turn, Event::Restarted { at: 2 }), [ask]);
}

#[test]
fn a_person_settles_a_call_in_doubt() {
    let in_doubt = || {
        let mut turn = turn();
        feed(&mut turn, Event::Begin { at: 1 });
        feed(&mut turn, asks_for(vec![call("a", EffectClass::Opaque)]));
        feed(&mut turn, allowed("a"));
        feed(&mut turn, begun("a"));
        feed(&mut turn, Event::Restarted { at: 6 });
        turn
    };
    let resolve = |answer| Event::Resolved {
        call: "a".into(),
        answer,
        at: 7,
    };
    let next = Effect::CallModel {
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
        Effect::StopAll,
        Effect::Finish {
            cause: Cause::GivenUp,
        },
    ];
    assert_eq!(feed(&mut in_doubt(), resolve(DoubtAnswer::GiveUp)), ended);
}

#[test]
fn each_limit_ends_the_run_with_its_cause() {
    let cases = [
        (
            Limits {
                steps: 1,
                ..Limits::DEFAULT
            },
            Cause::StepLimit,
        ),
        (
            Limits {
                tokens: 10,
                ..Limits::DEFAULT
            },
            Cause::TokenLimit,
        ),
        (
            Limits {
                micro_dollars: 1,
                ..Limits::DEFAULT
            },
            Cause::MoneyLimit,
        ),
        (
            Limits {
                wall_ms: 4,
                ..Limits::DEFAULT
            },
            Cause::TimeLimit,
        ),
    ];
    for (limits, cause) in cases {
        let mut turn = Turn::new(limits);
        feed(&mut turn, Event::Begin { at: 1 });
        feed(&mut turn, asks_for(vec![call("a", EffectClass::Pure)]));
        feed(&mut turn, allowed("a"));
        assert_eq!(feed(&mut turn, done("a")), [Effect::Finish { cause }]);
    }
}

#[test]
fn the_same_call_again_and_again_ends_the_run() {
    let mut turn = Turn::new(Limits {
        repeats: 2,
        ..Limits::DEFAULT
    });
    feed(&mut turn, Event::Begin { at: 1 });
    for _ in 0..2 {
        feed(&mut turn, asks_for(vec![call("a", EffectClass::Pure)]));
        feed(&mut turn, allowed("a"));
        feed(&mut turn, done("a"));
    }
    let ended = Effect::Finish {
        cause: Cause::RepeatedCall,
    };
    assert_eq!(
        feed(&mut turn, asks_for(vec![call("a", EffectClass::Pure)])),
        [ended]
    );
}

#[test]
fn failures_in_a_row_end_the_run_and_a_success_forgives() {
    let mut turn = Turn::new(Limits {
        error_streak: 2,
        ..Limits::DEFAULT
    });
    feed(&mut turn, Event::Begin { at: 1 });
    let denied = |id: &str| Event::Decided {
        call: id.into(),
        allowed: false,
        at: 3,
    };
    feed(
        &mut turn,
        asks_for(vec![
            call("a", EffectClass::Pure),
            call("b", EffectClass::Pure),
        ]),
    );
    feed(&mut turn, denied("a"));
    feed(&mut turn, allowed("b"));
    assert!(matches!(
        feed(&mut turn, done("b"))[..],
        [Effect::CallModel { .. }]
    ));
    feed(
        &mut turn,
        asks_for(vec![
            call("c", EffectClass::Pure),
            call("d", EffectClass::Pure),
        ]),
    );
    feed(&mut turn, denied("c"));
    assert_eq!(
        feed(&mut turn, denied("d")),
        [Effect::Finish {
            cause: Cause::ErrorStreak
        }]
    );
}

#[test]
fn money_beyond_the_run_pauses_and_asks() {
    let mut turn = turn();
    feed(&mut turn, Event::Begin { at: 1 });
    assert_eq!(
        feed(&mut turn, Event::OutOfMoney { at: 2 }),
        [Effect::AskForMoney]
    );
    assert_eq!(
        feed(&mut turn, Event::Tick { at: u64::MAX }),
        [],
        "a question does not time out"
    );
    let again = Effect::CallModel {
        step: 1,
        attempt: 2,
    };
    assert_eq!(feed(&mut turn, Event::MoneyAllowed { at: 3 }), [again]);
}

#[test]
fn money_beyond_the_run_ends_it_where_nobody_is_there_to_be_asked() {
    let ends = [Effect::Finish {
        cause: Cause::Budget,
    }];
    let mut turn = turn();
    feed(&mut turn, Event::Begin { at: 1 });
    let mut paused = turn.clone();
    assert_eq!(feed(&mut turn, Event::Unaffordable { at: 2 }), ends);
    assert_eq!(feed(&mut turn, Event::MoneyAllowed { at: 3 }), []);
    // One that a former version let wait ends when it is taken up.
    feed(&mut paused, Event::OutOfMoney { at: 2 });
    feed(&mut paused, Event::Restarted { at: 3 });
    assert_eq!(feed(&mut paused, Event::Unaffordable { at: 3 }), ends);
}

#[test]
fn words_that_arrive_during_the_last_answer_get_a_step_of_their_own() {
    let mut turn = turn();
    feed(&mut turn, Event::Begin { at: 1 });
    feed(&mut turn, Event::Steered { at: 1 });
    assert_eq!(
        feed(&mut turn, answers()),
        [Effect::CallModel {
            step: 2,
            attempt: 1
        }]
    );
    assert_eq!(
        feed(&mut turn, answers()),
        [Effect::Finish {
            cause: Cause::Answered
        }]
    );
}

fn any_class() -> impl Strategy<Value = EffectClass> {
    prop::sample::select(vec![
        EffectClass::Pure,
        EffectClass::Keyed,
        EffectClass::Probeable,
        EffectClass::Opaque,
    ])
}

fn any_event() -> impl Strategy<Value = Event> {
    let id = || prop::sample::select(vec!["a".to_owned(), "b".into(), "c".into()]);
    let at = 1..100_u64;
    prop_oneof![
        at.clone().prop_map(|at| Event::Begin { at }),
        (prop::collection::vec((id(), any_class()), 0..3), at.clone()).prop_map(|(calls, at)| {
            let calls = calls.iter().map(|(id, class)| call(id, *class)).collect();
            Event::ModelDone {
                answer: Answer {
                    calls,
                    tokens: 1,
                    micro_dollars: None,
                    misfit: false,
                },
                at,
            }
        }),
        (id(), any::<bool>()).prop_map(|(call, allowed)| Event::Decided {
            call,
            allowed,
            at: 1
        }),
        id().prop_map(|call| Event::Begun { call, at: 1 }),
        (id(), any::<bool>()).prop_map(|(call, failed)| Event::ToolDone {
            call,
            failed,
            at: 1
        }),
        id().prop_map(|call| Event::Probed {
            call,
            found: Found::Unknown,
            at: 1
        }),
        id().prop_map(|call| Event::Resolved {
            call,
            answer: DoubtAnswer::DidNot,
            at: 1
        }),
        id().prop_map(|call| Event::Unanswered { call, at: 1 }),
        Just(Event::Lost {
            tokens: 1,
            micro_dollars: None,
            at: 1
        }),
        Just(Event::Charged {
            tokens: 1,
            micro_dollars: 1,
            at: 1
        }),
        Just(Event::Retried { at: 1 }),
        Just(Event::Restarted { at: 1 }),
        Just(Event::OutOfMoney { at: 1 }),
        Just(Event::MoneyAllowed { at: 1 }),
        Just(Event::Unaffordable { at: 1 }),
        Just(Event::Steered { at: 1 }),
        Just(Event::Tick { at: 1 }),
    ]
}

proptest! {
    /// Whatever comes in whatever order: the end is the end, a tool runs only after a yes, and an
    /// opaque call that began never runs again without a person's word.
    #[test]
    fn what_always_holds(events in prop::collection::vec(any_event(), 0..60)) {
        let mut turn = Turn::new(Limits { repeats: 1_000, ..Limits::DEFAULT });
        let mut finished = false;
        for event in events {
            let before = turn.calls().to_vec();
            let effects = feed(&mut turn, event.clone());
            prop_assert!(!finished || effects.is_empty(), "effects after the end: {effects:?}");
            for effect in &effects {
                finished |= matches!(effect, Effect::Finish { .. });
                let Effect::Run { call: id, .. } = effect else { continue };
                let was = before.iter().find(|call| call.spec.id == *id);
                let was = was.expect("a call runs only if the step has it");
                let yes = matches!(&event, Event::Decided { allowed: true, .. });
                prop_assert!(yes || was.state != CallState::Asked, "ran unasked");
                let opaque = was.spec.effect == EffectClass::Opaque;
                prop_assert!(!(opaque && was.state == CallState::Begun), "ran twice in silence");
            }
        }
    }
}
