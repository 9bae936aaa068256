//! Fault 20: a run that brings its driver down each time, and one that brings the whole daemon
//! down each time. Each is given up after a few tries; the others do not feel it.

use super::house::{House, accept};
use crate::faults::fault_build::fault_binary;
use crate::faults::rig::{PATIENCE, eventually};
use crate::faults::trial::{Trial, percentile};
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const OTHERS: usize = 60;
/// Deaths a poison run may cost the daemon.
const DEATHS_MAX: u32 = 6;

#[test]
fn f20_poison_job() {
    let trial = Trial::begin(20);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let sim = Sim::start(|asked| match asked.last_user() {
        "Look at me" => Answer::asks("look", json!({ "of": "death" })),
        _ => Answer::words("Quite well."),
    });
    let mut house = House::start(&sim, "", true);
    let mut quiet = others(&house, "before");
    house
        .rig
        .env("HOB_FAILPOINT", "run.drive@poison=always*panic");
    house.restart();
    let begun = Instant::now();
    let poison = begin(&house, "poisoned", "Take the poison");
    let behind = begin(&house, "poisoned", "Wait behind it");
    let mut beside = others(&house, "beside");
    eventually("the poison run is given up", || {
        house.person.saw_end(&poison)
    });
    let given_up_ms = begun.elapsed().as_millis();
    let view = house.status(&poison);
    assert_eq!(view["cause"], "parked", "{view}");
    eventually("its session goes on", || house.person.saw_end(&behind));
    assert_eq!(house.status(&behind)["cause"], "answered");
    assert!(house.rig.lives(), "one run brings nobody else down");

    let deaths = deadly(&mut house);
    let (before, after) = (percentile(&mut quiet, 99), percentile(&mut beside, 99));
    trial.figure("given_up_ms", given_up_ms);
    trial.figure("daemon_deaths", deaths);
    trial.figure(
        "others_p99_ms",
        format_args!("{after:.0} ({before:.0} without poison)"),
    );
    house.close();
}

/// A run that ends the process: how many daemons it takes with it before it is parked.
fn deadly(house: &mut House) -> u32 {
    house
        .rig
        .env("HOB_FAILPOINT", "run.tool.before@look=always*abort");
    house.restart();
    house.served();
    let begun = Instant::now();
    let run = begin(house, "deadly", "Look at me");
    let mut deaths = 0;
    while !house.person.saw_end(&run) {
        if !house.rig.lives() {
            deaths += 1;
            assert!(deaths <= DEATHS_MAX, "the run is never given up");
            house.rig.kill();
            house.workshop.world.life.fetch_add(1, Ordering::SeqCst);
            // It may die again before it says that it lives.
            let _ = house.rig.try_start();
        }
        assert!(begun.elapsed() < PATIENCE, "the deadly run is over");
        std::thread::sleep(Duration::from_millis(5));
    }
    let view = house.status(&run);
    assert_eq!(view["cause"], "parked", "{view}");
    assert!(deaths > 1, "a run that was cut off is tried again");
    house.rig.without_env("HOB_FAILPOINT");
    deaths
}

fn begin(house: &House, session: &str, task: &str) -> String {
    let params = json!({ "sessionKey": session, "task": task });
    accept(&mut house.rig.peer(), &params).expect("the daemon lives")
}

/// How long each of some ordinary runs takes, in milliseconds.
fn others(house: &House, name: &str) -> Vec<f64> {
    let one = |number: usize| {
        let begun = Instant::now();
        let params = json!({ "sessionKey": format!("{name}:{number}"), "task": "How are you?" });
        let run: Value = house.run(&params);
        assert_eq!(run["response"], "Quite well.", "{run}");
        assert!(begun.elapsed() < PATIENCE);
        begun.elapsed().as_secs_f64() * 1000.0
    };
    (0..OTHERS).map(one).collect()
}
