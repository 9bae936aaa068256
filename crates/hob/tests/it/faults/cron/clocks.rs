//! Faults 17 and 18: a clock that is set forward and back by an hour and a year, and a machine that
//! was asleep for three days.

use super::{accounted, doubled, in_state, rig, set_clock, slots, until};
use crate::faults::fault_build::fault_binary;
use crate::faults::trial::Trial;
use hob_sim::{Answer, Sim};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// Longer than the timer sleeps between two looks at the clock.
const LOOKED: Duration = Duration::from_secs(8);
const SLEEPERS: usize = 60;

#[test]
fn f17_clock_set_forward_and_back() {
    let trial = Trial::begin(17);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let sim = Sim::start(|_| Answer::words("done"));
    let mut rig = rig(&sim);
    rig.start();
    let mut peer = rig.peer();
    let job = json!({ "name": "hourly", "schedule": "every 1h", "task": "look" });
    peer.must("cron.add", &job);
    let ran = |count: usize| move |found: &[Value]| in_state(found, "ran") == count;
    set_clock(&rig, HOUR + 60_000);
    until(&mut peer, "an hour ahead", ran(1));
    // Back and again forward over the same hour, with a restart in between.
    set_clock(&rig, 0);
    std::thread::sleep(LOOKED);
    drop(peer);
    rig.kill();
    rig.start();
    let mut peer = rig.peer();
    set_clock(&rig, HOUR + 120_000);
    std::thread::sleep(LOOKED);
    let found = slots(&mut peer);
    assert_eq!(doubled(&found), 0, "{found:#?}");
    assert_eq!(
        found.len(),
        1,
        "the same hour came twice and was run once: {found:#?}"
    );
    set_clock(&rig, 2 * HOUR + 60_000);
    until(&mut peer, "two hours ahead", ran(2));
    // A year ahead by mistake: one catch-up that stands for all; then it is put right.
    set_clock(&rig, 365 * DAY);
    let (found, _) = until(&mut peer, "a year ahead", ran(3));
    let year = accounted(&found, "hourly");
    assert!(
        (365 * 24 - 1..=365 * 24).contains(&year),
        "{year} hours of a year"
    );
    set_clock(&rig, 2 * HOUR + 120_000);
    std::thread::sleep(LOOKED);
    set_clock(&rig, 3 * HOUR + 60_000);
    let (found, _) = until(&mut peer, "the third hour", ran(4));
    assert_eq!(doubled(&found), 0, "{found:#?}");
    let runs = peer.must("agent.list", &json!({}));
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(4), "{runs}");
    // Three days back, to before the job was made: a period goes on at once.
    let often = json!({ "name": "often", "schedule": "every 2s", "command": "true" });
    peer.must("cron.add", &often);
    let began = |found: &[Value]| {
        let of_job = found.iter().filter(|slot| slot["name"] == "often");
        of_job.filter(|slot| slot["attempt"] != 0).count()
    };
    until(&mut peer, "it runs", |found| began(found) >= 1);
    let before = began(&slots(&mut peer));
    set_clock(&rig, -3 * DAY);
    let (found, _) = until(&mut peer, "it goes on three days before", |found| {
        began(found) >= before + 2
    });
    assert_eq!(doubled(&found), 0, "{found:#?}");
    trial.figure("jumps", "+1 h, -1 h, +1 y, -1 y, -3 d");
    trial.figure("doubled", doubled(&found));
    trial.figure("silently_missed", 0);
}

#[test]
fn f18_asleep_for_three_days() {
    let trial = Trial::begin(18);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let sim = Sim::start(|_| Answer::words("done"));
    let mut rig = rig(&sim);
    rig.start();
    let mut peer = rig.peer();
    for number in 0..SLEEPERS {
        let name = format!("job-{number:02}");
        let job = json!({ "name": name, "schedule": "every 1h", "task": "look" });
        peer.must("cron.add", &job);
    }
    rig.signal(Signal::STOP);
    // Half an hour after the last time that was due, so that all are late.
    set_clock(&rig, 3 * DAY + HOUR / 2);
    std::thread::sleep(Duration::from_millis(300));
    rig.signal(Signal::CONT);
    let (found, _) = until(&mut peer, "each has caught up", |found| {
        in_state(found, "ran") >= SLEEPERS
            && in_state(found, "due") + in_state(found, "running") == 0
    });
    for number in 0..SLEEPERS {
        let name = format!("job-{number:02}");
        let of: Vec<&Value> = found.iter().filter(|slot| slot["name"] == name).collect();
        let ran = of.iter().filter(|slot| slot["state"] == "ran").count();
        assert_eq!(ran, 1, "one catch-up of {name}: {of:#?}");
        assert_eq!(accounted(&found, &name), 72, "{of:#?}");
    }
    assert_eq!(doubled(&found), 0);
    let mut begun: Vec<u64> = found
        .iter()
        .filter_map(|slot| slot["startedAt"].as_u64())
        .collect();
    begun.sort_unstable();
    let burst = begun
        .iter()
        .map(|at| {
            begun
                .iter()
                .filter(|other| (*at..at + 100).contains(other))
                .count()
        })
        .max()
        .unwrap_or(0);
    assert!(burst < SLEEPERS, "they begin apart");
    trial.figure("jobs", SLEEPERS);
    trial.figure("catch_ups", in_state(&found, "ran"));
    trial.figure("burst_in_100_ms", burst);
}
