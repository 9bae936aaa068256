//! Requests that fail, and their errors.

use super::{Stage, failed};
use serde_json::{Value, json};

/// Action, data and what is said.
const WRONG: &[(&str, &str, &str)] = &[
    ("execute", "{}", "Missing required parameter: command"),
    ("execute", "null", "Missing required parameter: command"),
    ("execute", "\"ls\"", "Missing required parameter: command"),
    (
        "execute",
        r#"{"command":7}"#,
        "Missing required parameter: command",
    ),
    ("execute", r#"{"command":" "}"#, "Command cannot be empty"),
    (
        "execute",
        r#"{"command":"a\u0000"}"#,
        "Invalid command: contains null byte",
    ),
    (
        "execute",
        r#"{"command":"ls","session":7}"#,
        "Invalid session: a text is needed",
    ),
    (
        "execute",
        r#"{"command":"ls","session":"a/b"}"#,
        "Invalid session: contains illegal characters",
    ),
    (
        "execute",
        r#"{"command":"ls","session":"a.b"}"#,
        "That is no name.",
    ),
    ("execute_smart", "{}", "Missing command parameter"),
    ("check_command", "{}", "Missing command parameter"),
    (
        "launch_fallback_terminal",
        "{}",
        "Missing command parameter",
    ),
    (
        "launch_fallback_terminal",
        r#"{"command":"ls","terminal":"/bin/sh"}"#,
        "Invalid terminal specified",
    ),
    ("batch_execute", "{}", "Missing or invalid 'commands' array"),
    (
        "batch_execute",
        r#"{"commands":[7]}"#,
        "Invalid command 1: a text is needed",
    ),
    (
        "capture",
        r#"{"lines":"ten"}"#,
        "Invalid lines: a number is needed",
    ),
    ("capture", "{}", "There is no such terminal."),
    ("find_desktop_entry", "{}", "Missing app_name parameter"),
    (
        "find_desktop_entry",
        r#"{"app_name":"../x"}"#,
        "Invalid app_name: contains illegal characters",
    ),
    ("launch_gui_app", "{}", "Missing desktop_entry parameter"),
    (
        "launch_gui_app",
        r#"{"desktop_entry":"nobody"}"#,
        "Failed to launch GUI app 'nobody' - not found or not accessible",
    ),
    (
        "extract_directory",
        "{}",
        "Missing terminal_output parameter",
    ),
    (
        "extract_directory",
        r#"{"terminal_output":"nothing"}"#,
        "Could not extract directory from prompt",
    ),
    ("wait_for_prompt", "{}", "Session 'archy_session' not found"),
    ("close_session", "{}", "Session not found or already closed"),
    (
        "close_terminal",
        "{}",
        "Session not found or already closed",
    ),
    ("no_such_action", "{}", "Unknown action"),
    ("", "{}", "Unknown action"),
    ("terminal.list", "{}", "Unknown action"),
    ("../x y", "{}", "Unknown action"),
];

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_in_archys_words() {
    let stage = Stage::new().await;
    for (action, data, why) in WRONG {
        let data: Value = serde_json::from_str(data).unwrap();
        let answer = stage.ask(action, data.clone()).await;
        assert_eq!(answer, failed(why), "{action} {data}");
    }
    let no = super::plain(true, (None, None), false);
    for name in ["", " ", "no/such", "a\0b", &"n".repeat(5_000)] {
        let answer = stage.ask("check_command", json!({ "command": name })).await;
        assert_eq!(answer, no, "{name:?}");
    }
    let long = json!({ "command": "ls", "session": "n".repeat(300) });
    assert_eq!(
        stage.ask("execute", long).await,
        failed("Invalid session: too long")
    );
    // One letter too many fits into a request.
    let long = json!({ "command": "x".repeat(8_193) });
    let why = "Command too long (max 8192 characters)";
    assert_eq!(stage.ask("execute", long).await, failed(why));
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
