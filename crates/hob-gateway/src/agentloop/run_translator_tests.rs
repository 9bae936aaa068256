//! What a client is told of an answer, whatever comes in which order.

use super::Story;
use crate::openai::Delta;
use hob_wire::agentloop::Event;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{Cause, Cost, RunCompletedPayload, RunOf};
use serde_json::{Value, json};

fn run() -> RunId {
    "0c0ffee0-1111-7222-8333-444455556666".parse().unwrap()
}

fn story() -> Story {
    Story::new("s".to_owned(), run())
}

fn delta(story: &mut Story, (step, attempt): (u32, u32), offset: u64, text: &str) -> Vec<Value> {
    let payload = json!({
        "runId": run(), "step": step, "attempt": attempt, "offset": offset, "kind": "text",
        "delta": text,
    })
    .to_string();
    let delta: Delta<'_> = serde_json::from_str(&payload).unwrap();
    let mut out = Vec::new();
    story.delta(&delta, &mut out);
    written(out)
}

fn ended(story: &mut Story, response: &str, cause: Cause) -> Vec<Value> {
    let mut out = Vec::new();
    let end = RunCompletedPayload {
        of: RunOf {
            session_key: "s".to_owned(),
            run_id: run(),
        },
        response: response.to_owned(),
        success: cause == Cause::Answered,
        cause,
        message: (cause != Cause::Answered).then(|| "Why.".to_owned()),
        cost: Cost::default(),
        model: None,
        notes: Vec::new(),
        denied: Vec::new(),
    };
    story.ended(end, &mut out);
    written(out)
}

fn written(events: Vec<Event>) -> Vec<Value> {
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
    let mut story = story();
    let first = delta(&mut story, (1, 1), 0, "Hel");
    assert_eq!(first[0]["status"], "streaming");
    assert_eq!(tokens(&first), "Hel");
    assert_eq!(delta(&mut story, (1, 1), 3, "lo").len(), 1);
    let end = ended(&mut story, "Hello", Cause::Answered);
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
    let mut story = story();
    let end = ended(&mut story, "Hello", Cause::Answered);
    assert_eq!(tokens(&end), "Hello");
    assert_eq!(end.last().unwrap()["detail"], "Ready");
}

#[test]
fn a_hole_asks_for_the_status() {
    let mut story = story();
    delta(&mut story, (1, 1), 0, "Hel");
    assert!(!story.asks_status());
    delta(&mut story, (1, 1), 8, "there");
    assert!(story.asks_status());
    assert!(!story.asks_status());
}

#[test]
fn another_beginning_is_not_mixed_with_the_first() {
    let mut story = story();
    delta(&mut story, (1, 1), 0, "Hello");
    assert_eq!(delta(&mut story, (1, 2), 0, "Good").len(), 0);
    assert_eq!(delta(&mut story, (1, 2), 4, " day").len(), 0);
    let end = ended(&mut story, "Good day", Cause::Answered);
    assert_eq!(end[0]["content"], "Good day");
    assert_eq!(tokens(&end), "");
}

#[test]
fn what_is_cancelled_or_fails_has_no_message() {
    let end = ended(&mut story(), "Hal", Cause::Aborted);
    assert_eq!((end.len(), &end[0]["detail"]), (1, &json!("Cancelled")));
    let end = ended(&mut story(), "", Cause::ModelFailed);
    assert_eq!(
        (&end[0]["type"], &end[0]["error"]),
        (&json!("error"), &json!("Why."))
    );
    assert_eq!(end[1]["status"], "error");
    assert_eq!(end[2]["detail"], "Ready");
}
