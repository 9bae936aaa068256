//! The JSON of Loop Runner's API.

use super::{
    LoopRunnerConfig, LoopRunnerConfigChange, LoopRunnerEvent, LoopRunnerIteration,
    LoopRunnerModel, LoopRunnerMonitor, LoopRunnerNamedModel, LoopRunnerState,
};
use serde_json::{Value, json};

fn config() -> LoopRunnerConfig {
    LoopRunnerConfig {
        model: LoopRunnerModel::default(),
        system: "Be brief.".to_owned(),
        user: "Look.".to_owned(),
        working: String::new(),
        persistent: "Goals".to_owned(),
        monitor: None,
        interval: 5_000,
        max_iterations: 0,
        auto_approve: true,
    }
}

#[test]
fn the_settings_have_loop_runners_fields() {
    let mut shown = config();
    let model = json!({ "providerID": "anthropic", "modelID": "claude-sonnet-4-20250514" });
    assert_eq!(
        serde_json::to_value(&shown).unwrap(),
        json!({
            "model": model, "system": "Be brief.", "user": "Look.", "working": "",
            "persistent": "Goals", "monitor": null, "interval": 5000, "maxIterations": 0,
            "autoApprove": true,
        })
    );
    let mut monitor = |interval| {
        shown.monitor = Some(LoopRunnerMonitor {
            command: "date".to_owned(),
            interval,
        });
        serde_json::to_value(&shown).unwrap()["monitor"].clone()
    };
    assert_eq!(monitor(None), json!({ "command": "date" }));
    assert_eq!(
        monitor(Some(10_000)),
        json!({ "command": "date", "interval": 10_000 })
    );
    let named = LoopRunnerNamedModel {
        model: LoopRunnerModel {
            provider_id: "openrouter".to_owned(),
            model_id: "meta/llama".to_owned(),
        },
        name: "Llama".to_owned(),
    };
    assert_eq!(
        serde_json::to_value(named).unwrap(),
        json!({ "providerID": "openrouter", "modelID": "meta/llama", "name": "Llama" })
    );
}

#[test]
fn a_change_tells_null_from_missing_and_tolerates_what_it_does_not_know() {
    let read = |value: Value| serde_json::from_value::<LoopRunnerConfigChange>(value);
    assert_eq!(read(json!({})).unwrap().monitor, None);
    assert_eq!(
        read(json!({ "monitor": null })).unwrap().monitor,
        Some(None)
    );
    let set = read(json!({ "monitor": { "command": "date" }, "theme": "dark" })).unwrap();
    assert_eq!(set.monitor.unwrap().unwrap().command, "date");
    for wrong in [
        json!({ "interval": "5000" }),
        json!({ "interval": -1 }),
        json!({ "maxIterations": 1.5 }),
        json!({ "model": { "providerID": 7 } }),
        json!({ "monitor": "date" }),
        json!({ "user": 7 }),
    ] {
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn events_are_flat_and_named_as_loop_runner_names_them() {
    let state = LoopRunnerState {
        running: true,
        iteration: 2,
        session_id: Some("loop:default:2".to_owned()),
        ..LoopRunnerState::default()
    };
    let whole = LoopRunnerState {
        history: Some(vec![LoopRunnerIteration {
            iteration: 1,
            prompt: "p".to_owned(),
            response: "r".to_owned(),
            timestamp: 9,
        }]),
        ..state.clone()
    };
    let connected = LoopRunnerEvent::Connected {
        state: whole,
        config: config(),
    };
    let told = serde_json::to_value(connected).unwrap();
    assert_eq!(told["type"], "connected");
    assert_eq!(
        told["state"],
        json!({
            "running": true, "iteration": 2, "sessionID": "loop:default:2", "lastOutput": "",
            "monitorOutput": "",
            "history": [{ "iteration": 1, "prompt": "p", "response": "r", "timestamp": 9 }],
        })
    );
    assert_eq!(told["config"]["maxIterations"], 0);
    let told = serde_json::to_value(LoopRunnerEvent::State { state }).unwrap();
    assert!(told["state"].get("history").is_none());
    assert_eq!(
        serde_json::to_value(LoopRunnerEvent::Stopped).unwrap(),
        json!({ "type": "stopped" })
    );
    let iteration = LoopRunnerEvent::Iteration { iteration: 3 };
    assert_eq!(
        serde_json::to_value(iteration).unwrap(),
        json!({ "type": "iteration", "iteration": 3 })
    );
    let error = LoopRunnerEvent::Error {
        message: "No.".to_owned(),
        iteration: None,
    };
    assert_eq!(
        serde_json::to_value(error).unwrap(),
        json!({ "type": "error", "message": "No." })
    );
    assert_eq!(
        serde_json::to_value(LoopRunnerState::default()).unwrap()["sessionID"],
        Value::Null
    );
}
