//! The shared terminal through the built binary, on a real tmux.
//!
//! - `running`: commands from outside, their output and their exit codes
//! - `sharing`: the person at it: attached, typing, and marked as the one who did
//! - `following`: output by offsets, while the daemon is killed
//! - `lasting`: the daemon goes and comes back; terminals close
//! - `missing`: without tmux, without a terminal, on a narrow screen
//! - `windows`: on a real display

mod following;
mod lasting;
mod missing;
mod running;
mod sharing;
mod windows;

use crate::support::House;
use serde_json::Value;

/// What a command says as one document.
fn json_of(house: &House, line: &[&str]) -> Value {
    let text = house.hob(&[&["--json"], line].concat()).success();
    serde_json::from_str(&text).expect("one document")
}

/// The commands of a terminal, the newest first.
fn history(house: &House, name: &str) -> Vec<Value> {
    let page = json_of(house, &["terminal", "history", name]);
    page["commands"].as_array().expect("a list").clone()
}

/// A terminal in the list; null if it is not there.
fn terminal(house: &House, name: &str) -> Value {
    let listed = json_of(house, &["terminal", "list"]);
    let all = listed["terminals"].as_array().expect("a list");
    let found = all.iter().find(|terminal| terminal["name"] == name);
    found.cloned().unwrap_or_default()
}
