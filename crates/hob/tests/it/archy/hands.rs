//! What one client does: types, reads, waits, closes.

use super::{Stage, ended, text};
use crate::conformance::wire::Peer;
use crate::support::wait_until;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[test]
fn a_command_is_typed_and_its_output_captured() {
    let stage = Stage::new();
    assert_eq!(stage.ask("check_session", json!({}))["exists"], false);
    let answer = stage.ask("execute", json!({ "command": "echo sum-$((40 + 2))" }));
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(answer["output"], "✓ Executed: echo sum-$((40 + 2))");
    let answer = stage.ask(
        "wait_for_prompt",
        json!({ "command": "echo", "max_wait": 120 }),
    );
    assert_eq!(answer["success"], true, "{answer}");
    assert!(text(&answer, "output").contains("\nsum-42\n"), "{answer}");
    assert!(stage.screen().contains("\nsum-42\n"));
    let answer = stage.ask("check_session", json!({ "session": "archy_session" }));
    assert_eq!(
        (&answer["success"], &answer["exists"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        stage.ask("check_session", json!({ "session": "other" }))["exists"],
        false
    );
}

#[test]
fn exit_codes_are_the_shells_own_and_output_is_the_commands_alone() {
    let stage = Stage::new();
    assert_eq!(stage.run("echo first"), (0, "first\n".to_owned()));
    assert_eq!(stage.run("sh -c 'exit 7'"), (7, String::new()));
    let answer = stage.ask(
        "execute_analyzed",
        json!({ "command": "echo out; (exit 3)" }),
    );
    assert_eq!(ended(&answer), (3, "out\n".to_owned()));
    assert_eq!(
        (&answer["success"], &answer["status"]),
        (&json!(true), &json!("error")),
        "it ran to its end, so its output is shown: {answer}"
    );
    assert!(answer["metadata"]["duration_ms"].is_u64(), "{answer}");
    assert_eq!(stage.run("true").0, 0);
    assert_eq!(stage.run("no-such-program-at-all 2>/dev/null").0, 127);
    let answer = stage.ask(
        "execute_and_wait",
        json!({ "command": "printf started; sleep 60", "max_wait": 1 }),
    );
    assert_eq!(answer["status"], "timeout", "{answer}");
    assert_eq!(answer["error"], "Command timeout - may still be running");
    assert_eq!(answer["raw_output"], "started");
    stage.ask("close_session", json!({}));
}

#[test]
fn two_hundred_commands_of_a_batch_end_each_for_itself() {
    let stage = Stage::new();
    let line = |number: usize| match number % 10 {
        7 => format!("(exit {})", number % 100),
        _ => format!("echo item-{number}"),
    };
    let commands: Vec<String> = (0..200).map(line).collect();
    let data = json!({ "commands": commands, "max_wait": 170 });
    let answer = stage.ask("batch_execute", data);
    assert_eq!(answer["total_commands"], 200, "{answer}");
    assert_eq!(
        (&answer["successful"], &answer["failed"]),
        (&json!(180), &json!(20))
    );
    let results = answer["commands"].as_array().expect("a list");
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result["index"], number + 1);
        assert_eq!(result["command"], line(number));
        if number % 10 == 7 {
            assert_eq!(result["exit_code"], number % 100);
            assert_eq!(result["output_preview"], Value::Null);
        } else {
            assert_eq!(result["exit_code"], 0);
            assert_eq!(result["output_preview"], format!("item-{number}"));
        }
    }
}

#[test]
fn letters_of_every_kind_are_typed_as_they_are() {
    let stage = Stage::new();
    stage.run("cd \"$HOME\"");
    for printed in [
        "ü € 😀 日本語 e\u{301}",
        "\"double\" `tick` $HOME \\ back",
        "a; b & c | d > e < f # g ! h * ? [x] {y,z} ~",
        "C-c Enter Escape -n --help",
        "%1 %% #{pane_id} \\033[31m",
    ] {
        let command = format!("printf '%s\\n' '{printed}'");
        assert_eq!(
            stage.run(&command),
            (0, format!("{printed}\n")),
            "{printed}"
        );
    }
    assert_eq!(stage.run("printf '%s\\n' \"it's\"").1, "it's\n");
    assert_eq!(
        stage.run("printf 'a\tb' | od -An -c | tr -d ' \\n'").1,
        "a\\tb"
    );
    // Names of keys and flags are words like any other.
    assert_eq!(stage.run("Enter 2>/dev/null").0, 127);
    assert_eq!(stage.run("-n 2>/dev/null").0, 127);
    assert_eq!(stage.run("echo a;").1, "a\n");
    assert_eq!(
        stage.run("for i in 1 2\ndo\n  echo \"line $i\"\ndone").1,
        "line 1\nline 2\n"
    );
    let long = "x".repeat(7_000);
    assert_eq!(
        stage.run(&format!("printf %s {long} | wc -c")).1.trim(),
        "7000"
    );
}

