//! Talking with a model through the built binary: questions, conversations, runs, money. The
//! model is the scripted one, over its real HTTP.

mod ask;
mod chat;
mod doubt;
mod ends;
mod permission;
mod plain;
mod record;
mod runs;
mod story;
mod terminal;
mod unattended;

use crate::support::House;
use hob_sim::{Dialect, Sim};
use serde_json::Value;

/// A house whose default model is this one.
pub(crate) fn house_with(sim: &Sim) -> House {
    let house = House::start();
    let url = sim.url(Dialect::OpenaiChat);
    house
        .hob(&["model", "add", "sim", "--kind", "openai", "--url", &url])
        .success();
    house
        .hob(&["model", "set", "default", "sim/sim-small"])
        .success();
    house
}

/// Whether a tool's result tells the model that it was not allowed; this dialect says it in words
/// only.
pub(crate) fn is_refused(text: &str) -> bool {
    ["denied this call", "obody", "denied"]
        .iter()
        .any(|words| text.contains(words))
}

/// The JSON lines of a command that must have succeeded.
fn json_lines(house: &House, line: &[&str]) -> Vec<Value> {
    let text = house.hob(&[&["--json"], line].concat()).success();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}
