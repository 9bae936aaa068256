//! Events in Loop Runner's format.

use super::{LoopEventTranslator, TranslatedEvent};
use crate::looprunner::types::{LoopRunnerIteration, LoopRunnerState};
use serde_json::{Value, json};

fn translator() -> LoopEventTranslator {
    let past = LoopRunnerIteration {
        iteration: 1,
        prompt: String::new(),
        response: String::new(),
        timestamp: 0,
    };
    let state = LoopRunnerState {
        running: true,
        iteration: 1,
        last_output: "before".to_owned(),
        history: Some(vec![past]),
        ..LoopRunnerState::default()
    };
    LoopEventTranslator::new("default".to_owned(), state)
}

fn translate(
    translator: &mut LoopEventTranslator,
    topic: &str,
    mut payload: Value,
) -> TranslatedEvent {
    if payload.get("name").is_none() {
        payload["name"] = json!("default");
    }
    translator.translate(topic, &payload.to_string()).unwrap()
}

fn event(told: TranslatedEvent) -> Value {
    match told {
        TranslatedEvent::Event(event) => serde_json::to_value(*event).unwrap(),
        other => panic!("no event but {other:?}"),
    }
}

#[test]
fn an_iteration_is_told_in_their_words_and_the_state_has_all_of_it() {
    let mut translator = translator();
    let run = "0198c8a2-7d5e-7000-8000-000000000001";
    let told = translate(
        &mut translator,
        "loop.iteration",
        json!({ "iteration": 2, "sessionKey": "loop:default:2" }),
    );
    assert_eq!(event(told), json!({ "type": "iteration", "iteration": 2 }));
    let output = json!({ "at": 1, "durationMs": 1, "exitCode": 1, "stdout": "a", "stderr": "b" });
    let told = translate(&mut translator, "loop.monitor", json!({ "output": output }));
    assert_eq!(
        event(told),
        json!({ "type": "monitor", "output": "a\n[stderr]\nb" })
    );
    let told = translate(
        &mut translator,
        "loop.prompt",
        json!({ "iteration": 2, "runId": run, "prompt": "Do." }),
    );
    assert_eq!(
        event(told),
        json!({ "type": "prompt", "prompt": "Do.", "iteration": 2 })
    );
    let told = translate(
        &mut translator,
        "loop.response",
        json!({ "iteration": 2, "runId": run, "response": "Done." }),
    );
    assert_eq!(
        event(told),
        json!({ "type": "response", "response": "Done.", "iteration": 2 })
    );
    let told = translate(
        &mut translator,
        "loop.state",
        json!({ "running": true, "phase": "sleep", "iteration": 2 }),
    );
    let state = json!({
        "running": true, "iteration": 2, "sessionID": "loop:default:2", "lastOutput": "Done.",
        "monitorOutput": "a\n[stderr]\nb",
    });
    assert_eq!(event(told), json!({ "type": "state", "state": state }));
    let told = translate(
        &mut translator,
        "loop.error",
        json!({ "iteration": 2, "message": "No." }),
    );
    assert_eq!(
        event(told),
        json!({ "type": "error", "message": "No.", "iteration": 2 })
    );
    let told = translate(
        &mut translator,
        "loop.stopped",
        json!({ "iteration": 2, "end": "stopped", "message": "It was stopped." }),
    );
    assert_eq!(event(told), json!({ "type": "stopped" }));
    assert!(!translator.state.running);
}

#[test]
fn other_loops_and_other_events_tell_nothing() {
    let mut translator = translator();
    let other = json!({ "name": "other", "iteration": 9, "sessionKey": "loop:other:9" });
    assert_eq!(
        translate(&mut translator, "loop.iteration", other),
        TranslatedEvent::Nothing
    );
    let escaped = r#"{"iteration":2,"sessionKey":"s","name":"def\u0061ult"}"#;
    let told = translator.translate("loop.iteration", escaped).unwrap();
    assert_eq!(event(told)["iteration"], 2);
    assert_eq!(
        translate(&mut translator, "run.delta", json!({})),
        TranslatedEvent::Nothing
    );
    assert_eq!(
        translator.translate("loop.state", "null"),
        Ok(TranslatedEvent::Nothing)
    );
    assert!(
        translator
            .translate("loop.state", r#"{"name":"default"}"#)
            .is_err()
    );
    assert_eq!(
        translate(&mut translator, "loop.config", json!({})),
        TranslatedEvent::Configured
    );
    assert_eq!(
        translate(&mut translator, "loop.deleted", json!({})),
        TranslatedEvent::Deleted
    );
    let gap = translator
        .translate("gateway.gap", r#"{"from":3,"to":9}"#)
        .unwrap();
    assert!(matches!(gap, TranslatedEvent::Gap(gap) if (gap.from, gap.to) == (3, 9)));
}
