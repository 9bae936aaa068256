//! Reading a saved Loop Runner: its loop, memories and iterations.

use super::IMPORTER;
use crate::import_folder::SourceFolder;
use crate::import_plan::ImportPlan;
use serde_json::{Value, json};
use std::path::Path;

fn write(root: &Path, name: &str, value: &Value) {
    std::fs::write(root.join(name), value.to_string()).unwrap();
}

fn read(root: &Path) -> ImportPlan {
    IMPORTER.read(&SourceFolder::open(root).unwrap())
}

fn reason<'p>(plan: &'p ImportPlan, what: &str) -> &'p str {
    let found = plan.skipped.iter().find(|item| item.what.contains(what));
    &found
        .unwrap_or_else(|| panic!("{what:?} in {:#?}", plan.skipped))
        .reason
}

fn config() -> Value {
    json!({
        "model": { "providerID": "google", "modelID": "models/gemini-x" }, "system": "Be brief.",
        "user": "What changed?", "working": "look at A", "persistent": "B is known",
        "monitor": { "command": "tail -n 5 log", "interval": 10_000 }, "interval": 60_000,
        "maxIterations": 7, "autoApprove": true,
    })
}

fn iteration(number: u32, at: u64) -> Value {
    json!({ "iteration": number, "prompt": format!("p{at}"), "response": format!("r{at}"), "timestamp": at })
}

#[test]
fn the_loop_comes_with_its_memories_and_its_history() {
    let root = tempfile::tempdir().unwrap();
    // Numbers repeat after a second start.
    let history = [iteration(1, 100), iteration(2, 200), iteration(1, 300)];
    let state = json!({
        "state": { "running": true, "iteration": 1, "sessionID": "x", "lastOutput": "r", "monitorOutput": "",
            "history": history },
        "config": config(),
    });
    write(root.path(), "state.json", &state);
    let plan = read(root.path());
    assert_eq!(plan.skipped, []);
    let one = &plan.loops[0];
    assert_eq!(one.name, "looprunner");
    assert_eq!(
        (one.persistent.as_str(), one.working.as_str()),
        ("B is known", "look at A")
    );
    assert_eq!(
        one.config.model,
        Some(Some("gemini/models/gemini-x".to_owned()))
    );
    assert_eq!(one.config.interval_ms, Some(60_000));
    assert_eq!(one.config.max_iterations, Some(7));
    assert_eq!(one.config.grants, None);
    let monitor = one.config.monitor.clone().unwrap().unwrap();
    assert_eq!(
        (monitor.command.as_str(), monitor.interval_ms),
        ("tail -n 5 log", Some(10_000))
    );
    let texts: Vec<_> = plan.sessions[0]
        .messages
        .iter()
        .map(|it| it.text.as_str())
        .collect();
    assert_eq!(texts, ["p100", "r100", "p200", "r200", "p300", "r300"]);
    // The same list saved by itself doubles nothing.
    write(root.path(), "history.json", &json!(history));
    assert_eq!(
        read(root.path()).sessions[0].messages,
        plan.sessions[0].messages
    );
}

#[test]
fn values_that_hob_does_not_take_are_told() {
    let root = tempfile::tempdir().unwrap();
    let mut wide = config();
    wide["interval"] = json!(5);
    wide["model"] = json!("claude");
    wide["monitor"] = json!(null);
    wide["persistent"] = json!("x".repeat(300_000));
    write(root.path(), "state.json", &json!({ "config": wide }));
    let plan = read(root.path());
    let one = &plan.loops[0];
    assert_eq!(
        (one.config.interval_ms, &one.config.model),
        (Some(1_000), &None)
    );
    assert_eq!(one.config.monitor, None);
    assert!(one.persistent.is_empty());
    assert!(reason(&plan, "its interval").contains("1000"));
    assert!(reason(&plan, "its model").contains("providerID"));
    assert!(reason(&plan, "persistent memory").contains("at most"));
    let mut long = config();
    long["user"] = json!("x".repeat(300_000));
    write(root.path(), "state.json", &json!({ "config": long }));
    assert!(read(root.path()).loops.is_empty());
}

#[test]
fn missing_and_damaged_files_are_told() {
    let root = tempfile::tempdir().unwrap();
    assert!(reason(&read(root.path()), "state.json").contains("does not exist"));
    std::fs::write(root.path().join("state.json"), "{\"config\":").unwrap();
    std::fs::write(
        root.path().join("history.json"),
        "[{\"iteration\":\"one\"}]",
    )
    .unwrap();
    std::fs::write(root.path().join("notes.txt"), "x").unwrap();
    let plan = read(root.path());
    assert!(plan.loops.is_empty() && plan.sessions.is_empty());
    assert!(reason(&plan, "state.json").contains("damaged"));
    assert!(reason(&plan, "history.json").contains("damaged"));
    assert!(reason(&plan, "notes.txt").contains("does not know"));
}
