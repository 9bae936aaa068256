//! Windows, applications and the machine.

use super::{Stage, failed, plain, said};
use serde_json::{Value, json};

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
    let found = plain(true, (Some("firefox"), None), true);
    let data = json!({ "app_name": "firefox" });
    assert_eq!(stage.ask("find_desktop_entry", data).await, found);
    let data = json!({ "app_name": "nobody" });
    let why = Some("Desktop entry 'nobody' not found");
    let absent = plain(true, (None, why), false);
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
    let there = plain(true, (Some("/bin/ls"), None), true);
    assert_eq!(
        stage.ask("check_command", json!({ "command": "ls" })).await,
        there
    );
    let missing = plain(true, (None, None), false);
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

/// hob may have no desktop while its client has one: the client's is meant.
#[tokio::test]
async fn a_window_comes_up_on_the_desktop_of_whoever_asks() {
    let stage = Stage::new().await;
    let script = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'{\"action\": \"open_terminal\", \"data\": {}}')
sys.exit(0 if b'Terminal opened' in s.recv(4096) else 1)";
    let mut python = python();
    python.args(["-c", script]).arg(&stage.socket);
    python
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    python
        .env("DISPLAY", ":77")
        .env("XAUTHORITY", "/tmp/cookie");
    let status = tokio::task::spawn_blocking(move || python.status());
    let status = status.await.unwrap().expect("python3 starts");
    assert!(status.success());
    let calls = stage.rooms.calls();
    let shown = json!({ "x11": ":77", "authority": "/tmp/cookie" });
    let opened = format!("\"display\":{shown}");
    assert!(calls.iter().any(|it| it.contains(&opened)), "{calls:?}");
    stage.house.stop().await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client in a process of its own, with an environment of its own"
)]
fn python() -> std::process::Command {
    std::process::Command::new("python3")
}
