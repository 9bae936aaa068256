//! A person at the terminal: attached, typing, leaving.

use super::{history, terminal};
use crate::support::{House, Pane, wait_until};
use serde_json::json;

#[test]
fn what_a_person_types_is_seen_and_marked_as_theirs() {
    let house = House::start();
    let pane = Pane::open(&house, 80, 24);
    // The pane is itself a tmux: attaching within it works.
    pane.run("hob terminal attach; echo left");
    wait_until("somebody is attached", || {
        terminal(&house, "main")["attached"] == 1
    });
    wait_until("its prompt is there", || {
        terminal(&house, "main")["state"] == "idle"
    });
    pane.press("echo mine; (exit 4)\r");
    wait_until("it is on record", || !history(&house, "main").is_empty());
    wait_until("it ended", || history(&house, "main")[0]["state"] == "done");
    let typed = &history(&house, "main")[0];
    assert_eq!(typed["by"], "person", "{typed}");
    assert_eq!(typed["command"], "echo mine; (exit 4)");
    assert_eq!(typed["exitCode"], 4);
    let said = house.hob(&["terminal", "run", "echo theirs"]).success();
    assert_eq!(said, "theirs\n");
    // Whoever sits there sees what hob types, and what came of it.
    let screen = pane.wait_for("\ntheirs");
    assert!(screen.contains("echo theirs"), "{screen}");
    let table = house.hob(&["terminal", "history", "main"]).success();
    let rows: Vec<&str> = table.lines().collect();
    assert!(
        rows[1].contains("you") && rows[1].contains("exit 4"),
        "{table}"
    );
    assert!(
        rows[2].contains("client") && rows[2].contains("ok"),
        "{table}"
    );
    // Ctrl-b d of the inner one: the outer has the same key, so it is sent on with Ctrl-b Ctrl-b.
    pane.press("\u{2}d");
    pane.wait_for("left");
    wait_until("nobody is attached", || {
        terminal(&house, "main")["attached"] == 0
    });
    assert_eq!(terminal(&house, "main")["state"], json!("idle"));
}

#[test]
fn a_half_typed_line_survives_a_command_of_hobs() {
    let house = House::start();
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob terminal attach");
    wait_until("its prompt is there", || {
        terminal(&house, "main")["state"] == "idle"
    });
    pane.press("echo half");
    pane.wait_for("echo half");
    house.hob(&["terminal", "run", "echo between"]).success();
    pane.press(" done\r");
    wait_until("it ended", || {
        history(&house, "main")[0]["command"] == "echo half done"
    });
    assert_eq!(history(&house, "main")[0]["by"], "person");
}

#[test]
fn a_line_kept_out_of_the_history_is_recorded_without_its_words() {
    let house = House::start();
    house
        .hob(&["terminal", "run", "HISTCONTROL=ignorespace"])
        .success();
    house
        .hob(&["terminal", "keys", "--text", " echo secret", "Enter"])
        .success();
    wait_until("it is on record", || {
        let newest = &history(&house, "main")[0];
        newest["by"] == "person" && newest["state"] == "done"
    });
    let newest = &history(&house, "main")[0];
    assert_eq!(newest["command"], json!(null), "{newest}");
    let table = house.hob(&["terminal", "history"]).success();
    assert!(table.contains("(kept out of the history)"), "{table}");
}

#[test]
fn a_command_waits_for_the_persons_own() {
    let house = House::start();
    house.hob(&["terminal", "run", "true"]).success();
    house
        .hob(&["terminal", "keys", "--text", "read -r x", "Enter"])
        .success();
    wait_until("it is busy", || terminal(&house, "main")["state"] == "busy");
    house.hob(&["terminal", "run", "-d", "echo mine"]).success();
    wait_until("it waits", || terminal(&house, "main")["queued"] == 1);
    let state = || {
        let all = history(&house, "main");
        let found = all.iter().find(|it| it["command"] == "echo mine");
        found.expect("it is on record")["state"].clone()
    };
    assert_eq!(state(), "queued");
    house.hob(&["terminal", "keys", "Enter"]).success();
    wait_until("its turn came", || state() == "done");
}
