//! The events of an answer, for run events in any order.

use super::AgentLoopRunTranslator;
use crate::agentloop::types::AgentLoopEvent;
use hob_gateway::openai::BorrowedDelta;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{Cost, RunCompletedPayload, RunEndCause, RunRef};
use serde_json::{Value, json};

fn run() -> RunId {
    "0c0ffee0-1111-7222-8333-444455556666".parse().unwrap()
}

fn translator() -> AgentLoopRunTranslator {
    AgentLoopRunTranslator::new("s".to_owned(), run())
}

fn delta(
    translator: &mut AgentLoopRunTranslator,
    (step, attempt): (u32, u32),
    offset: u64,
    text: &str,
) -> Vec<Value> {
    let payload = json!({
        "runId": run(), "step": step, "attempt": attempt, "offset": offset, "kind": "text",
        "delta": text,
    })
    .to_string();
    let delta: BorrowedDelta<'_> = serde_json::from_str(&payload).unwrap();
    let mut out = Vec::new();
    translator.apply_delta(&delta, &mut out);
    written(out)
}

fn ended(
    translator: &mut AgentLoopRunTranslator,
    response: &str,
    cause: RunEndCause,
) -> Vec<Value> {
    let mut out = Vec::new();
    let end = RunCompletedPayload {
        run: RunRef {
            session_key: "s".to_owned(),
            run_id: run(),
        },
        response: response.to_owned(),
        success: cause == RunEndCause::Answered,
        cause,
        message: (cause != RunEndCause::Answered).then(|| "Why.".to_owned()),
        cost: Cost::default(),
        model: None,
        notes: Vec::new(),
        denied: Vec::new(),
    };
    translator.finish(end, &mut out);
    written(out)
}

fn written(events: Vec<AgentLoopEvent>) -> Vec<Value> {
    let events = events.into_iter();
    events
        .map(|event| serde_json::to_value(event).unwrap())
        .collect()
}

fn tokens(events: &[Value]) -> String {
    events
        .iter()
        .filter_map(|event| event["token"].as_str())
        .collect()
}

#[test]
fn tokens_are_the_message() {
    let mut translator = translator();
    let first = delta(&mut translator, (1, 1), 0, "Hel");
    assert_eq!(first[0]["status"], "streaming");
    assert_eq!(tokens(&first), "Hel");
    assert_eq!(delta(&mut translator, (1, 1), 3, "lo").len(), 1);
    let end = ended(&mut translator, "Hello", RunEndCause::Answered);
    assert_eq!(end[0]["type"], "assistant.message");
    assert_eq!(end[0]["content"], "Hello");
    assert_eq!(end[0]["messageId"], run().to_string());
    assert_eq!(
        (&end[1]["status"], &end[1]["detail"]),
        (&json!("idle"), &json!("Ready"))
    );
}

#[test]
fn what_never_came_is_told_at_the_end() {
    let mut translator = translator();
    let end = ended(&mut translator, "Hello", RunEndCause::Answered);
    assert_eq!(tokens(&end), "Hello");
    assert_eq!(end.last().unwrap()["detail"], "Ready");
}

#[test]
fn a_hole_asks_for_the_status() {
    let mut translator = translator();
    delta(&mut translator, (1, 1), 0, "Hel");
    assert!(!translator.take_status_request());
    delta(&mut translator, (1, 1), 8, "there");
    assert!(translator.take_status_request());
    assert!(!translator.take_status_request());
}

#[test]
fn another_beginning_is_not_mixed_with_the_first() {
    let mut translator = translator();
    delta(&mut translator, (1, 1), 0, "Hello");
    assert_eq!(delta(&mut translator, (1, 2), 0, "Good").len(), 0);
    assert_eq!(delta(&mut translator, (1, 2), 4, " day").len(), 0);
    let end = ended(&mut translator, "Good day", RunEndCause::Answered);
    assert_eq!(end[0]["content"], "Good day");
    assert_eq!(tokens(&end), "");
}

#[test]
fn what_is_cancelled_or_fails_has_no_message() {
    let end = ended(&mut translator(), "Hal", RunEndCause::Aborted);
    assert_eq!((end.len(), &end[0]["detail"]), (1, &json!("Cancelled")));
    let end = ended(&mut translator(), "", RunEndCause::ModelFailed);
    assert_eq!(
        (&end[0]["type"], &end[0]["error"]),
        (&json!("error"), &json!("Why."))
    );
    assert_eq!(end[1]["status"], "error");
    assert_eq!(end[2]["detail"], "Ready");
}
