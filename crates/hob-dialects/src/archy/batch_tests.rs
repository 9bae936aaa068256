//! Batch requests: valid and invalid, and the preview of their output.

use super::{parse_items, preview};
use crate::archy::fields::ArchyFields;
use serde_json::json;

#[test]
fn every_command_is_checked_before_any_is_typed() {
    let long = "x".repeat(8_193);
    for (data, wrong) in [
        (json!({}), "Missing or invalid 'commands' array"),
        (
            json!({ "commands": "ls" }),
            "Missing or invalid 'commands' array",
        ),
        (
            json!({ "commands": null }),
            "Missing or invalid 'commands' array",
        ),
        (
            json!({ "commands": ["ls", 7] }),
            "Invalid command 2: a text is needed",
        ),
        (
            json!({ "commands": ["ls", "a\0b"] }),
            "Command 2: Invalid command: contains null byte",
        ),
        (
            json!({ "commands": [long] }),
            "Command 1: Command too long (max 8192 characters)",
        ),
    ] {
        assert_eq!(
            parse_items(ArchyFields(&data)).err().as_deref(),
            Some(wrong),
            "{data}"
        );
    }
}

#[test]
fn empty_commands_are_left_out_and_places_stay() {
    let data = json!({ "commands": [" ls ", "", "pwd"], "explanations": ["list", "none"] });
    let all = parse_items(ArchyFields(&data)).unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|it| (it.index, it.command.as_str(), it.explanation.as_str()))
        .collect();
    assert_eq!(told, [(1, "ls", "list"), (3, "pwd", "")]);
    assert!(
        parse_items(ArchyFields(&json!({ "commands": [] })))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_preview_is_short() {
    assert_eq!(preview(""), None);
    assert_eq!(preview("a\nb\n").as_deref(), Some("a\nb"));
    let long = format!("{}\n", "ü".repeat(500)).repeat(20);
    let shown = preview(&long).unwrap();
    assert_eq!(shown.lines().count(), 6);
    assert!(shown.lines().all(|line| line.chars().count() == 200));
}
