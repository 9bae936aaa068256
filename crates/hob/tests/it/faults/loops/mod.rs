//! Loops under faults: monitors that misbehave, daemons that are killed, stops at any moment. The
//! model is the scripted server.

mod kills;
mod monitors;
mod stopping;

use super::mind::house::configure;
use super::peer::Peer;
use super::rig::{PATIENCE, Rig};
use hob_sim::{Answer, Sim, SimRequest};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A rig whose model is this brain.
fn rig(
    settings: &str,
    brain: impl Fn(&SimRequest) -> Answer + Send + Sync + 'static,
) -> (Rig, Sim) {
    let sim = Sim::start(brain);
    let rig = Rig::new();
    configure(&rig, &sim, settings);
    (rig, sim)
}

fn create(peer: &mut Peer, name: &str, config: &Value) {
    peer.must("loop.create", &json!({ "name": name, "config": config }));
}

fn start(peer: &mut Peer, name: &str) {
    peer.must("loop.start", &json!({ "name": name }));
}

fn state(peer: &mut Peer, name: &str) -> Value {
    peer.must("loop.get", &json!({ "name": name }))["state"].clone()
}

/// Every iteration, the oldest first.
fn history(peer: &mut Peer, name: &str) -> Vec<Value> {
    let page = peer.must("loop.history", &json!({ "name": name, "limit": 500 }));
    let mut iterations = page["iterations"].as_array().expect("a list").clone();
    iterations.reverse();
    iterations
}

/// Waits until something of a loop's state is so.
fn until(peer: &mut Peer, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let found = state(peer, name);
        if wanted(&found) {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The iteration that a model was asked for.
fn iteration_of(asked: &SimRequest) -> u64 {
    let number = asked.last_user().rsplit("Iteration: ").next();
    number
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}
