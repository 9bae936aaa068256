//! What a run does when a model call, a tool or a permission does not go as hoped.

use super::super::{Answer, CallSpec, Effect, Event, Limits, Turn};
use hob_wire::work::Effect as EffectClass;
use hob_wire::work::{Cause, DoubtAnswer};

fn feed(turn: &mut Turn, event: Event) -> Vec<Effect> {
    let mut out = Vec::new();
    turn.step(event, &mut out);
    out
}

fn begun(limits: Limits) -> Turn {
    let mut turn = Turn::new(limits);
    feed(&mut turn, Event::Begin { at: 1 });
    turn
}

fn answer(calls: &[(&str, EffectClass)], misfit: bool) -> Event {
    let calls = calls.iter().map(|(id, effect)| CallSpec {
        id: (*id).to_owned(),
        tool: "tool".to_owned(),
        args: format!("{{\"id\":\"{id}\"}}"),
        effect: *effect,
    });
    Event::ModelDone {
        answer: Answer {
            calls: calls.collect(),
            misfit,
            ..Answer::default()
        },
        at: 2,
    }
}

fn at_work(class: EffectClass) -> Turn {
    let mut turn = begun(Limits::DEFAULT);
    feed(&mut turn, answer(&[("a", class)], false));
    feed(&mut turn, decided("a", true));
    let call = "a".to_owned();
    feed(&mut turn, Event::Begun { call, at: 3 });
    turn
}

fn decided(id: &str, allowed: bool) -> Event {
    let call = id.to_owned();
    let at = 3;
    Event::Decided { call, allowed, at }
}

fn unanswered() -> Event {
    Event::Unanswered {
        call: "a".to_owned(),
        at: 4,
    }
}

fn finish(cause: Cause) -> Effect {
    Effect::Finish { cause }
}

fn call_model(step: u32, attempt: u32) -> Effect {
    Effect::CallModel { step, attempt }
}

#[test]
fn of_calls_with_one_id_only_the_first_runs() {
    let mut turn = begun(Limits::DEFAULT);
    let calls = [
        ("a", EffectClass::Opaque),
        ("b", EffectClass::Opaque),
        ("a", EffectClass::Opaque),
        ("a", EffectClass::Pure),
    ];
    let ask = |call: &str| Effect::Ask {
        call: call.to_owned(),
    };
    assert_eq!(feed(&mut turn, answer(&calls, false)), [ask("a"), ask("b")]);
    let run = |call: &str| Effect::Run {
        call: call.to_owned(),
        intent: true,
    };
    assert_eq!(feed(&mut turn, decided("a", true)), [run("a")]);
    assert_eq!(
        feed(&mut turn, decided("a", true)),
        [],
        "never a second time"
    );
    // After a restart as well the others stay refused.
    let again = feed(&mut turn, Event::Restarted { at: 3 });
    assert_eq!(again, [run("a"), ask("b")]);
    for id in ["a", "b"] {
        let call = || id.to_owned();
        feed(&mut turn, decided(id, true));
        feed(
            &mut turn,
            Event::Begun {
                call: call(),
                at: 4,
            },
        );
        let failed = false;
        let done = Event::ToolDone {
            call: call(),
            failed,
            at: 5,
        };
        let next = feed(&mut turn, done);
        let expected: &[Effect] = if id == "b" { &[call_model(2, 1)] } else { &[] };
        assert_eq!(next, expected, "the run goes on when both are done");
    }
}

#[test]
fn a_failed_model_call_is_tried_again_as_the_next_attempt_of_its_step() {
    let mut turn = begun(Limits {
        steps: 1,
        ..Limits::DEFAULT
    });
    let again = feed(&mut turn, Event::Retried { at: 2 });
    assert_eq!(again, [call_model(1, 2)], "the last step may be retried");
    assert_eq!(
        feed(&mut turn, Event::ModelFailed { at: 3 }),
        [finish(Cause::ModelFailed)]
    );
}

#[test]
fn what_a_lost_attempt_may_have_cost_counts() {
    let limits = Limits {
        micro_dollars: 10,
        ..Limits::DEFAULT
    };
    let lost = |micro_dollars| Event::Lost {
        tokens: 0,
        micro_dollars: Some(micro_dollars),
        at: 2,
    };
    let mut turn = begun(limits);
    feed(&mut turn, lost(9));
    assert_eq!(
        feed(&mut turn, Event::Retried { at: 2 }),
        [call_model(1, 2)]
    );
    feed(&mut turn, lost(1));
    assert_eq!(
        feed(&mut turn, Event::Retried { at: 2 }),
        [finish(Cause::MoneyLimit)]
    );
}

