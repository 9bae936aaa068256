//! A thousand runs that were under way when the daemon was killed: all go on by themselves.

use super::house::{House, accept};
use crate::faults::rig::eventually;
use crate::faults::trial::Trial;
use hob_sim::{Answer, Gate, Sim};
use serde_json::json;
use std::time::Instant;

const RUNS: usize = 1_000;

#[test]
fn f102_a_thousand_unfinished_runs_at_start() {
    let trial = Trial::begin(102);
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |asked| Answer::words(answer(asked.last_user())).held(&held));
    let mut house = House::start(&sim, "[agent]\nconcurrency = 1024\n", true);
    let mut peer = house.rig.peer();
    let accepted = |at: usize| {
        let params = json!({ "sessionKey": format!("many:{at}"), "task": format!("Task {at}") });
        accept(&mut peer, &params).expect("the daemon lives")
    };
    let ids: Vec<String> = (0..RUNS).map(accepted).collect();
    eventually("every run is at its model", || gate.waiting() == RUNS);
    let asked_before = sim.asked_count();
    // The next daemon has the usual bound.
    let mut config =
        std::fs::read_to_string(house.rig.home().join("config.toml")).expect("a config");
    config = config.replace("concurrency = 1024", "concurrency = 8");
    std::fs::write(house.rig.home().join("config.toml"), config).expect("a config");
    house.rig.kill();
    eventually("the dead daemon's calls are gone", || gate.waiting() == 0);
    gate.open();
    let begun = Instant::now();
    let ready = house.restart();
    let resumed = || {
        let heard = house.person.heard();
        ids.iter()
            .all(|id| heard.started.get(id).is_some_and(|times| *times >= 2))
    };
    eventually("every run goes on", resumed);
    let resumed_ms = begun.elapsed().as_millis();
    eventually("every run ends", || {
        ids.iter().all(|id| house.person.saw_end(id))
    });
    let ended_ms = begun.elapsed().as_millis();
    let mut peer = house.rig.peer();
    for (at, id) in ids.iter().enumerate() {
        let view = peer.must("agent.status", &json!({ "runId": id }));
        assert_eq!(view["text"], answer(&format!("Task {at}")), "{view}");
    }
    let ends = house
        .person
        .heard()
        .completed
        .values()
        .filter(|times| **times == 1)
        .count();
    assert_eq!(ends, RUNS, "each ended once");
    assert_eq!(
        sim.asked_count() - asked_before,
        RUNS,
        "each asked its model once more"
    );
    trial.figure("runs", RUNS);
    trial.figure("ready_ms", ready.as_millis());
    trial.figure("all_resumed_ms", resumed_ms);
    trial.figure("all_ended_ms", ended_ms);
    house.close();
}

fn answer(task: &str) -> String {
    format!("{task} is done.")
}
