//! Runs with failing model calls, tools and permissions.

use super::super::{CallSpec, ModelAnswer, RunLimits, TurnEffect, TurnEvent, TurnMachine};
use hob_wire::work::Idempotency;
use hob_wire::work::{DoubtAnswer, RunEndCause};

fn feed(turn: &mut TurnMachine, event: TurnEvent) -> Vec<TurnEffect> {
    let mut out = Vec::new();
    turn.step(event, &mut out);
    out
}

fn begun(limits: RunLimits) -> TurnMachine {
    let mut turn = TurnMachine::new(limits);
    feed(&mut turn, TurnEvent::Begin { at: 1 });
    turn
}

fn answer(calls: &[(&str, Idempotency)], misfit: bool) -> TurnEvent {
    let calls = calls.iter().map(|(id, effect)| CallSpec {
        id: (*id).to_owned(),
        tool: "tool".to_owned(),
        args: format!("{{\"id\":\"{id}\"}}"),
        effect: *effect,
    });
    TurnEvent::ModelDone {
        answer: ModelAnswer {
            calls: calls.collect(),
            misfit,
            ..ModelAnswer::default()
        },
        at: 2,
    }
}

fn at_work(class: Idempotency) -> TurnMachine {
    let mut turn = begun(RunLimits::DEFAULT);
    feed(&mut turn, answer(&[("a", class)], false));
    feed(&mut turn, decided("a", true));
    let call = "a".to_owned();
    feed(&mut turn, TurnEvent::Begun { call, at: 3 });
    turn
}

fn decided(id: &str, allowed: bool) -> TurnEvent {
    let call = id.to_owned();
    let at = 3;
    TurnEvent::Decided { call, allowed, at }
}

fn unanswered() -> TurnEvent {
    TurnEvent::Unanswered {
        call: "a".to_owned(),
        at: 4,
    }
}

fn finish(cause: RunEndCause) -> TurnEffect {
    TurnEffect::Finish { cause }
}

fn call_model(step: u32, attempt: u32) -> TurnEffect {
    TurnEffect::CallModel { step, attempt }
}