/// What runs below this one have cost.
fn charged(tokens: u64, micro_dollars: u64) -> Event {
    Event::Charged {
        tokens,
        micro_dollars,
        at: 2,
    }
}

#[test]
fn what_children_cost_counts_at_any_time_and_stops_nothing_by_itself() {
    let limits = Limits {
        micro_dollars: 10,
        ..Limits::DEFAULT
    };
    // Before the first step, while the model thinks, and while a call is at work.
    let mut turn = Turn::new(limits);
    assert_eq!(feed(&mut turn, charged(1, 1)), []);
    assert_eq!(feed(&mut turn, Event::Begin { at: 1 }), [call_model(1, 1)]);
    assert_eq!(feed(&mut turn, charged(2, 2)), []);
    feed(&mut turn, answer(&[("a", EffectClass::Pure)], false));
    let before = turn.spent();
    assert_eq!(feed(&mut turn, charged(4, u64::MAX)), []);
    let spent = turn.spent();
    assert_eq!(spent.tokens, before.tokens + 4);
    assert_eq!(spent.micro_dollars, u64::MAX, "the sum does not wrap");
    assert_eq!(
        (spent.steps, spent.error_streak),
        (before.steps, before.error_streak)
    );
    assert_eq!(turn.calls().len(), 1, "the call goes on");
}

#[test]
fn what_children_cost_forbids_the_next_step() {
    let limits = Limits {
        tokens: 1_000,
        micro_dollars: 1_000,
        ..Limits::DEFAULT
    };
    for (event, next) in [
        (charged(900, 900), call_model(2, 1)),
        (charged(1_000, 0), finish(Cause::TokenLimit)),
        (charged(0, 1_000), finish(Cause::MoneyLimit)),
    ] {
        let mut turn = begun(limits);
        feed(&mut turn, answer(&[("a", EffectClass::Pure)], false));
        feed(&mut turn, decided("a", true));
        feed(&mut turn, event);
        let done = Event::ToolDone {
            call: "a".into(),
            failed: false,
            at: 5,
        };
        assert_eq!(feed(&mut turn, done), [next]);
    }
}

