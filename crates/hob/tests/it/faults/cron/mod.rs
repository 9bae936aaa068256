//! Jobs under faults: killed daemons, clocks that are set, machines that sleep, work that panics.

mod clocks;
mod killed;
mod poison;

use super::mind::house::configure;
use super::peer::Peer;
use super::rig::{PATIENCE, Rig};
use hob_sim::Sim;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A daemon with a scripted model, and a file that says how far its wall clock is off.
pub(super) fn rig(sim: &Sim) -> Rig {
    let mut rig = Rig::new();
    configure(&rig, sim, "[llm]\nservers = []\n");
    let clock = clock_file(&rig).display().to_string();
    rig.env("HOB_CLOCK_FILE", &clock);
    rig
}

fn clock_file(rig: &Rig) -> PathBuf {
    rig.scratch().join("clock")
}

/// Sets the wall clock of the daemon that much off, whether it runs or not.
pub(super) fn set_clock(rig: &Rig, off_ms: i64) {
    let draft = rig.scratch().join("clock.draft");
    std::fs::write(&draft, off_ms.to_string()).expect("a file");
    std::fs::rename(draft, clock_file(rig)).expect("a file");
}

/// Every slot, the oldest first.
pub(super) fn slots(peer: &mut Peer) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let mut params = json!({ "limit": 500 });
        if let Some(last) = all.last() {
            params["before"] = last["number"].clone();
        }
        let page = peer.must("cron.history", &params);
        all.extend(page["slots"].as_array().expect("a list").iter().cloned());
        if page["more"] != true {
            all.reverse();
            return all;
        }
    }
}

/// Waits until the slots are as wanted; how long that took.
pub(super) fn until(
    peer: &mut Peer,
    what: &str,
    wanted: impl Fn(&[Value]) -> bool,
) -> (Vec<Value>, Duration) {
    let begun = Instant::now();
    loop {
        let found = slots(peer);
        if wanted(&found) {
            return (found, begun.elapsed());
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {found:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn in_state(slots: &[Value], state: &str) -> usize {
    slots.iter().filter(|slot| slot["state"] == state).count()
}

/// How many due times were run more than once.
pub(super) fn doubled(slots: &[Value]) -> usize {
    let mut runs: BTreeMap<(String, u64), usize> = BTreeMap::new();
    let began = |slot: &&Value| slot["runId"].is_string() || slot["attempt"] != 0;
    for slot in slots.iter().filter(began) {
        let key = (
            slot["name"].to_string(),
            slot["dueAt"].as_u64().expect("a time"),
        );
        *runs.entry(key).or_default() += 1;
    }
    runs.values().filter(|count| **count > 1).count()
}

/// How many due times the slots of a job account for.
pub(super) fn accounted(slots: &[Value], name: &str) -> u64 {
    let of = slots.iter().filter(|slot| slot["name"] == name);
    of.map(|slot| 1 + slot["standsFor"].as_u64().unwrap_or(0))
        .sum()
}
