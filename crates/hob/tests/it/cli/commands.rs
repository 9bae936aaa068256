//! A command through a real daemon, whose shim is the program itself.

use crate::support::{House, wait_until};
use serde_json::{Value, json};

fn execute(house: &House, name: &str, args: &Value, folder: &std::path::Path) -> Value {
    let params = json!({
        "name": name,
        "args": args,
        "context": { "workspace": folder.display().to_string() },
    });
    let said = house.hob(&["rpc", "tool.execute", &params.to_string()]);
    serde_json::from_str(&said.success()).expect("is JSON")
}

#[test]
fn a_command_runs_in_a_sandbox_that_does_not_show_the_home() {
    let house = House::start();
    let work = tempfile::tempdir().expect("a folder");
    let home = house.home().display();
    let command = format!("pwd; cat {home}/owner.token; exit 3");
    let done = execute(&house, "exec", &json!({ "command": command }), work.path());
    let metadata = &done["metadata"];
    assert_eq!(metadata["exitCode"], 3, "{done}");
    assert_ne!(metadata["sandbox"], "none", "{done}");
    let text = done["content"][0]["text"].as_str().expect("is a text");
    assert!(text.starts_with(work.path().to_str().expect("is text")));
    assert!(!text.contains(&house.token()), "{text}");
}

#[test]
fn what_runs_in_the_background_dies_with_a_killed_daemon() {
    let mut house = House::start();
    let work = tempfile::tempdir().expect("a folder");
    let mark = format!("3000.{}", std::process::id());
    let command = format!("trap '' TERM; sleep {mark} & sleep {mark}");
    let args = json!({ "action": "start", "command": command });
    let started = execute(&house, "process", &args, work.path());
    assert_eq!(started["isError"], false, "{started}");
    wait_until("it runs", || alive(&mark) >= 2);
    house.kill();
    wait_until("nothing of it lives", || alive(&mark) == 0);
}

/// Living processes with the word among their arguments.
fn alive(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("readable").flatten();
    let carries = |entry: &std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline"));
        line.is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    entries.filter(carries).count()
}