#[test]
fn an_ended_run_is_charged_nothing_more() {
    let mut turn = begun(Limits::DEFAULT);
    feed(&mut turn, Event::Cancelled { at: 2 });
    let spent = turn.spent();
    assert_eq!(feed(&mut turn, charged(5, 5)), []);
    assert_eq!(turn.spent(), spent);
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_once_more() {
    let mut turn = begun(Limits::DEFAULT);
    assert_eq!(feed(&mut turn, answer(&[], true)), [call_model(2, 1)]);
    let mut mended = turn.clone();
    assert_eq!(
        feed(&mut mended, answer(&[], false)),
        [finish(Cause::Answered)]
    );
    assert_eq!(
        feed(&mut turn, answer(&[], true)),
        [finish(Cause::ModelFailed)]
    );
}

#[test]
fn a_call_nobody_answers_is_treated_by_what_repeating_it_does() {
    let call = || "a".to_owned();
    let intent = |intent| Effect::Run {
        call: call(),
        intent,
    };
    let expected = [
        (EffectClass::Pure, intent(false)),
        (EffectClass::Keyed, intent(true)),
        (EffectClass::Probeable, Effect::Probe { call: call() }),
        (EffectClass::Opaque, Effect::Doubt { call: call() }),
    ];
    for (class, effect) in expected {
        let mut turn = at_work(class);
        assert_eq!(feed(&mut turn, unanswered()), [effect], "{class:?}");
    }
}

#[test]
fn a_call_is_not_repeated_for_ever() {
    let mut keyed = at_work(EffectClass::Keyed);
    let mut pure = at_work(EffectClass::Pure);
    for _ in 0..2 {
        assert!(matches!(
            feed(&mut keyed, unanswered())[..],
            [Effect::Run { .. }]
        ));
        assert!(matches!(
            feed(&mut pure, unanswered())[..],
            [Effect::Run { .. }]
        ));
    }
    assert!(matches!(
        feed(&mut keyed, unanswered())[..],
        [Effect::Doubt { .. }]
    ));
    assert_eq!(
        feed(&mut pure, unanswered()),
        [call_model(2, 1)],
        "the model is told that it failed"
    );
}

#[test]
fn a_yes_may_be_taken_back_until_the_call_has_begun() {
    let mut turn = begun(Limits::DEFAULT);
    feed(&mut turn, answer(&[("a", EffectClass::Opaque)], false));
    feed(&mut turn, decided("a", true));
    assert_eq!(feed(&mut turn, decided("a", false)), [call_model(2, 1)]);

    let mut turn = at_work(EffectClass::Opaque);
    assert_eq!(feed(&mut turn, decided("a", false)), []);
}

#[test]
fn a_question_to_a_person_survives_any_number_of_restarts() {
    let mut turn = at_work(EffectClass::Opaque);
    for at in 10..30 {
        let asked = feed(&mut turn, Event::Restarted { at });
        assert!(matches!(asked[..], [Effect::Doubt { .. }]), "{asked:?}");
    }
}

#[test]
fn the_time_a_person_takes_is_not_the_runs() {
    let limits = Limits {
        wall_ms: 100,
        ..Limits::DEFAULT
    };
    let mut turn = begun(limits);
    feed(&mut turn, Event::OutOfMoney { at: 50 });
    feed(&mut turn, Event::MoneyAllowed { at: 5_000 });
    assert_eq!(feed(&mut turn, Event::Tick { at: 5_020 }), []);
    let stopped = [Effect::StopAll, finish(Cause::TimeLimit)];
    assert_eq!(feed(&mut turn, Event::Tick { at: 5_060 }), stopped);

    let mut turn = begun(limits);
    feed(&mut turn, answer(&[("a", EffectClass::Opaque)], false));
    feed(&mut turn, decided("a", true));
    let call = "a".to_owned();
    feed(&mut turn, Event::Begun { call, at: 3 });
    feed(&mut turn, Event::Restarted { at: 10 });
    let resolved = Event::Resolved {
        call: "a".to_owned(),
        answer: DoubtAnswer::Happened,
        at: 9_000,
    };
    assert_eq!(feed(&mut turn, resolved), [call_model(2, 1)]);
}

#[test]
fn an_orderly_stop_is_no_try_in_vain_and_takes_none_of_the_runs_time() {
    let limits = Limits {
        wall_ms: 1_000,
        ..Limits::DEFAULT
    };
    let mut turn = begun(limits);
    // Many more than the restarts in vain that end a run, and years in all.
    for start in 1..=20 {
        let at = start * 1_000_000_000;
        assert_eq!(
            feed(
                &mut turn,
                Event::Left {
                    at: at - 999_999_999
                }
            ),
            []
        );
        let effects = feed(&mut turn, Event::Restarted { at });
        assert!(
            matches!(effects[..], [Effect::CallModel { .. }]),
            "{start}: {effects:?}"
        );
    }
    // What came before the stops still counts: the run has used up 20 of its 1,000 ms.
    let restarted_at = 20_000_000_000;
    assert!(!turn.is_overdue(restarted_at + 900));
    assert!(turn.is_overdue(restarted_at + 1_000));
}

#[test]
fn a_crash_after_an_orderly_stop_counts() {
    let mut turn = begun(Limits::DEFAULT);
    feed(&mut turn, Event::Left { at: 2 });
    feed(&mut turn, Event::Restarted { at: 3 });
    for _ in 0..Limits::DEFAULT.resumes {
        feed(&mut turn, Event::Restarted { at: 4 });
    }
    let parked = Effect::Finish {
        cause: Cause::Parked,
    };
    assert_eq!(feed(&mut turn, Event::Restarted { at: 5 }), [parked]);
}

#[test]
fn a_run_in_doubt_is_never_overdue() {
    let limits = Limits {
        wall_ms: 1_000,
        ..Limits::DEFAULT
    };
    let mut turn = begun(limits);
    feed(&mut turn, answer(&[("a", EffectClass::Opaque)], false));
    let call = || "a".to_owned();
    let decided = Event::Decided {
        call: call(),
        allowed: true,
        at: 3,
    };
    feed(&mut turn, decided);
    feed(
        &mut turn,
        Event::Begun {
            call: call(),
            at: 4,
        },
    );
    assert!(turn.is_overdue(5_000));
    feed(
        &mut turn,
        Event::Unanswered {
            call: call(),
            at: 5,
        },
    );
    assert!(turn.waits_for_a_person());
    assert!(!turn.is_overdue(u64::MAX));
}
