//! Events in Loop Runner's words.

use super::{Mirror, Told};
use hob_wire::looprunner::{Past, State};
use serde_json::{Value, json};

fn mirror() -> Mirror {
    let past = Past {
        iteration: 1,
        prompt: String::new(),
        response: String::new(),
        timestamp: 0,
    };
    let state = State {
        running: true,
        iteration: 1,
        last_output: "before".to_owned(),
        history: Some(vec![past]),
        ..State::default()
    };
    Mirror::new("default".to_owned(), state)
}

fn take(mirror: &mut Mirror, topic: &str, mut payload: Value) -> Told {
    if payload.get("name").is_none() {
        payload["name"] = json!("default");
    }
    mirror.take(topic, &payload.to_string()).unwrap()
}

fn event(told: Told) -> Value {
    match told {
        Told::Event(event) => serde_json::to_value(*event).unwrap(),
        other => panic!("no event but {other:?}"),
    }
}

#[test]
fn an_iteration_is_told_in_their_words_and_the_state_has_all_of_it() {
    let mut mirror = mirror();
    let run = "0198c8a2-7d5e-7000-8000-000000000001";
    let told = take(
        &mut mirror,
        "loop.iteration",
        json!({ "iteration": 2, "sessionKey": "loop:default:2" }),
    );
    assert_eq!(event(told), json!({ "type": "iteration", "iteration": 2 }));
    let output = json!({ "at": 1, "durationMs": 1, "exitCode": 1, "stdout": "a", "stderr": "b" });
    let told = take(&mut mirror, "loop.monitor", json!({ "output": output }));
    assert_eq!(
        event(told),
        json!({ "type": "monitor", "output": "a\n[stderr]\nb" })
    );
    let told = take(
        &mut mirror,
        "loop.prompt",
        json!({ "iteration": 2, "runId": run, "prompt": "Do." }),
    );
    assert_eq!(
        event(told),
        json!({ "type": "prompt", "prompt": "Do.", "iteration": 2 })
    );
    let told = take(
        &mut mirror,
        "loop.response",
        json!({ "iteration": 2, "runId": run, "response": "Done." }),
    );
    assert_eq!(
        event(told),
        json!({ "type": "response", "response": "Done.", "iteration": 2 })
    );
    let told = take(
        &mut mirror,
        "loop.state",
        json!({ "running": true, "phase": "sleep", "iteration": 2 }),
    );
    let state = json!({
        "running": true, "iteration": 2, "sessionID": "loop:default:2", "lastOutput": "Done.",
        "monitorOutput": "a\n[stderr]\nb",
    });
    assert_eq!(event(told), json!({ "type": "state", "state": state }));
    let told = take(
        &mut mirror,
        "loop.error",
        json!({ "iteration": 2, "message": "No." }),
    );
    assert_eq!(
        event(told),
        json!({ "type": "error", "message": "No.", "iteration": 2 })
    );
    let told = take(
        &mut mirror,
        "loop.stopped",
        json!({ "iteration": 2, "end": "stopped", "message": "It was stopped." }),
    );
    assert_eq!(event(told), json!({ "type": "stopped" }));
    assert!(!mirror.state.running);
}

#[test]
fn other_loops_and_other_events_tell_nothing() {
    let mut mirror = mirror();
    let other = json!({ "name": "other", "iteration": 9, "sessionKey": "loop:other:9" });
    assert_eq!(take(&mut mirror, "loop.iteration", other), Told::Nothing);
    let escaped = r#"{"iteration":2,"sessionKey":"s","name":"def\u0061ult"}"#;
    let told = mirror.take("loop.iteration", escaped).unwrap();
    assert_eq!(event(told)["iteration"], 2);
    assert_eq!(take(&mut mirror, "run.delta", json!({})), Told::Nothing);
    assert_eq!(mirror.take("loop.state", "null"), Ok(Told::Nothing));
    assert!(mirror.take("loop.state", r#"{"name":"default"}"#).is_err());
    assert_eq!(
        take(&mut mirror, "loop.config", json!({})),
        Told::Configured
    );
    assert_eq!(take(&mut mirror, "loop.deleted", json!({})), Told::Deleted);
    let gap = mirror.take("gateway.gap", r#"{"from":3,"to":9}"#).unwrap();
    assert!(matches!(gap, Told::Gap(gap) if (gap.from, gap.to) == (3, 9)));
}
