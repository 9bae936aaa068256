//! Fault 20 for jobs: one whose work panics each time is disabled after a few failures, and the
//! others are as punctual as without it.

use super::{in_state, rig, slots, until};
use crate::faults::fault_build::fault_binary;
use crate::faults::peer::Peer;
use crate::faults::trial::{Trial, percentile};
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};

const OTHERS: usize = 10;
const FAILURES: u64 = 3;

#[test]
fn f20_a_job_that_panics_each_time() {
    let trial = Trial::begin(20);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let sim = Sim::start(|_| Answer::words("done"));
    let mut quiet = house(&sim, false);
    let mut beside = house(&sim, true);
    let (before, after) = (percentile(&mut quiet, 99), percentile(&mut beside, 99));
    trial.figure("failures", FAILURES);
    trial.figure(
        "others_late_p99_ms",
        format_args!("{after:.0} ({before:.0} without poison)"),
    );
}

/// How late the other jobs began, in milliseconds.
fn house(sim: &Sim, poison: bool) -> Vec<f64> {
    let mut rig = rig(sim);
    rig.env("HOB_FAILPOINT", "cron.work@poison=always*panic");
    rig.start();
    let mut peer: Peer = rig.peer();
    for number in 0..OTHERS {
        let name = format!("other-{number}");
        let job = json!({ "name": name, "schedule": "every 1s", "task": "look" });
        peer.must("cron.add", &job);
    }
    if poison {
        let job = json!({
            "name": "poison", "schedule": "every 1s", "task": "drink", "failuresMax": FAILURES,
        });
        peer.must("cron.add", &job);
        let failed = |found: &[Value]| in_state(found, "failed") as u64 >= FAILURES;
        until(&mut peer, "it fails", failed);
        let listed = peer.must("cron.list", &json!({}));
        let jobs = listed["jobs"].as_array().expect("a list");
        let job = jobs
            .iter()
            .find(|job| job["name"] == "poison")
            .expect("is there");
        assert_eq!(job["enabled"], false, "{job}");
        assert_eq!(job["failures"], FAILURES, "{job}");
        assert!(
            job["problem"]
                .as_str()
                .is_some_and(|why| why.contains("in a row")),
            "{job}"
        );
    }
    until(&mut peer, "the others run", |found| {
        in_state(found, "ran") >= OTHERS * 4
    });
    let found = slots(&mut peer);
    let others = found.iter().filter(|slot| slot["name"] != "poison");
    assert!(
        others.clone().all(|slot| slot["state"] != "failed"),
        "{found:#?}"
    );
    assert!(rig.lives(), "one job brings nobody else down");
    let late = |slot: &Value| {
        let (due, begun) = (slot["dueAt"].as_u64()?, slot["startedAt"].as_u64()?);
        Some(f64::from(
            u32::try_from(begun.saturating_sub(due)).unwrap_or(u32::MAX),
        ))
    };
    others.filter_map(late).collect()
}
