//! Every action, as the terminals and the desktop are asked for it and as its client reads it.

use super::{Stage, failed, plain, said};
use serde_json::{Value, json};

#[tokio::test]
async fn commands_are_typed_as_they_are_into_the_session_that_is_meant() {
    let stage = Stage::new().await;
    let words = [
        "Enter",
        "-n",
        "echo a;",
        "echo 'ü\t\"' # ✓",
        " ls\nls",
        "C-c",
    ];
    for words in words {
        let answer = stage.ask("execute", json!({ "command": words })).await;
        assert_eq!(answer, said(&format!("✓ Executed: {words}")));
    }
    assert_eq!(stage.rooms.typed("archy_session"), words);
    let first = stage.rooms.calls().remove(0);
    let expected = json!({ "name": "archy_session", "commands": ["Enter"], "detach": true, "stopOnFailure": false });
    assert_eq!(first, format!("terminal.execute {expected}"));

    stage
        .ask("execute", json!({ "command": "ls", "session": "mine" }))
        .await;
    assert_eq!(stage.rooms.typed("mine"), ["ls"]);
    stage.house.set(&super::listening(
        &stage.socket,
        "archy.session = \"other\"",
    ));
    stage.ask("execute", json!({ "command": "pwd" })).await;
    assert_eq!(stage.rooms.typed("other"), ["pwd"]);
    stage.house.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_in_archys_words() {
    let stage = Stage::new().await;
    let long = json!({ "command": "x".repeat(7_000), "session": "n".repeat(300) });
    for (action, data, why) in [
        ("execute", json!({}), "Missing required parameter: command"),
        (
            "execute",
            json!(null),
            "Missing required parameter: command",
        ),
        (
            "execute",
            json!("ls"),
            "Missing required parameter: command",
        ),
        (
            "execute",
            json!({ "command": 7 }),
            "Missing required parameter: command",
        ),
        (
            "execute",
            json!({ "command": " " }),
            "Command cannot be empty",
        ),
        (
            "execute",
            json!({ "command": "a\0" }),
            "Invalid command: contains null byte",
        ),
        (
            "execute",
            json!({ "command": "ls", "session": 7 }),
            "Invalid session: a text is needed",
        ),
        (
            "execute",
            json!({ "command": "ls", "session": "a/b" }),
            "Invalid session: contains illegal characters",
        ),
        (
            "execute",
            json!({ "command": "ls", "session": "a.b" }),
            "That is no name.",
        ),
        ("execute", long, "Invalid session: too long"),
        ("execute_smart", json!({}), "Missing command parameter"),
        ("check_command", json!({}), "Missing command parameter"),
        (
            "launch_fallback_terminal",
            json!({}),
            "Missing command parameter",
        ),
        (
            "launch_fallback_terminal",
            json!({ "command": "ls", "terminal": "/bin/sh" }),
            "Invalid terminal specified",
        ),
        (
            "batch_execute",
            json!({}),
            "Missing or invalid 'commands' array",
        ),
        (
            "batch_execute",
            json!({ "commands": [7] }),
            "Invalid command 1: a text is needed",
        ),
        (
            "capture",
            json!({ "lines": "ten" }),
            "Invalid lines: a number is needed",
        ),
        ("capture", json!({}), "There is no such terminal."),
        (
            "find_desktop_entry",
            json!({}),
            "Missing app_name parameter",
        ),
        (
            "find_desktop_entry",
            json!({ "app_name": "../x" }),
            "Invalid app_name: contains illegal characters",
        ),
        (
            "launch_gui_app",
            json!({}),
            "Missing desktop_entry parameter",
        ),
        (
            "launch_gui_app",
            json!({ "desktop_entry": "nobody" }),
            "Failed to launch GUI app 'nobody' - not found or not accessible",
        ),
        (
            "extract_directory",
            json!({}),
            "Missing terminal_output parameter",
        ),
        (
            "extract_directory",
            json!({ "terminal_output": "nothing" }),
            "Could not extract directory from prompt",
        ),
        (
            "wait_for_prompt",
            json!({}),
            "Session 'archy_session' not found",
        ),
        (
            "close_session",
            json!({}),
            "Session not found or already closed",
        ),
        (
            "close_terminal",
            json!({}),
            "Session not found or already closed",
        ),
        ("no_such_action", json!({}), "Unknown action"),
        ("", json!({}), "Unknown action"),
        ("terminal.list", json!({}), "Unknown action"),
        ("../x y", json!({}), "Unknown action"),
    ] {
        let answer = stage.ask(action, data.clone()).await;
        assert_eq!(answer, failed(why), "{action} {data}");
    }
    assert_eq!(stage.rooms.typed("archy_session"), Vec::<String>::new());
    for action in ["execute_analyzed", "execute_and_wait"] {
        let answer = stage.ask(action, json!({ "session": "x" })).await;
        assert_eq!(answer["error"], "Missing command parameter");
        assert_eq!(
            (&answer["status"], &answer["exit_code"]),
            (&json!("error"), &json!(-1))
        );
    }
    stage.house.stop().await;
}

#[tokio::test]
async fn a_command_that_is_waited_for_has_its_own_exit_code_and_output() {
    let stage = Stage::new().await;
    for (action, code) in [("execute_and_wait", 7), ("execute_analyzed", 0)] {
        let command = format!("exit {code}");
        let data =
            json!({ "command": command, "session": "s", "max_wait": 30, "interval_ms": 100 });
        let answer = stage.ask(action, data).await;
        assert_eq!(answer["success"], code == 0, "{answer}");
        assert_eq!(answer["exit_code"], code);
        assert_eq!(answer["command"], command);
        assert_eq!(answer["raw_output"], format!("ran exit {code}\n"));
        assert_eq!(answer["structured"], json!({ "by": "id" }));
        assert_eq!(answer["metadata"]["format_detected"], "told");
        assert_eq!(answer["metadata"]["duration_ms"], 5);
        for field in [
            "findings",
            "summary",
            "display",
            "display_plain",
            "parsed",
            "exists",
        ] {
            assert!(answer.get(field).is_some(), "{field}");
        }
    }
    stage.house.stop().await;
}

#[tokio::test]
async fn a_batch_has_every_commands_own_end() {
    let stage = Stage::new().await;
    let data = json!({
        "commands": ["ls", "exit 3", "", "pwd"], "explanations": ["lists", "fails"],
        "session": "b",
    });
    let answer = stage.ask("batch_execute", data).await;
    assert_eq!(answer["success"], false);
    let counts = ["total_commands", "successful", "failed", "unfinished"];
    assert_eq!(counts.map(|it| answer[it].as_u64().unwrap()), [3, 2, 1, 0]);
    let summary = "Batch executed 3 commands: 2 succeeded, 1 failed";
    assert_eq!(answer["summary"], summary);
    assert_eq!(
        answer["commands"][1],
        json!({
            "index": 2, "command": "exit 3", "explanation": "fails", "success": false,
            "status": "error", "exit_code": 3, "duration_ms": 5,
            "output_preview": "ran exit 3", "error": "exit code 3",
        })
    );
    assert_eq!(answer["commands"][2]["index"], 4);
    let output: Value = serde_json::from_str(answer["output"].as_str().unwrap()).unwrap();
    assert_eq!(output["commands"], answer["commands"]);
    let executes = stage.rooms.calls();
    assert_eq!(executes.len(), 1, "on record together: {executes:?}");

    let answer = stage.ask("batch_execute", json!({ "commands": [] })).await;
    assert_eq!(
        (&answer["success"], &answer["total_commands"]),
        (&json!(true), &json!(0))
    );

    let data = json!({ "commands": ["ls", "hold", "pwd"], "max_wait": 1 });
    let answer = stage.ask("batch_execute", data).await;
    assert_eq!(answer["unfinished"], 1, "{answer}");
    assert_eq!(answer["commands"][1]["status"], "timeout");
    stage.house.stop().await;
}

#[tokio::test]
async fn screens_and_sessions_are_shown() {
    let stage = Stage::new().await;
    let absent = plain(false, Value::Null, Value::Null, json!(false));
    let present = plain(true, Value::Null, Value::Null, json!(true));
    assert_eq!(stage.ask("check_session", json!({})).await, absent);
    stage.ask("execute", json!({ "command": "ls" })).await;
    assert_eq!(stage.ask("check_session", json!({})).await, present);
    assert_eq!(
        stage
            .ask("check_session", json!({ "session": "other" }))
            .await,
        absent
    );

    let shown = said("ran ls\n");
    assert_eq!(stage.ask("capture", json!({})).await, shown);
    for (lines, asked) in [
        (json!(null), 100),
        (json!(7), 7),
        (json!(-3), 0),
        (json!(1e9), 20_000),
    ] {
        stage.ask("capture", json!({ "lines": lines })).await;
        let last = stage.rooms.calls().pop().unwrap();
        assert!(last.contains(&format!("\"lines\":{asked}}}")), "{last}");
    }
    let answer = stage
        .ask("capture_analyzed", json!({ "command": "ls" }))
        .await;
    assert_eq!(answer["raw_output"], "ran ls\n");
    assert_eq!(
        (&answer["success"], &answer["exit_code"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(answer["structured"], json!({ "by": "output" }));

    let data = json!({ "terminal_output": "me@box:~/code$ " });
    assert_eq!(stage.ask("extract_directory", data).await, said("~/code"));
    let data = json!({ "session": "archy_session" });
    assert_eq!(
        stage.ask("extract_directory", data).await,
        said("/srv/work")
    );

    let quiet = plain(true, json!("ran ls\n"), Value::Null, json!(true));
    assert_eq!(
        stage
            .ask("wait_for_prompt", json!({ "command": "ls" }))
            .await,
        quiet
    );
    stage.ask("execute", json!({ "command": "hold" })).await;
    let busy = stage.ask("wait_for_prompt", json!({ "max_wait": 1 })).await;
    let why = json!("Command timeout - may still be running");
    assert_eq!(
        busy,
        plain(false, json!("ran ls\nran hold\n"), why, json!(false))
    );
    let waiting = stage.ask("wait_for_prompt", json!({}));
    let release = async { stage.rooms.release() };
    let (answer, ()) = tokio::join!(waiting, release);
    assert_eq!(answer["success"], true);

    assert_eq!(
        stage.ask("close_session", json!({})).await,
        said("✓ Session closed")
    );
    assert_eq!(stage.ask("check_session", json!({})).await, absent);
    stage.house.stop().await;
}

#[tokio::test]
async fn windows_are_opened_and_closed() {
    let stage = Stage::new().await;
    let seen = async || stage.ask("is_foot_running", json!({})).await["exists"].clone();
    assert_eq!(seen().await, false);
    let opened = said("✓ Terminal opened");
    assert_eq!(stage.ask("open_terminal", json!({})).await, opened);
    let again = said("✓ Terminal already open (reattached)");
    assert_eq!(stage.ask("open_terminal", json!({})).await, again);
    assert_eq!(seen().await, true);
    let closed = said("✓ Terminal window closed");
    assert_eq!(stage.ask("close_terminal", json!({})).await, closed);
    assert_eq!(seen().await, false);
    let answer = stage.ask("close_terminal", json!({})).await;
    assert_eq!(answer["success"], false);

    let answer = stage.ask("detect_terminal", json!({})).await;
    let told: Value = serde_json::from_str(answer["output"].as_str().unwrap()).unwrap();
    assert_eq!(
        told,
        json!({ "terminal": "gnome-terminal", "args": ["--", "bash", "-c"] })
    );
    assert_eq!(answer["exists"], true);

    let data = json!({ "command": "top", "terminal": "kitty" });
    let answer = stage.ask("launch_fallback_terminal", data).await;
    assert_eq!(answer, said("✓ Command launched in new kitty terminal"));
    assert_eq!(stage.rooms.typed("archy_window_1"), ["top"]);

    stage.rooms.without_display();
    let answer = stage.ask("open_terminal", json!({})).await;
    assert_eq!(
        answer,
        failed("Failed to open terminal: There is no display.")
    );
    let data = json!({ "command": "touch x" });
    let answer = stage.ask("launch_fallback_terminal", data).await;
    assert_eq!(
        answer,
        failed("Failed to launch terminal: There is no display.")
    );
    assert_eq!(
        stage.rooms.typed("archy_window_1"),
        ["top"],
        "nothing was run"
    );
    stage.house.stop().await;
}

#[tokio::test]
async fn applications_are_found_and_started() {
    let stage = Stage::new().await;
    let found = plain(true, json!("firefox"), Value::Null, json!(true));
    let data = json!({ "app_name": "firefox" });
    assert_eq!(stage.ask("find_desktop_entry", data).await, found);
    let data = json!({ "app_name": "nobody" });
    let why = json!("Desktop entry 'nobody' not found");
    let absent = plain(true, Value::Null, why, json!(false));
    assert_eq!(stage.ask("find_desktop_entry", data).await, absent);
    let data = json!({ "desktop_entry": "firefox" });
    let launched = said("✓ GUI app 'firefox' launched");
    assert_eq!(stage.ask("launch_gui_app", data).await, launched);

    let data = json!({ "command": "firefox" });
    assert_eq!(stage.ask("execute_smart", data).await, launched);
    for command in [
        "htop",
        "firefox https://example.org",
        "ls | wc",
        "/usr/bin/firefox",
    ] {
        let answer = stage
            .ask("execute_smart", json!({ "command": command }))
            .await;
        assert_eq!(answer["success"], true, "{answer}");
        assert!(
            answer["output"]
                .as_str()
                .unwrap()
                .ends_with(&format!(": {command}"))
        );
    }
    assert_eq!(stage.rooms.typed("archy_session").len(), 4);
    let calls = stage.rooms.calls();
    let windows = calls.iter().filter(|it| it.starts_with("terminal.open"));
    assert_eq!(windows.count(), 1, "one window is enough: {calls:?}");

    stage.rooms.without_display();
    stage.ask("close_terminal", json!({})).await;
    let answer = stage.ask("execute_smart", json!({ "command": "ls" })).await;
    assert_eq!(
        answer,
        said("✓ Command sent to persistent terminal session: ls")
    );
    stage.house.stop().await;
}

#[tokio::test]
async fn the_machine_is_described() {
    let stage = Stage::new().await;
    let there = plain(true, json!("/bin/ls"), Value::Null, json!(true));
    assert_eq!(
        stage.ask("check_command", json!({ "command": "ls" })).await,
        there
    );
    let missing = plain(true, Value::Null, Value::Null, json!(false));
    assert_eq!(
        stage
            .ask("check_command", json!({ "command": "nope" }))
            .await,
        missing
    );
    let answer = stage.ask("get_system_info", json!({})).await;
    let told = answer["output"].as_str().unwrap();
    assert!(
        told.starts_with("System: Linux box 6.9 x86_64\nOS: Arch Linux\n"),
        "{told}"
    );
    assert!(
        told.contains("Memory: 4.0 GiB of 8.0 GiB available\nUptime: 1 h 1 min"),
        "{told}"
    );
    stage.house.stop().await;
}

#[tokio::test]
async fn a_service_may_offer_more_actions() {
    let stage = Stage::new().await;
    let mut service = stage.house.socket(&stage.house.owner()).await;
    let registration = json!({
        "service": "archy", "version": "1", "methods": ["archy.greet", "archy.fail"],
        "events": [], "subscriptions": [],
    });
    let answer = service.call("1", "gateway.register", registration).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let serve = async {
        for _ in 0..2 {
            let request = service.next().await;
            let name = request["params"]["name"].as_str().unwrap();
            let answer = match request["method"].as_str().unwrap() {
                "archy.greet" => {
                    json!({ "ok": true, "payload": { "output": format!("Hello {name}!") } })
                }
                _ => {
                    json!({ "ok": false, "error": { "code": "METHOD_ERROR", "message": "Not today." } })
                }
            };
            let mut answer = answer;
            answer["type"] = json!("res");
            answer["id"] = request["id"].clone();
            service.send(&answer).await;
        }
    };
    let ask = async {
        let data = json!({ "name": "Ada" });
        assert_eq!(stage.ask("greet", data.clone()).await, said("Hello Ada!"));
        assert_eq!(stage.ask("fail", data).await, failed("Not today."));
    };
    tokio::join!(serve, ask);
    assert_eq!(
        stage.ask("grete", json!({})).await,
        failed("Unknown action")
    );
    stage.house.stop().await;
}
