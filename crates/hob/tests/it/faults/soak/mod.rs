//! Fault 100: everything at once for as long as it is let. A few seconds in the ordinary tests;
//! `cargo xtask soak` runs ten minutes and looks closer.
//!
//! The claim about memory is a slope: a line through the samples after the warm-up, by least
//! squares. Ten minutes can show a leak of a few hundred kilobytes; what leaks less, or only once
//! in an hour, they cannot show.

mod load;
mod samples;

use super::hands::tools::processes_with;
use super::ledger::audit;
use super::mind::house::House;
use super::rig::eventually;
use super::trial::{Trial, number_from_env};
use hob_sim::{Answer, Sim, SimRequest};
use load::{Actors, Done};
use samples::{Bounds, Samples};
use serde_json::json;
use std::time::Duration;

/// How long the ordinary tests let it go on, and how much of that is warm-up.
const SHORT: Duration = Duration::from_secs(40);
const SHORT_WARM_UP: Duration = Duration::from_secs(15);
/// Of a soak of minutes, this share is warm-up: caches fill, threads come up.
const WARM_UP_SHARE: u32 = 3;

/// In the short form a rise is compared, because half a minute has no slope worth the name: a
/// leak of a kilobyte for each thing done would be more than this.
const SHORT_BOUNDS: Bounds = Bounds {
    slope_mib_an_hour: None,
    rise_mib: 6.0,
    descriptors: 12,
};
const LONG_BOUNDS: Bounds = Bounds {
    slope_mib_an_hour: Some(1.0),
    rise_mib: 2.0,
    descriptors: 12,
};

#[test]
fn f100_soak() {
    let trial = Trial::begin(100);
    let minutes = number_from_env("HOB_SOAK_MINUTES");
    let (length, warm_up, bounds) = match minutes {
        None => (SHORT, SHORT_WARM_UP, SHORT_BOUNDS),
        Some(minutes) => {
            let length = Duration::from_secs(minutes * 60);
            (length, length / WARM_UP_SHARE, LONG_BOUNDS)
        }
    };
    let sim = Sim::start(brain);
    let mut house = House::start(&sim, SETTINGS, true);
    let mark = format!("7{}.5", trial.randomness.u64() % 1_000_000);
    let actors = Actors::start(&house, &trial, &mark);
    let samples = Samples::gather(&house.rig, length, warm_up);
    let done = actors.stop();
    check_promises(&trial, &house, &done);
    check_orphans(&mut house, &mark);
    samples.report(&trial);
    trial.figure("things_done", &done);
    trial.figure("lost_acks", 0);
    trial.figure("orphans", 0);
    samples.check(&bounds);
    house.close();
}

/// No search for model servers of the machine, and shells without a person's own files.
const SETTINGS: &str = "[llm]\nservers = []\n\n[terminal]\nshell = \"/bin/bash\"\n";

/// A task that names a tool uses it once, then answers at some length.
fn brain(asked: &SimRequest) -> Answer {
    let task = asked.last_user();
    let named = ["look", "post"]
        .into_iter()
        .find(|tool| task.contains(*tool));
    match named {
        Some(tool) if asked.results_of_task().is_empty() => {
            Answer::asks(tool, json!({ "of": task }))
        }
        _ => Answer::tokens(60),
    }
}

/// Every acknowledged message is there once and in its place; every acknowledged run has ended.
fn check_promises(trial: &Trial, house: &House, done: &Done) {
    let mut peer = house.rig.peer();
    let found = audit(&mut peer, &done.records);
    assert!(found.is_clean(), "{found}");
    assert!(found.acks > 0, "messages were acknowledged");
    trial.figure("acks", found.acks);
    assert!(!done.runs.is_empty(), "runs were acknowledged");
    for run in &done.runs {
        let ended = || {
            let view = house
                .rig
                .peer()
                .must("agent.status", &json!({ "runId": run }));
            view["state"] == "done"
        };
        eventually("an acknowledged run ends", ended);
    }
}

/// Nothing that was started is left: not after the load, and not after the daemon.
fn check_orphans(house: &mut House, mark: &str) {
    let marked = || processes_with(&format!("sleep\0{mark}"));
    eventually("no command outlives its call", || marked() == 0);
    let home = house.rig.home().display().to_string();
    load::end_terminals(&house.rig);
    house.rig.stop();
    eventually("nothing of this home is left", || {
        marked() + processes_with(&home) == 0
    });
}