#[test]
fn ten_thousand_lines_are_captured_whole() {
    let stage = Stage::new();
    assert_eq!(stage.run("seq 1 10000").0, 0);
    let answer = stage.ask("capture", json!({ "lines": 10_000 }));
    let screen = text(&answer, "output");
    let mut expected = String::new();
    for number in 1..=10_000 {
        let _ = writeln!(expected, "{number}");
    }
    let missing = || {
        let lines: std::collections::BTreeSet<&str> = screen.lines().collect();
        expected
            .lines()
            .find(|line| !lines.contains(line))
            .map(str::to_owned)
    };
    assert!(screen.contains(&expected), "missing: {:?}", missing());
    let few = text(&stage.ask("capture", json!({ "lines": 0 })), "output");
    assert!(few.lines().count() <= 30, "{few}");
    let answer = stage.ask(
        "capture_analyzed",
        json!({ "lines": 10_000, "command": "seq 1 10000" }),
    );
    assert!(text(&answer, "raw_output").contains("\n9999\n10000\n"));
}

#[test]
fn a_session_that_was_closed_begins_anew() {
    let stage = Stage::new();
    assert_eq!(stage.run("KEPT=yes; echo $KEPT").1, "yes\n");
    assert_eq!(stage.run("echo $KEPT").1, "yes\n", "it is one shell");
    let closed = stage.ask("close_session", json!({ "session": "archy_session" }));
    assert_eq!(closed["output"], "✓ Session closed", "{closed}");
    assert_eq!(stage.ask("check_session", json!({}))["exists"], false);
    let again = stage.ask("close_session", json!({}));
    assert_eq!(
        again["error"], "Session not found or already closed",
        "{again}"
    );
    assert_eq!(stage.run("echo [$KEPT]").1, "[]\n");
    assert_eq!(stage.ask("check_session", json!({}))["exists"], true);
    // Left by its own shell it is gone too, and comes back when it is needed.
    stage.ask("execute", json!({ "command": "exit" }));
    wait_until("the session is gone", || {
        stage.ask("check_session", json!({}))["exists"] == false
    });
    assert_eq!(stage.run("echo back").1, "back\n");
}

#[test]
fn the_machine_is_asked_about() {
    let stage = Stage::new();
    let answer = stage.ask("check_command", json!({ "command": "sh" }));
    assert_eq!(
        (&answer["success"], &answer["exists"]),
        (&json!(true), &json!(true))
    );
    let answer = stage.ask("check_command", json!({ "command": "no-such-program" }));
    assert_eq!(
        (&answer["success"], &answer["exists"]),
        (&json!(true), &json!(false))
    );
    let answer = stage.ask("get_system_info", json!({}));
    assert!(
        text(&answer, "output").starts_with("System: Linux "),
        "{answer}"
    );
    let answer = stage.ask("find_desktop_entry", json!({ "app_name": "no-such-app" }));
    assert_eq!(answer["exists"], false, "{answer}");
    let folder = stage.house.work().canonicalize().expect("it is there");
    stage.run(&format!("cd '{}'", folder.display()));
    let answer = stage.ask("extract_directory", json!({ "session": "archy_session" }));
    assert_eq!(answer["output"], folder.display().to_string(), "{answer}");
}

#[test]
fn a_program_that_asks_is_answered_and_one_that_does_not_end_is_ended() {
    let stage = Stage::new();
    let asks = json!({ "command": "read -r -p 'Sure? ' answer; echo \"[$answer]\"" });
    assert_eq!(stage.ask("execute", asks)["success"], true);
    wait_until("it asks", || stage.screen().contains("\nSure?"));
    let keys = json!({ "text": "Enter; yes", "keys": ["Enter"] });
    let answer = stage.ask("send_keys", keys);
    assert_eq!(answer["success"], true, "{answer}");
    let answer = stage.ask("wait_for_prompt", json!({ "max_wait": 120 }));
    assert!(
        text(&answer, "output").contains("\n[Enter; yes]\n"),
        "{answer}"
    );

    stage.ask("execute", json!({ "command": "echo begun; sleep 1000" }));
    wait_until("it runs", || stage.screen().contains("\nbegun\n"));
    let answer = stage.ask("cancel", json!({}));
    assert_eq!(answer["output"], "✓ Commands ended: 1", "{answer}");
    assert_eq!(stage.run("echo free"), (0, "free\n".to_owned()));
    let listed = stage.ask("list_sessions", json!({}));
    assert_eq!(listed["output"], "archy_session", "{listed}");
}

/// What a client types is the person's own act: recorded, with its words.
#[test]
fn what_is_typed_is_in_the_record() {
    let stage = Stage::new();
    stage.run("echo recorded-act");
    let record = stage.house.hob(&["--json", "audit", "list"]).success();
    assert!(record.contains("echo recorded-act"), "{record}");
    let verified = stage.house.hob(&["audit", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_the_persons_offers_another_action() {
    let stage = Stage::new();
    assert_eq!(stage.ask("greet", json!({}))["error"], "Unknown action");
    let mut service = Peer::owner(&stage.house).await;
    service.register("archy", &["archy.greet"]).await;
    let socket = stage.socket.clone();
    let asking =
        tokio::task::spawn_blocking(move || super::ask(&socket, "greet", json!({ "name": "Ada" })));
    let request = service.request().await;
    assert_eq!(request["method"], "archy.greet");
    assert_eq!(request["params"], json!({ "name": "Ada" }));
    service
        .reply(&request, json!({ "output": "Hello Ada!", "mood": "fine" }))
        .await;
    let answer = asking.await.expect("it is answered");
    assert_eq!(
        answer,
        json!({ "success": true, "output": "Hello Ada!", "error": null, "exists": null, "mood": "fine" })
    );
}