#[test]
fn of_calls_with_one_id_only_the_first_runs() {
    let mut turn = begun(RunLimits::DEFAULT);
    let calls = [
        ("a", Idempotency::Opaque),
        ("b", Idempotency::Opaque),
        ("a", Idempotency::Opaque),
        ("a", Idempotency::Pure),
    ];
    let ask = |call: &str| TurnEffect::Ask {
        call: call.to_owned(),
    };
    assert_eq!(feed(&mut turn, answer(&calls, false)), [ask("a"), ask("b")]);
    let run = |call: &str| TurnEffect::Run {
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
    let again = feed(&mut turn, TurnEvent::Restarted { at: 3 });
    assert_eq!(again, [run("a"), ask("b")]);
    for id in ["a", "b"] {
        let call = || id.to_owned();
        feed(&mut turn, decided(id, true));
        feed(
            &mut turn,
            TurnEvent::Begun {
                call: call(),
                at: 4,
            },
        );
        let failed = false;
        let done = TurnEvent::ToolDone {
            call: call(),
            failed,
            at: 5,
        };
        let next = feed(&mut turn, done);
        let expected: &[TurnEffect] = if id == "b" { &[call_model(2, 1)] } else { &[] };
        assert_eq!(next, expected, "the run goes on when both are done");
    }
}

#[test]
fn a_failed_model_call_is_tried_again_as_the_next_attempt_of_its_step() {
    let mut turn = begun(RunLimits {
        steps: 1,
        ..RunLimits::DEFAULT
    });
    let again = feed(&mut turn, TurnEvent::Retried { at: 2 });
    assert_eq!(again, [call_model(1, 2)], "the last step may be retried");
    assert_eq!(
        feed(&mut turn, TurnEvent::ModelFailed { at: 3 }),
        [finish(RunEndCause::ModelFailed)]
    );
}

#[test]
fn what_a_lost_attempt_may_have_cost_counts() {
    let limits = RunLimits {
        micro_dollars: 10,
        ..RunLimits::DEFAULT
    };
    let lost = |micro_dollars| TurnEvent::Lost {
        tokens: 0,
        micro_dollars: Some(micro_dollars),
        at: 2,
    };
    let mut turn = begun(limits);
    feed(&mut turn, lost(9));
    assert_eq!(
        feed(&mut turn, TurnEvent::Retried { at: 2 }),
        [call_model(1, 2)]
    );
    feed(&mut turn, lost(1));
    assert_eq!(
        feed(&mut turn, TurnEvent::Retried { at: 2 }),
        [finish(RunEndCause::MoneyLimit)]
    );
}

/// What runs below this one have cost.
fn charged(tokens: u64, micro_dollars: u64) -> TurnEvent {
    TurnEvent::Charged {
        tokens,
        micro_dollars,
        at: 2,
    }
}

#[test]
fn what_children_cost_counts_at_any_time_and_stops_nothing_by_itself() {
    let limits = RunLimits {
        micro_dollars: 10,
        ..RunLimits::DEFAULT
    };
    // Before the first step, while the model thinks, and while a call is at work.
    let mut turn = TurnMachine::new(limits);
    assert_eq!(feed(&mut turn, charged(1, 1)), []);
    assert_eq!(
        feed(&mut turn, TurnEvent::Begin { at: 1 }),
        [call_model(1, 1)]
    );
    assert_eq!(feed(&mut turn, charged(2, 2)), []);
    feed(&mut turn, answer(&[("a", Idempotency::Pure)], false));
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
    let limits = RunLimits {
        tokens: 1_000,
        micro_dollars: 1_000,
        ..RunLimits::DEFAULT
    };
    for (event, next) in [
        (charged(900, 900), call_model(2, 1)),
        (charged(1_000, 0), finish(RunEndCause::TokenLimit)),
        (charged(0, 1_000), finish(RunEndCause::MoneyLimit)),
    ] {
        let mut turn = begun(limits);
        feed(&mut turn, answer(&[("a", Idempotency::Pure)], false));
        feed(&mut turn, decided("a", true));
        feed(&mut turn, event);
        let done = TurnEvent::ToolDone {
            call: "a".into(),
            failed: false,
            at: 5,
        };
        assert_eq!(feed(&mut turn, done), [next]);
    }
}

#[test]
fn an_ended_run_is_charged_nothing_more() {
    let mut turn = begun(RunLimits::DEFAULT);
    feed(&mut turn, TurnEvent::Cancelled { at: 2 });
    let spent = turn.spent();
    assert_eq!(feed(&mut turn, charged(5, 5)), []);
    assert_eq!(turn.spent(), spent);
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_once_more() {
    let mut turn = begun(RunLimits::DEFAULT);
    assert_eq!(feed(&mut turn, answer(&[], true)), [call_model(2, 1)]);
    let mut mended = turn.clone();
    assert_eq!(
        feed(&mut mended, answer(&[], false)),
        [finish(RunEndCause::Answered)]
    );
    assert_eq!(
        feed(&mut turn, answer(&[], true)),
        [finish(RunEndCause::ModelFailed)]
    );
}

#[test]
fn a_call_nobody_answers_is_treated_by_what_repeating_it_does() {
    let call = || "a".to_owned();
    let intent = |intent| TurnEffect::Run {
        call: call(),
        intent,
    };
    let expected = [
        (Idempotency::Pure, intent(false)),
        (Idempotency::Keyed, intent(true)),
        (Idempotency::Probeable, TurnEffect::Probe { call: call() }),
        (Idempotency::Opaque, TurnEffect::Doubt { call: call() }),
    ];
    for (class, effect) in expected {
        let mut turn = at_work(class);
        assert_eq!(feed(&mut turn, unanswered()), [effect], "{class:?}");
    }
}

#[test]
fn a_call_is_not_repeated_for_ever() {
    let mut keyed = at_work(Idempotency::Keyed);
    let mut pure = at_work(Idempotency::Pure);
    for _ in 0..2 {
        assert!(matches!(
            feed(&mut keyed, unanswered())[..],
            [TurnEffect::Run { .. }]
        ));
        assert!(matches!(
            feed(&mut pure, unanswered())[..],
            [TurnEffect::Run { .. }]
        ));
    }
    assert!(matches!(
        feed(&mut keyed, unanswered())[..],
        [TurnEffect::Doubt { .. }]
    ));
    assert_eq!(
        feed(&mut pure, unanswered()),
        [call_model(2, 1)],
        "the model is told that it failed"
    );
}

#[test]
fn a_yes_may_be_taken_back_until_the_call_has_begun() {
    let mut turn = begun(RunLimits::DEFAULT);
    feed(&mut turn, answer(&[("a", Idempotency::Opaque)], false));
    feed(&mut turn, decided("a", true));
    assert_eq!(feed(&mut turn, decided("a", false)), [call_model(2, 1)]);

    let mut turn = at_work(Idempotency::Opaque);
    assert_eq!(feed(&mut turn, decided("a", false)), []);
}

#[test]
fn a_question_to_a_person_survives_any_number_of_restarts() {
    let mut turn = at_work(Idempotency::Opaque);
    for at in 10..30 {
        let asked = feed(&mut turn, TurnEvent::Restarted { at });
        assert!(matches!(asked[..], [TurnEffect::Doubt { .. }]), "{asked:?}");
    }
}

#[test]
fn the_time_a_person_takes_is_not_the_runs() {
    let limits = RunLimits {
        wall_ms: 100,
        ..RunLimits::DEFAULT
    };
    let mut turn = begun(limits);
    feed(&mut turn, TurnEvent::OutOfMoney { at: 50 });
    feed(&mut turn, TurnEvent::MoneyAllowed { at: 5_000 });
    assert_eq!(feed(&mut turn, TurnEvent::Tick { at: 5_020 }), []);
    let stopped = [TurnEffect::StopAll, finish(RunEndCause::TimeLimit)];
    assert_eq!(feed(&mut turn, TurnEvent::Tick { at: 5_060 }), stopped);

    let mut turn = begun(limits);
    feed(&mut turn, answer(&[("a", Idempotency::Opaque)], false));
    feed(&mut turn, decided("a", true));
    let call = "a".to_owned();
    feed(&mut turn, TurnEvent::Begun { call, at: 3 });
    feed(&mut turn, TurnEvent::Restarted { at: 10 });
    let resolved = TurnEvent::Resolved {
        call: "a".to_owned(),
        answer: DoubtAnswer::Happened,
        at: 9_000,
    };
    assert_eq!(feed(&mut turn, resolved), [call_model(2, 1)]);
}

#[test]
fn an_orderly_stop_is_no_try_in_vain_and_takes_none_of_the_runs_time() {
    let limits = RunLimits {
        wall_ms: 1_000,
        ..RunLimits::DEFAULT
    };
    let mut turn = begun(limits);
    // Many more than the restarts in vain that end a run, and years in all.
    for start in 1..=20 {
        let at = start * 1_000_000_000;
        assert_eq!(
            feed(
                &mut turn,
                TurnEvent::Left {
                    at: at - 999_999_999
                }
            ),
            []
        );
        let effects = feed(&mut turn, TurnEvent::Restarted { at });
        assert!(
            matches!(effects[..], [TurnEffect::CallModel { .. }]),
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
    let mut turn = begun(RunLimits::DEFAULT);
    feed(&mut turn, TurnEvent::Left { at: 2 });
    feed(&mut turn, TurnEvent::Restarted { at: 3 });
    for _ in 0..RunLimits::DEFAULT.resumes {
        feed(&mut turn, TurnEvent::Restarted { at: 4 });
    }
    let parked = TurnEffect::Finish {
        cause: RunEndCause::Parked,
    };
    assert_eq!(feed(&mut turn, TurnEvent::Restarted { at: 5 }), [parked]);
}

#[test]
fn a_run_in_doubt_is_never_overdue() {
    let limits = RunLimits {
        wall_ms: 1_000,
        ..RunLimits::DEFAULT
    };
    let mut turn = begun(limits);
    feed(&mut turn, answer(&[("a", Idempotency::Opaque)], false));
    let call = || "a".to_owned();
    let decided = TurnEvent::Decided {
        call: call(),
        allowed: true,
        at: 3,
    };
    feed(&mut turn, decided);
    feed(
        &mut turn,
        TurnEvent::Begun {
            call: call(),
            at: 4,
        },
    );
    assert!(turn.is_overdue(5_000));
    feed(
        &mut turn,
        TurnEvent::Unanswered {
            call: call(),
            at: 5,
        },
    );
    assert!(turn.waits_for_person());
    assert!(!turn.is_overdue(u64::MAX));
}
