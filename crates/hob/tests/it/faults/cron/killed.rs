//! Faults 13 and 105: a daemon that is killed in the middle of a job, and at every step between a
//! slot and its outcome.

use super::{doubled, in_state, rig, slots, until};
use crate::faults::fault_build::fault_binary;
use crate::faults::rig::PATIENCE;
use crate::faults::trial::Trial;
use hob_kit::failpoint::CRON_POINTS;
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Long enough to be killed in, short enough to be waited for.
const SLOW_MS: u64 = 300;

#[test]
fn f13_killed_in_the_middle_of_a_job() {
    let trial = Trial::begin(13);
    let sim = Sim::start(|_| {
        Answer::words("one two three four five six seven eight")
            .pace(1, Duration::from_millis(SLOW_MS))
    });
    let mut rig = rig(&sim);
    rig.start();
    let folder = rig.scratch().join("work");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut peer = rig.peer();
    peer.must(
        "cron.add",
        &json!({ "name": "think", "schedule": "@yearly", "task": "think" }),
    );
    let command = json!({
        "name": "act", "schedule": "@yearly", "command": "echo begun >> said; sleep 60",
        "workspace": folder,
    });
    peer.must("cron.add", &command);
    for name in ["think", "act"] {
        peer.must("cron.run", &json!({ "id": name }));
    }
    let said = || std::fs::read_to_string(folder.join("said")).unwrap_or_default();
    until(&mut peer, "both are at work", |found| {
        in_state(found, "running") == 2 && !said().is_empty()
    });
    drop(peer);
    rig.kill();
    rig.start();
    let mut peer = rig.peer();
    let (found, reclaimed) = until(&mut peer, "both have an outcome", |found| {
        in_state(found, "ran") == 1 && in_state(found, "failed") == 1
    });
    let of = |name: &str| {
        found
            .iter()
            .find(|slot| slot["name"] == name)
            .expect("is there")
    };
    assert_eq!(of("think")["state"], "ran", "{found:#?}");
    assert_eq!(of("think")["attempt"], 2, "the second attempt is counted");
    assert_eq!(of("act")["reason"], "cut off by a restart");
    assert_eq!(said(), "begun\n", "a command is not begun again by itself");
    let session = &of("think")["sessionKey"];
    let runs = peer.must("agent.list", &json!({ "sessionKey": session }));
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
    trial.figure("reclaimed_ms", reclaimed.as_millis());
    trial.figure("attempts", of("think")["attempt"].clone());
    trial.figure("doubled", doubled(&found));
}

#[test]
fn f105_killed_between_a_slot_and_its_outcome() {
    let trial = Trial::begin(105);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let sim = Sim::start(|_| Answer::words("done"));
    let (mut cuts, mut effects) = (0, 0);
    for point in CRON_POINTS {
        let mut rig = rig(&sim);
        rig.env("HOB_FAILPOINT", &format!("{point}=1*abort"));
        rig.start();
        let due =
            json!({ "name": "tick", "schedule": "every 1s", "task": "tick", "missed": "all" });
        // The answer may be cut off with the daemon.
        let _ = rig.peer().call("cron.add", &due);
        let begun = Instant::now();
        while rig.lives() {
            assert!(begun.elapsed() < PATIENCE, "{point} was never reached");
            std::thread::sleep(Duration::from_millis(10));
        }
        cuts += 1;
        rig.kill();
        rig.without_env("HOB_FAILPOINT");
        rig.start();
        let mut peer = rig.peer();
        until(&mut peer, "it goes on", |found| in_state(found, "ran") >= 3);
        peer.must("cron.disable", &json!({ "id": "tick" }));
        let over = |found: &[Value]| in_state(found, "due") + in_state(found, "running") == 0;
        until(&mut peer, "every slot has its outcome", over);
        let found = slots(&mut peer);
        assert_eq!(doubled(&found), 0, "{point}: {found:#?}");
        let dues: Vec<u64> = found
            .iter()
            .filter_map(|slot| slot["dueAt"].as_u64())
            .collect();
        let whole = dues.windows(2).zip(&found[1..]).all(|(pair, slot)| {
            let counted = 1 + slot["standsFor"].as_u64().unwrap_or(0);
            pair[1] - pair[0] == 1_000 * counted
        });
        assert!(whole, "{point}: a due time is missing: {dues:?}");
        let runs = peer.must("agent.list", &json!({ "limit": 500 }));
        let runs = runs["runs"].as_array().map_or(0, Vec::len);
        let ran = found
            .iter()
            .filter(|slot| slot["runId"].is_string())
            .count();
        assert_eq!(runs, ran, "{point}: each slot that ran is one run");
        effects += runs;
    }
    trial.figure("points", format_args!("{cuts}/{}", CRON_POINTS.len()));
    trial.figure("runs", effects);
    trial.figure("doubled", 0);
    trial.figure("silently_missed", 0);
}
