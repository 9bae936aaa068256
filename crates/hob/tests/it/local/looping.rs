//! A loop that a real language model answers. It may go on for long about anything, so it is
//! heard and then stopped.

use super::{builder, patiently, rpc};
use crate::loops::{history, show};
use crate::support::House;
use serde_json::json;

/// What the model has said in an iteration so far.
fn words(house: &House, iteration: u32) -> String {
    let session = format!("loop:talk:{iteration}");
    let view = house.hob(&["--json", "run", "show", &session]);
    let view: serde_json::Value = serde_json::from_str(&view.stdout).unwrap_or_default();
    view["text"].as_str().unwrap_or_default().trim().to_owned()
}

#[test]
fn a_real_models_words_come_in_a_loop_and_a_stop_ends_them() {
    let house = builder().start();
    house.hob(&["service", "install", "llm", "--yes"]).success();
    std::fs::write(house.work().join("weather.txt"), "Sunny.\n").expect("a file");
    let line = "hob loop create talk --task 'Tell a long story of a house.' --no-tools \
                --system 'You tell stories.' --every 1s --max 2 --monitor 'cat weather.txt'";
    house.shell(line).success();
    for iteration in 1..=2 {
        house.hob(&["loop", "start", "talk"]).success();
        patiently("words of the model", || {
            !words(&house, iteration).is_empty()
        });
        house.hob(&["loop", "stop", "talk"]).success();
        let state = show(&house, "talk")["state"].clone();
        assert_eq!(state["running"], false, "{state}");
        assert!(!words(&house, iteration).is_empty());
    }
    let said = history(&house, "talk");
    let prompt = said[0]["prompt"].as_str().unwrap_or_default();
    for part in [
        "## Monitor Output",
        "Sunny.",
        "## Current Task",
        "Iteration: 1",
    ] {
        assert!(prompt.contains(part), "no {part:?} in:\n{prompt}");
    }
    // A session of a loop has the model's real words in it.
    let params = json!({ "sessionKey": "loop:talk:1" });
    let session = rpc(&house, "session.get", &params);
    assert_eq!(session["kind"], "loop", "{session}");
}
