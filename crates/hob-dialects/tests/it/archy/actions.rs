//! Every action: the calls that it makes and the answer that its client reads.

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
async fn a_command_that_is_waited_for_has_its_own_exit_code_and_output() {
    let stage = Stage::new().await;
    for (action, code, summary) in [
        (
            "execute_and_wait",
            7,
            "It ended with exit code 7. One line: ran exit 7",
        ),
        ("execute_analyzed", 0, "One line: ran exit 0"),
    ] {
        let command = format!("exit {code}");
        let data =
            json!({ "command": command, "session": "s", "max_wait": 30, "interval_ms": 100 });
        let answer = stage.ask(action, data).await;
        // It ran to its end, so its output is shown; the two beside it tell how it ended.
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!(answer["error"], json!(null));
        let status = if code == 0 { "success" } else { "error" };
        assert_eq!(
            (&answer["exit_code"], &answer["status"]),
            (&json!(code), &json!(status))
        );
        assert_eq!(answer["command"], command);
        assert_eq!(answer["raw_output"], format!("ran exit {code}\n"));
        assert_eq!(answer["summary"], summary);
        let findings = answer["findings"].as_array().unwrap().len();
        assert_eq!(findings, usize::from(code != 0), "{answer}");
        assert_eq!(answer["metadata"]["format_detected"], "plain_text");
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
    let absent = plain(false, (None, None), false);
    let present = plain(true, (None, None), true);
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
    assert_eq!(answer["summary"], "One line: ran ls");
    assert_eq!(answer["metadata"]["format_detected"], "plain_text");

    let data = json!({ "terminal_output": "me@box:~/code$ " });
    assert_eq!(stage.ask("extract_directory", data).await, said("~/code"));
    let data = json!({ "session": "archy_session" });
    assert_eq!(
        stage.ask("extract_directory", data).await,
        said("/srv/work")
    );

    let quiet = plain(true, (Some("ran ls\n"), None), true);
    assert_eq!(
        stage
            .ask("wait_for_prompt", json!({ "command": "ls" }))
            .await,
        quiet
    );
    stage.ask("execute", json!({ "command": "hold" })).await;
    let busy = stage.ask("wait_for_prompt", json!({ "max_wait": 1 })).await;
    let why = Some("Command timeout - may still be running");
    assert_eq!(busy, plain(false, (Some("ran ls\nran hold\n"), why), false));
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
async fn a_program_that_asks_is_answered_and_one_that_does_not_end_is_ended() {
    let stage = Stage::new().await;
    stage.ask("execute", json!({ "command": "hold" })).await;
    let data = json!({ "text": "yes; -n", "keys": ["Enter"] });
    assert_eq!(stage.ask("send_keys", data).await, said("✓ Keys sent"));
    let typed = r#"terminal.keys {"name":"archy_session","text":"yes; -n","keys":["Enter"]}"#;
    assert_eq!(stage.rooms.calls().pop().unwrap(), typed);
    for (data, why) in [
        (json!({}), "Missing text or keys parameter"),
        (json!({ "text": 7 }), "Invalid text: a text is needed"),
        (
            json!({ "keys": "Enter" }),
            "Invalid keys: a list of texts is needed",
        ),
        (
            json!({ "keys": [7] }),
            "Invalid keys: a list of texts is needed",
        ),
    ] {
        assert_eq!(stage.ask("send_keys", data).await, failed(why));
    }
    assert_eq!(
        stage.ask("cancel", json!({})).await,
        said("✓ Commands ended: 1")
    );
    assert_eq!(
        stage.ask("cancel", json!({})).await,
        said("✓ Commands ended: 0")
    );
    stage
        .ask("execute", json!({ "command": "ls", "session": "b" }))
        .await;
    let both = plain(true, (Some("archy_session\nb"), None), true);
    assert_eq!(stage.ask("list_sessions", json!({})).await, both);
    stage.ask("close_session", json!({})).await;
    let one = plain(true, (Some("b"), None), true);
    assert_eq!(stage.ask("list_sessions", json!({})).await, one);
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
