//! Events and readings in every order.

use super::*;
use serde_json::{Value, json};

const NOW: u64 = 1_794_778_625_000;
const RUN: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

fn event(topic: &str, payload: &Value) -> BusEvent {
    BusEvent {
        source: "loops".to_owned(),
        topic: topic.to_owned(),
        seq: 1,
        sub: None,
        payload: Some(payload.to_string().into_bytes().into()),
        log_id: None,
    }
}

fn tell(watched: &mut WatchedLoop, topic: &str, mut payload: Value) -> WatchEffect {
    if topic.starts_with("loop.") && payload.get("name").is_none() {
        payload["name"] = json!("build");
    }
    watched.apply_event(&event(topic, &payload), NOW)
}

fn begun(number: u32) -> WatchedLoop {
    let mut watched = WatchedLoop::new("build");
    begin(&mut watched, number);
    watched
}

fn begin(watched: &mut WatchedLoop, number: u32) {
    let key = format!("loop:build:{number}");
    let payload = json!({ "iteration": number, "sessionKey": key });
    assert!(tell(watched, "loop.iteration", payload).is_about_loop);
    let payload = json!({ "iteration": number, "runId": RUN, "prompt": "Do it" });
    tell(watched, "loop.prompt", payload);
}

fn delta(number: u32, step: u32, attempt: u32, offset: u64, text: &str) -> Value {
    json!({
        "sessionKey": format!("loop:build:{number}"), "runId": RUN, "step": step,
        "attempt": attempt, "offset": offset, "kind": "text", "delta": text,
    })
}

fn read(value: &Value) -> LoopReading {
    let mut one = json!({
        "name": "build", "config": { "intervalMs": 5000 }, "createdAt": 1, "updatedAt": 1,
        "state": { "running": true, "phase": "sleep", "iteration": 3, "sinceStart": 3 },
        "persistent": { "revision": 0, "text": "" }, "working": { "revision": 0, "text": "" },
    });
    for (name, state) in value["state"].as_object().into_iter().flatten() {
        one["state"][name] = state.clone();
    }
    LoopReading {
        one: serde_json::from_value(one).expect("a loop"),
        history: serde_json::from_value(value["history"].clone()).unwrap_or_default(),
        run: None,
        asked_at: value["askedAt"].as_u64().unwrap_or_default(),
    }
}

#[test]
fn words_come_as_they_are_said_and_another_attempt_replaces_them() {
    let mut watched = begun(1);
    tell(&mut watched, "run.delta", delta(1, 1, 1, 0, "One "));
    tell(&mut watched, "run.delta", delta(1, 1, 1, 4, "two"));
    assert_eq!(watched.answer, "One two");
    tell(&mut watched, "run.delta", delta(1, 1, 2, 0, "Again"));
    assert_eq!(watched.answer, "Again");
    let step = json!({
        "sessionKey": "loop:build:1", "runId": RUN, "step": 1, "attempt": 2, "model": "sim/small",
        "usage": { "inputTokens": 1, "outputTokens": 1 }, "text": "Again",
        "cost": { "inputTokens": 1, "outputTokens": 1, "calls": 1 },
    });
    tell(&mut watched, "run.step", step);
    assert_eq!(watched.model.as_deref(), Some("sim/small"));
    let call = json!({
        "sessionKey": "loop:build:1", "runId": RUN, "step": 1, "phase": "start",
        "call": { "id": "c", "name": "read", "args": { "path": "a.txt" } },
    });
    tell(&mut watched, "run.tool", call);
    tell(&mut watched, "run.delta", delta(1, 2, 1, 0, "Done."));
    assert_eq!(watched.answer, "Again\n→ read a.txt\nDone.");
    let payload = json!({ "iteration": 1, "runId": RUN, "response": "Done." });
    tell(&mut watched, "loop.response", payload);
    assert_eq!(watched.answer, "Again\n→ read a.txt\nDone.");
    assert_eq!((watched.past[0].iteration, watched.past[0].ok), (1, true));
}

#[test]
fn a_hole_asks_for_a_reading_and_other_runs_are_not_heard() {
    let mut watched = begun(1);
    let effect = tell(&mut watched, "run.delta", delta(1, 1, 1, 40, "late"));
    assert!(effect.wants_reading);
    let effect = tell(&mut watched, "run.delta", delta(2, 1, 1, 0, "another's"));
    assert_eq!(effect, WatchEffect::default());
    let other = json!({ "name": "other", "iteration": 9, "sessionKey": "loop:other:9" });
    assert!(!tell(&mut watched, "loop.iteration", other).is_about_loop);
    assert_eq!((watched.state.iteration, watched.answer.as_str()), (1, ""));
}

#[test]
fn an_older_reading_does_not_undo_what_was_told_since() {
    let mut watched = begun(4);
    let old = json!({
        "askedAt": watched.changes - 1,
        "history": [{ "iteration": 2, "sessionKey": "loop:build:2", "prompt": "Do it",
            "response": "Two.", "success": true, "startedAt": 1, "endedAt": 9 }],
    });
    assert!(watched.apply_reading(read(&old)), "another one is wanted");
    assert_eq!(watched.state.iteration, 4);
    assert_eq!(watched.past[0].summary, "Two.");
    let fresh = json!({ "askedAt": watched.changes, "state": { "iteration": 5 } });
    assert!(!watched.apply_reading(read(&fresh)));
    assert_eq!(watched.state.iteration, 5);
}

#[test]
fn those_before_stand_in_order_once_and_are_bounded() {
    let mut watched = WatchedLoop::new("build");
    for number in [3, 1, 2, 3] {
        let payload = json!({ "iteration": number, "runId": RUN, "response": "Well." });
        tell(&mut watched, "loop.response", payload);
    }
    let numbers: Vec<u32> = watched.past.iter().map(|it| it.iteration).collect();
    assert_eq!(numbers, [3, 2, 1]);
    for number in 4..200 {
        let payload = json!({ "iteration": number, "message": "No.\nNever." });
        tell(&mut watched, "loop.error", payload);
    }
    assert_eq!(watched.past.len(), PAST_MAX);
    assert_eq!(
        watched.past[0],
        PastIteration {
            iteration: 199,
            ok: false,
            took_ms: None,
            summary: "No. Never.".to_owned()
        }
    );
    let long = "ä".repeat(ANSWER_BYTES_MAX);
    begin(&mut watched, 200);
    tell(&mut watched, "run.delta", delta(200, 1, 1, 0, &long));
    assert!(watched.answer.len() <= ANSWER_BYTES_MAX && watched.answer.starts_with('ä'));
}

#[test]
fn an_end_is_the_end_until_it_begins_again() {
    let mut watched = begun(1);
    let payload = json!({ "iteration": 1, "end": "stopped", "message": "It was stopped." });
    tell(&mut watched, "loop.stopped", payload);
    assert_eq!(
        watched.end,
        Some((LoopEnd::Stopped, "It was stopped.".to_owned()))
    );
    assert!(!watched.state.running);
    begin(&mut watched, 2);
    assert_eq!((watched.end, watched.state.running), (None, true));
    assert_eq!((watched.state.iteration, watched.state.since_start), (2, 1));
}
