//! Plain words that a real language model answers. The small one has no tools and may go on for
//! long, so it is heard and then stopped: what matters is that nothing runs.

use super::{builder, patiently, rpc};
use crate::support::House;
use serde_json::{Value, json};
use std::process::Stdio;

/// Letters by which a model has begun to answer.
const WORDS_MIN: usize = 20;

/// Asks in plain words until the model has said something, and gives that.
fn ask(house: &House, session: &str, words: &str) -> String {
    // The same as `hob WORDS`, in a session that can be looked at.
    let line = ["ask", "--terminal", "--session", session, words];
    let mut asking = house
        .command(&line)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("hob starts");
    let run = || {
        let view = house.hob(&["--json", "run", "show", session]);
        serde_json::from_str::<Value>(&view.stdout).unwrap_or_default()
    };
    let said = || run()["text"].as_str().unwrap_or_default().trim().to_owned();
    patiently("words of the model", || {
        said().len() >= WORDS_MIN || run()["state"] == "done"
    });
    let words = said();
    house.hob(&["run", "abort", session]);
    asking.wait().expect("it ends");
    words
}

#[test]
fn asking_a_real_model_about_a_command_runs_nothing() {
    let house = builder().start();
    house.hob(&["service", "install", "llm", "--yes"]).success();
    let said = ask(&house, "plain:rm", "what does `rm -rf` do?");
    assert!(!said.is_empty(), "it answers");
    // Nobody is there to say yes, so nothing runs whatever the model makes of this.
    ask(&house, "plain:up", "what's my uptime?");
    let typed = rpc(&house, "terminal.history", &json!({}));
    assert_eq!(typed["commands"], json!([]), "{typed}");
    let listed = rpc(&house, "terminal.list", &json!({}));
    assert_eq!(listed["terminals"], json!([]), "{listed}");
}
