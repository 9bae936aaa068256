//! Tables of journal entries and the rows they give.

use super::*;
use crate::agent::journal::SteeringText;
use TimelineKind as Kind;
use TimelineState as State;
use hob_core::turn::ModelAnswer;
use hob_wire::rooms::permission::PermissionDenial;
use hob_wire::work::Idempotency;

fn spec(id: &str, effect: Idempotency) -> CallSpec {
    CallSpec {
        id: id.to_owned(),
        tool: "exec".to_owned(),
        args: format!("{{\"command\":\"{}\"}}", "x ".repeat(500)),
        effect,
    }
}

fn answer(calls: Vec<CallSpec>, at: u64) -> TurnEvent {
    let answer = ModelAnswer {
        calls,
        ..ModelAnswer::default()
    };
    TurnEvent::ModelDone { answer, at }
}

fn decided(call: &str, allowed: bool, at: u64) -> TurnEvent {
    TurnEvent::Decided {
        call: call.to_owned(),
        allowed,
        at,
    }
}

fn begun(call: &str, at: u64) -> TurnEvent {
    TurnEvent::Begun {
        call: call.to_owned(),
        at,
    }
}

fn done(call: &str, failed: bool, at: u64) -> TurnEvent {
    TurnEvent::ToolDone {
        call: call.to_owned(),
        failed,
        at,
    }
}

fn rows(entries: impl IntoIterator<Item = TurnEvent>) -> TimelineRows {
    let mut rows = TimelineRows::new(RunLimits::DEFAULT, 1);
    for event in entries {
        rows.apply(&JournalEntry::new(event));
    }
    rows
}

/// Kind, beginning, end and state of each row.
fn told(rows: &TimelineRows) -> Vec<(Kind, u64, Option<u64>, State)> {
    let numbers: Vec<u64> = rows.rows.iter().map(|row| row.number).collect();
    let expected: Vec<u64> = (1..=rows.rows.len() as u64).collect();
    assert_eq!(numbers, expected);
    let told = rows.rows.iter();
    told.map(|row| (row.kind, row.at, row.ended_at, row.state))
        .collect()
}

#[test]
fn a_run_in_progress_has_open_rows() {
    let told_now = told(&rows([]));
    assert_eq!(told_now, [(Kind::Queue, 1, None, State::Open)]);
    let told_now = told(&rows([TurnEvent::Begin { at: 5 }]));
    assert_eq!(
        told_now,
        [
            (Kind::Queue, 1, Some(5), State::Done),
            (Kind::Model, 5, None, State::Open)
        ]
    );
}

#[test]
fn calls_are_asked_begun_and_ended_each_by_itself() {
    let calls = vec![
        spec("a", Idempotency::Opaque),
        spec("b", Idempotency::Opaque),
        spec("c", Idempotency::Pure),
    ];
    let mut rows = rows([
        TurnEvent::Begin { at: 5 },
        answer(calls, 10),
        decided("a", true, 20),
        begun("a", 21),
        decided("c", true, 22),
        done("c", true, 30),
    ]);
    let denial = PermissionDenial {
        call_id: "b".to_owned(),
        tool: "exec".to_owned(),
        by: "owner".to_owned(),
        reason: "No.".to_owned(),
        grant: None,
    };
    let data = EntryData {
        denial: Some(denial.clone()),
        ..EntryData::default()
    };
    rows.apply(&JournalEntry::with_data(decided("b", false, 31), data));
    let result = EntryData {
        result: Some(ToolResult {
            id: "a".to_owned(),
            content: vec![ContentPart::Text {
                text: "two\n  lines".to_owned(),
            }],
            is_error: false,
        }),
        ..EntryData::default()
    };
    rows.apply(&JournalEntry::with_data(done("a", false, 40), result));
    assert_eq!(
        told(&rows)[1..],
        [
            (Kind::Model, 5, Some(10), State::Done),
            (Kind::Call, 10, Some(40), State::Done),
            (Kind::Call, 10, Some(31), State::Denied),
            (Kind::Call, 10, Some(30), State::Failed),
            (Kind::Model, 40, None, State::Open),
        ]
    );
    let first = &rows.rows[2];
    let approval = first.approval.as_ref().expect("was asked for");
    assert_eq!((approval.asked_at, approval.decided_at), (10, Some(20)));
    assert_eq!(first.begun_at, Some(21));
    assert_eq!(first.result.as_deref(), Some("two lines"));
    assert_eq!(first.step, Some(1));
    let text = first.text.as_deref().expect("has arguments");
    assert_eq!(text.chars().count(), TEXT_CHARS_MAX + 1);
    assert_eq!(rows.rows[3].denial, Some(denial));
    assert_eq!(rows.rows[5].step, Some(2));
}

