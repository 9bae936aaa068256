//! The daemon ends in the middle of a command, as a power switch would end it. The terminal goes
//! on, and what happened there is known afterwards as if nothing had been.

use super::{Stage, ask, text};
use crate::support::wait_until;
use serde_json::{Value, json};

/// Types a command that waits for a file, and waits until it does.
fn begin(stage: &Stage, gate: &str) {
    let gate = stage.house.work().join(gate);
    let command = format!(
        "echo before; while [ ! -e '{}' ]; do sleep 0.05; done; echo after; (exit 7)",
        gate.display()
    );
    let answer = stage.ask("execute", json!({ "command": command }));
    assert_eq!(answer["success"], true, "{answer}");
    wait_until("the command runs", || stage.screen().contains("\nbefore\n"));
}

fn open_gate(stage: &Stage, gate: &str) {
    std::fs::write(stage.house.work().join(gate), "").expect("the gate opens");
}

/// The newest command of the record, with what it printed.
fn last(stage: &Stage) -> Value {
    let params = json!({ "name": "archy_session", "limit": 1 });
    let listed = stage.rpc("terminal.history", &params);
    let id = listed["commands"][0]["id"].clone();
    stage.rpc("terminal.command", &json!({ "id": id }))
}

fn is_right(stage: &Stage) {
    let answer = stage.ask("wait_for_prompt", json!({ "max_wait": 120 }));
    assert_eq!(answer["success"], true, "{answer}");
    assert!(
        text(&answer, "output").contains("\nbefore\nafter\n"),
        "{answer}"
    );
    let command = last(stage);
    assert_eq!(
        (&command["state"], &command["exitCode"]),
        (&json!("done"), &json!(7))
    );
    assert_eq!(command["output"], "before\nafter\n", "{command}");
    assert_eq!(stage.run("echo on"), (0, "on\n".to_owned()));
}

#[test]
fn a_command_that_ends_after_the_restart_has_its_result() {
    let mut stage = Stage::new();
    begin(&stage, "gate");
    stage.house.kill();
    stage.house.start_daemon();
    assert_eq!(stage.ask("check_session", json!({}))["exists"], true);
    open_gate(&stage, "gate");
    is_right(&stage);
}

#[test]
fn a_command_that_ends_while_nobody_looks_has_its_result() {
    let mut stage = Stage::new();
    let done = stage.house.work().join("done");
    begin(&stage, "gate");
    // What waits behind it is not lost either.
    let behind = format!("echo behind; touch '{}'", done.display());
    stage.ask("execute", json!({ "command": behind }));
    let shell = stage.ask("check_session", json!({}));
    assert_eq!(shell["exists"], true);
    stage.house.kill();
    open_gate(&stage, "gate");
    stage.house.start_daemon();
    wait_until("what waited is run", || done.exists());
    let answer = stage.ask("wait_for_prompt", json!({ "max_wait": 120 }));
    assert_eq!(answer["success"], true, "{answer}");
    let shown = text(&answer, "output");
    assert!(
        shown.contains("\nbefore\nafter\n") && shown.contains("\nbehind\n"),
        "{shown}"
    );
    assert_eq!(shown.matches("\nbehind\n").count(), 1, "{shown}");
    let listed = stage.rpc("terminal.history", &json!({ "name": "archy_session" }));
    let codes: Vec<_> = listed["commands"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["exitCode"].clone())
        .collect();
    assert_eq!(codes, [json!(0), json!(7)], "{listed}");
}

/// The client that waits is cut off; when it asks again, it is told.
#[test]
fn a_client_that_was_cut_off_asks_again() {
    let mut stage = Stage::new();
    let gate = stage.house.work().join("gate");
    let command = format!(
        "while [ ! -e '{}' ]; do sleep 0.05; done; echo through",
        gate.display()
    );
    let socket = stage.socket.clone();
    let waiting = std::thread::spawn(move || {
        std::panic::catch_unwind(|| ask(&socket, "execute_and_wait", json!({ "command": command })))
    });
    wait_until("the command runs", || {
        let listed = stage.rpc("terminal.list", &json!({}));
        listed["terminals"][0]["state"] == "busy"
    });
    stage.house.kill();
    let cut = waiting.join().expect("the thread ends");
    assert!(cut.is_err(), "nothing was answered: {cut:?}");
    stage.house.start_daemon();
    std::fs::write(gate, "").expect("the gate opens");
    let answer = stage.ask("wait_for_prompt", json!({ "max_wait": 120 }));
    assert!(text(&answer, "output").contains("\nthrough\n"), "{answer}");
    assert_eq!(last(&stage)["output"], "through\n");
}
