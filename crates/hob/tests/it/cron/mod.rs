//! Scheduled jobs through the built binary: commands, a real daemon, the scripted model.

mod commands;
mod heartbeat;
mod outcomes;
mod story;

use crate::loops::json;
use crate::support::{House, wait_until};
use serde_json::Value;

/// The slots of a job, the oldest first.
fn slots(house: &House, name: &str) -> Vec<Value> {
    let page = json(house, &["cron", "history", name, "--limit", "500"]);
    let mut all = page["slots"].as_array().cloned().unwrap_or_default();
    all.reverse();
    all
}

/// Waits until so many slots ended so.
fn until_slots(house: &House, name: &str, state: &str, count: usize) -> Vec<Value> {
    wait_until(&format!("{count} slots of {name} that {state}"), || {
        let slots = slots(house, name);
        slots.iter().filter(|slot| slot["state"] == state).count() >= count
    });
    slots(house, name)
}

/// Lines of a file that a job writes.
fn lines(house: &House, file: &str) -> usize {
    let text = std::fs::read_to_string(house.work().join(file)).unwrap_or_default();
    text.lines().count()
}
