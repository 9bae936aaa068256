//! A stop at any moment, and words that come in the middle of an iteration.

use super::{create, history, iteration_of, rig, start, state, until};
use crate::faults::hands::tools::processes_with;
use crate::faults::trial::{Trial, percentile};
use hob_sim::{Answer, Gate};
use serde_json::json;
use std::time::Instant;

/// Stops of each kind.
const ROUNDS: usize = 5;
/// What half of the stops may take at the most.
const STOP_MS_MAX: f64 = 1_000.0;

#[test]
fn f111_loops_stopped_anywhere() {
    let trial = Trial::begin(111);
    let gate = Gate::new();
    let (mut rig, sim) = rig("", move |asked| {
        if asked.last_user().contains("wait for ever") {
            Answer::words("never").held(&gate)
        } else {
            Answer::words("well")
        }
    });
    rig.start();
    let mut peer = rig.peer();
    let word = format!("4{}.5", trial.randomness.u64() % 1_000_000);
    let stubborn = format!("trap '' TERM; (setsid sleep {word} &); while :; do sleep {word}; done");
    let monitor = json!({ "command": stubborn });
    let beside = json!({ "command": stubborn, "intervalMs": 1000 });
    for (name, config, phase) in [
        ("prompt", json!({ "user": "wait for ever" }), "prompt"),
        (
            "monitor",
            json!({ "user": "Go.", "monitor": monitor }),
            "monitor",
        ),
        (
            "beside",
            json!({ "user": "Go.", "intervalMs": 600_000, "monitor": beside }),
            "sleep",
        ),
        (
            "sleep",
            json!({ "user": "Go.", "intervalMs": 600_000 }),
            "sleep",
        ),
    ] {
        create(&mut peer, name, &config);
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            start(&mut peer, name);
            until(&mut peer, name, |it| it["phase"] == phase);
            if name == "prompt" {
                crate::faults::rig::eventually("the model is asked", || sim.open_streams() > 0);
            }
            if config["monitor"].is_object() {
                let mark = format!("sleep\0{word}");
                crate::faults::rig::eventually("the monitor runs", || processes_with(&mark) > 1);
            }
            let begun = Instant::now();
            let stopped = peer.must("loop.stop", &json!({ "name": name }));
            times.push(begun.elapsed().as_secs_f64() * 1_000.0);
            assert_eq!(stopped["state"]["running"], false, "{stopped}");
            assert_eq!(stopped["state"]["stopped"], "stopped", "{stopped}");
            assert_eq!(processes_with(&format!("sleep\0{word}")), 0, "{name}");
        }
        let p50 = percentile(&mut times, 50);
        let worst = percentile(&mut times, 100);
        assert!(
            p50 < STOP_MS_MAX,
            "{name}: half took longer than {p50:.0} ms"
        );
        trial.figure(&format!("stop_{name}_max_ms"), format_args!("{worst:.0}"));
    }
    rig.stop();
}

#[test]
fn f112_words_typed_during_an_iteration() {
    let trial = Trial::begin(112);
    let gate = Gate::new();
    let held = gate.clone();
    let (mut rig, sim) = rig("", move |asked| {
        let answer = Answer::words("well");
        if iteration_of(asked) == 1 {
            answer.held(&held)
        } else {
            answer
        }
    });
    rig.start();
    let mut peer = rig.peer();
    create(
        &mut peer,
        "typed",
        &json!({ "user": "Go.", "intervalMs": 1000, "maxIterations": 3 }),
    );
    peer.must(
        "loop.working",
        &json!({ "name": "typed", "text": "for the first" }),
    );
    start(&mut peer, "typed");
    crate::faults::rig::eventually("the model is asked", || sim.open_streams() > 0);
    peer.must(
        "loop.working",
        &json!({ "name": "typed", "text": "for the second" }),
    );
    gate.open();
    until(&mut peer, "typed", |it| it["running"] == false);
    let prompts: Vec<String> = history(&mut peer, "typed")
        .iter()
        .map(|it| it["prompt"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(prompts[0].contains("for the first"), "{prompts:?}");
    assert!(
        prompts[1].contains("for the second"),
        "typed words were lost: {prompts:?}"
    );
    assert!(
        !prompts[2].contains("for the"),
        "they are shown once: {prompts:?}"
    );
    assert_eq!(state(&mut peer, "typed")["iteration"], 3);
    trial.figure("typed_words_lost", 0);
    rig.stop();
}
