//! A daemon that is killed while a loop works: the next one goes on with the same iteration.

use super::{create, history, iteration_of, rig, start, state, until};
use crate::faults::trial::Trial;
use hob_sim::{Answer, Gate};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ITERATIONS: u64 = 8;
const KILLS: u64 = 5;

#[test]
fn f13_loops_killed_in_the_middle() {
    let trial = Trial::begin(13);
    // The first time a number is asked for it is not answered: that is where the daemon dies.
    let seen: Arc<Mutex<BTreeSet<u64>>> = Arc::default();
    let (known, gate) = (Arc::clone(&seen), Gate::new());
    let (mut rig, _sim) = rig("", move |asked| {
        let number = iteration_of(asked);
        let is_first = known.lock().expect("is sound").insert(number);
        let answer = Answer::words(format!("answer {number}"));
        if is_first && number <= KILLS {
            answer.held(&gate)
        } else {
            answer
        }
    });
    let place = rig.scratch().join("place");
    std::fs::create_dir_all(&place).expect("a folder");
    rig.start();
    let mut peer = rig.peer();
    let monitor = json!({ "command": "echo seen" });
    let config = json!({
        "user": "Go.", "intervalMs": 1000, "maxIterations": ITERATIONS, "monitor": monitor,
        "workspace": place,
    });
    create(&mut peer, "hardy", &config);
    start(&mut peer, "hardy");
    let mut back_ms = Vec::new();
    for number in 1..=KILLS {
        let begun = Instant::now();
        while !seen.lock().expect("is sound").contains(&number) {
            assert!(
                begun.elapsed() < crate::faults::rig::PATIENCE,
                "no iteration {number}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        // Some die at once, some a moment later.
        std::thread::sleep(Duration::from_millis(trial.randomness.u64() % 200));
        rig.kill();
        let begun = Instant::now();
        rig.start();
        peer = rig.peer();
        let going_on = until(&mut peer, "hardy", |it| {
            it["running"] == true || it["stopped"] == "max-iterations"
        });
        back_ms.push(begun.elapsed().as_millis());
        assert!(going_on["iteration"].as_u64() >= Some(number), "{going_on}");
    }
    until(&mut peer, "hardy", |it| it["running"] == false);
    let ended = state(&mut peer, "hardy");
    assert_eq!(ended["stopped"], "max-iterations", "{ended}");
    assert_eq!(ended["sinceStart"], ITERATIONS, "{ended}");
    let iterations = history(&mut peer, "hardy");
    let numbers: Vec<u64> = iterations
        .iter()
        .filter_map(|it| it["iteration"].as_u64())
        .collect();
    assert_eq!(numbers, (1..=ITERATIONS).collect::<Vec<_>>());
    let mut runs = BTreeSet::new();
    for (number, iteration) in (1_u64..).zip(&iterations) {
        assert_eq!(iteration["success"], true, "{iteration}");
        assert_eq!(iteration["response"], format!("answer {number}"));
        runs.insert(iteration["runId"].to_string());
        let list = json!({ "sessionKey": format!("loop:hardy:{number}") });
        let of_session = peer.must("agent.list", &list);
        let count = of_session["runs"].as_array().map_or(0, Vec::len);
        assert_eq!(count, 1, "one run of iteration {number}");
    }
    assert_eq!(runs.len() as u64, ITERATIONS, "no run is shared");
    trial.figure("loop_kills", KILLS);
    trial.figure("loop_iterations_lost_or_doubled", 0);
    let worst = back_ms.iter().max().copied().unwrap_or(0);
    trial.figure("loop_back_ms", worst);
    rig.stop();
}
