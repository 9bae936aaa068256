//! Windows of the desktop, or of none.

use super::{Stage, text};
use serde_json::json;

#[test]
fn without_a_display_a_window_is_refused_with_the_way_out() {
    let stage = Stage::new();
    for action in ["open_terminal", "launch_fallback_terminal"] {
        let answer = stage.ask(action, json!({ "command": "touch never" }));
        assert_eq!(answer["success"], false, "{answer}");
        let error = text(&answer, "error").to_lowercase();
        assert!(error.contains("display"), "{error}");
        assert!(error.contains("hob terminal attach"), "{error}");
    }
    assert_eq!(stage.ask("is_foot_running", json!({}))["exists"], false);
    // What needs no window goes on without one.
    let answer = stage.ask("execute_smart", json!({ "command": "echo smart" }));
    assert_eq!(answer["success"], true, "{answer}");
    stage.ask("wait_for_prompt", json!({}));
    assert!(stage.screen().contains("\nsmart\n"));
}
