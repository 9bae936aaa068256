//! Runs of five tool calls, most of them waiting for their turn, under a daemon that is told to stop
//! again and again: whatever the stop cuts off goes on at the next start.

use super::house::{House, accept};
use super::killed_runs::{Run, five_calls, is_over, stuck, task};
use super::verdict::Verdict;
use crate::faults::rig::PATIENCE;
use crate::faults::trial::{Trial, number_from_env, percentile};
use hob_sim::Sim;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Enough for CI; `HOB_FAULT_STOPS` asks for more.
const STOPS: u64 = 12;
/// Runs accepted before each stop; most of them wait for their turn.
const RUNS_PER_STOP: usize = 12;
/// Fewer than there are runs, so that a turn comes free while the daemon stops.
const SLOTS: usize = 3;
const LIFE_MS_MAX: u64 = 400;

#[test]
fn f27_runs_at_orderly_stops() {
    let trial = Trial::begin(27);
    let stops = number_from_env("HOB_FAULT_STOPS").unwrap_or(STOPS);
    let sim = Sim::start(five_calls);
    let settings = format!("[agent]\nconcurrency = {SLOTS}\n");
    let mut house = House::start(&sim, &settings, true);
    let world = std::sync::Arc::clone(&house.workshop.world);
    let mut runs: Vec<Run> = Vec::new();
    let mut stops_ms = Vec::new();
    for _ in 0..stops {
        world
            .work_us
            .store(trial.randomness.below(3_000), Ordering::Relaxed);
        accept_runs(&house, &mut runs);
        std::thread::sleep(Duration::from_millis(trial.randomness.below(LIFE_MS_MAX)));
        let begun = Instant::now();
        house.rig.stop();
        stops_ms.push(begun.elapsed().as_secs_f64() * 1000.0);
        world.life.fetch_add(1, Ordering::SeqCst);
        house.rig.start();
    }
    let begun = Instant::now();
    while !runs.iter().all(|run| is_over(&house, run)) {
        assert!(begun.elapsed() < PATIENCE, "{}", stuck(&house, &runs));
        std::thread::sleep(Duration::from_millis(5));
    }
    // A run that was parked, failed or answered wrongly is in it.
    let verdict = Verdict::reach(&house, &runs);
    assert!(verdict.is_clean(), "{verdict:#?}");
    trial.figure("stops", stops);
    trial.figure("runs_stopped", runs.len());
    trial.figure("doubts_after_stops", verdict.doubts);
    trial.figure(
        "stop_p99_ms",
        format_args!("{:.0}", percentile(&mut stops_ms, 99)),
    );
    house.close();
}

fn accept_runs(house: &House, runs: &mut Vec<Run>) {
    let mut peer = house.rig.peer();
    for _ in 0..RUNS_PER_STOP {
        let name = format!("s{}", runs.len());
        let params = json!({ "sessionKey": format!("kill:{name}"), "task": task(&name) });
        let id = accept(&mut peer, &params);
        assert!(id.is_some(), "the daemon lives");
        runs.push(Run { name, id, cuts: 0 });
    }
}
