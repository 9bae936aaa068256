//! `hob import` of the built binary: the plan, the import, its repeat, and its continuation after a
//! kill, for each of the five systems.

mod interrupted;
mod plans;
mod systems;

use crate::support::House;
use serde_json::{Value, json};
use std::path::Path;

/// A key that a source has.
const KEY: &str = "sk-import-0123456789";

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
    std::fs::write(path, text).expect("it is writable");
}

/// A session file of Vargos with these messages, the person's and the model's in turn.
fn session_file(key: &str, texts: &[String]) -> String {
    let mut lines = vec![json!({ "sessionKey": key, "kind": "main", "metadata": {} }).to_string()];
    for (index, text) in texts.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        let id = format!("{index}-x");
        lines.push(json!({ "id": id, "role": role, "content": text }).to_string());
    }
    lines.join("\n") + "\n"
}

/// Runs `hob import … --json` and reads its only document.
fn import_json(house: &House, arguments: &[&str]) -> Value {
    let text = house
        .hob(&[&["import", "--json"], arguments].concat())
        .success();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn rpc(house: &House, method: &str, params: &Value) -> Value {
    let text = house
        .hob(&["--json", "rpc", method, &params.to_string()])
        .success();
    serde_json::from_str(&text).expect("JSON")
}

/// The texts of a session, in order.
fn texts(house: &House, session: &str) -> Vec<String> {
    let lines = house
        .hob(&["session", "export", session, "--json"])
        .success();
    let messages = lines.lines().map(|line| {
        let message: Value = serde_json::from_str(line).expect("JSON");
        message["content"].as_str().expect("a text").to_owned()
    });
    messages.collect()
}

/// Everything that an import may change, as far as people see it.
fn state(house: &House) -> Value {
    json!({
        "sessions": rpc(house, "session.list", &json!({ "limit": 500 })),
        "jobs": rpc(house, "cron.list", &json!({})),
        "loops": rpc(house, "loop.list", &json!({})),
        "settings": rpc(house, "config.get", &json!({})),
    })
}

/// `added` and `present` of a part of a report.
fn counts(report: &Value, part: &str) -> (u64, u64) {
    let count = |name: &str| report[part][name].as_u64().expect("a number");
    (count("added"), count("present"))
}