#[test]
fn a_lost_answer_and_its_repetition_are_two_rows() {
    let lost = TurnEvent::Lost {
        tokens: 1,
        micro_dollars: None,
        at: 7,
    };
    let rows = rows([
        TurnEvent::Begin { at: 5 },
        lost,
        TurnEvent::Retried { at: 9 },
        answer(Vec::new(), 12),
    ]);
    assert_eq!(
        told(&rows)[1..],
        [
            (Kind::Model, 5, Some(7), State::Lost),
            (Kind::Model, 9, Some(12), State::Done),
            (Kind::End, 12, Some(12), State::Done),
        ]
    );
    let attempts: Vec<_> = rows.rows.iter().filter_map(|row| row.attempt).collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(rows.rows[3].cause, Some(RunEndCause::Answered));
}

#[test]
fn money_that_ran_out_is_a_question_until_more_is_allowed() {
    let rows = rows([
        TurnEvent::Begin { at: 5 },
        TurnEvent::OutOfMoney { at: 6 },
        TurnEvent::MoneyAllowed { at: 90 },
        TurnEvent::Cancelled { at: 95 },
    ]);
    assert_eq!(
        told(&rows)[1..],
        [
            (Kind::Model, 5, Some(6), State::Unsent),
            (Kind::Budget, 6, Some(90), State::Done),
            (Kind::Model, 90, Some(95), State::Cancelled),
            (Kind::End, 95, Some(95), State::Failed),
        ]
    );
}

#[test]
fn a_call_in_doubt_is_a_question_after_the_restart() {
    let resolved = |answer, at| TurnEvent::Resolved {
        call: "a".to_owned(),
        answer,
        at,
    };
    let crash = [
        TurnEvent::Begin { at: 5 },
        answer(vec![spec("a", Idempotency::Opaque)], 10),
        decided("a", true, 20),
        begun("a", 21),
        TurnEvent::Restarted { at: 50 },
    ];
    let happened = rows(
        crash
            .clone()
            .into_iter()
            .chain([resolved(DoubtAnswer::Happened, 60)]),
    );
    assert_eq!(
        told(&happened)[2..],
        [
            (Kind::Call, 10, Some(60), State::Done),
            (Kind::Restart, 50, Some(50), State::Done),
            (Kind::Doubt, 50, Some(60), State::Done),
            (Kind::Model, 60, None, State::Open),
        ]
    );
    let again = rows(crash.clone().into_iter().chain([
        resolved(DoubtAnswer::DidNot, 60),
        begun("a", 61),
        done("a", false, 70),
    ]));
    assert_eq!(again.rows[2].attempt, Some(2));
    assert_eq!(again.rows[2].ended_at, Some(70));
    let given_up = rows(crash.into_iter().chain([resolved(DoubtAnswer::GiveUp, 60)]));
    assert_eq!(
        given_up.rows[2].call_state,
        Some(ToolCallState::InDoubt),
        "nobody knows what became of it"
    );
    assert!(given_up.rows.iter().all(|row| !is_open(row)));
}

#[test]
fn an_orderly_stop_is_a_pause_and_an_added_text_a_row() {
    let mut rows = rows([TurnEvent::Begin { at: 5 }]);
    let words = EntryData {
        steering: Some(SteeringText {
            text: "also\nthis".to_owned(),
            images: Vec::new(),
            key: None,
        }),
        ..EntryData::default()
    };
    rows.apply(&JournalEntry::with_data(
        TurnEvent::Steered { at: 6 },
        words,
    ));
    rows.apply(&JournalEntry::new(TurnEvent::Left { at: 8 }));
    rows.apply(&JournalEntry::new(TurnEvent::Restarted { at: 80 }));
    assert_eq!(
        told(&rows)[1..],
        [
            (Kind::Model, 5, Some(80), State::Lost),
            (Kind::Steer, 6, Some(6), State::Done),
            (Kind::Restart, 8, Some(80), State::Done),
            (Kind::Model, 80, None, State::Open),
        ]
    );
    assert_eq!(rows.rows[2].text.as_deref(), Some("also this"));
}

#[test]
fn the_end_that_only_the_row_knows_closes_everything_once() {
    let mut rows = rows([TurnEvent::Begin { at: 5 }]);
    rows.end(RunEndCause::Aborted, 9);
    rows.end(RunEndCause::Aborted, 10);
    assert_eq!(
        told(&rows)[1..],
        [
            (Kind::Model, 5, Some(9), State::Cancelled),
            (Kind::End, 9, Some(9), State::Failed),
        ]
    );
}
