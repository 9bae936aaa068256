//! Loops through the built binary: commands, a real daemon, the scripted model over its real HTTP.

mod commands;
mod grants;
mod memory;
mod monitor;
mod story;
mod watch;

use crate::support::{House, wait_until};
use hob_sim::{Answer, Gate, Sim, SimRequest};
use serde_json::Value;

/// Working memory that makes the model hold its answer back.
const HOLD: &str = "HOLD the door";

/// The number of the iteration that asks.
pub(crate) fn number(asked: &SimRequest) -> u32 {
    let prompt = asked.last_user();
    let number = prompt.rsplit("Iteration: ").next().unwrap_or_default();
    number.trim().parse().unwrap_or_default()
}

/// A model that says which iteration it answers, and waits at the gate where it is told to.
pub(crate) fn teller(gate: &Gate) -> Sim {
    let gate = gate.clone();
    Sim::start(move |asked| {
        let answer = Answer::words(format!("This is answer {}.", number(asked)));
        if asked.last_user().contains(HOLD) {
            answer.held_after(2, &gate)
        } else {
            answer
        }
    })
}

/// What a command that must succeed prints with `--json`.
pub(crate) fn json(house: &House, line: &[&str]) -> Value {
    let text = house.hob(&[&["--json"], line].concat()).success();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

pub(crate) fn show(house: &House, name: &str) -> Value {
    json(house, &["loop", "show", name])
}

/// The iterations there are, the oldest first.
pub(crate) fn history(house: &House, name: &str) -> Vec<Value> {
    let page = json(house, &["loop", "history", name, "--limit", "500"]);
    let mut all = page["iterations"].as_array().cloned().unwrap_or_default();
    all.reverse();
    all
}

/// Waits until so many iterations were answered.
pub(crate) fn until_answered(house: &House, name: &str, count: usize) {
    wait_until(&format!("{count} answers of {name}"), || {
        let answered = |one: &&Value| one["success"] == true;
        history(house, name).iter().filter(answered).count() >= count
    });
}

/// Waits until a loop does not run any more.
pub(crate) fn until_ended(house: &House, name: &str) -> Value {
    wait_until(&format!("the end of {name}"), || {
        show(house, name)["state"]["running"] == false
    });
    show(house, name)
}

/// The numbers of iterations, which have neither hole nor repeat.
pub(crate) fn assert_whole(history: &[Value]) {
    let numbers: Vec<u64> = history
        .iter()
        .filter_map(|one| one["iteration"].as_u64())
        .collect();
    let wanted: Vec<u64> = (1..=history.len() as u64).collect();
    assert_eq!(numbers, wanted);
}

/// The prompts that the model was asked with.
pub(crate) fn prompts(sim: &Sim) -> Vec<String> {
    let asked = sim.asked();
    asked.iter().map(|it| it.last_user().to_owned()).collect()
}
