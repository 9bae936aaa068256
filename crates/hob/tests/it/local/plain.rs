//! Plain words that a real language model answers. The small one has no tools and goes on for long,
//! so it is heard and then stopped: what matters is that nothing runs.

use super::{builder, rpc};
use serde_json::json;

#[test]
fn asking_a_real_model_about_a_command_runs_nothing() {
    let house = builder().start();
    house.hob(&["service", "install", "llm", "--yes"]).success();
    let question = "what does `rm -rf` do?";
    // The same as `hob QUESTION`, with a limit.
    let line = ["ask", "--terminal", "--budget-time", "20s", question];
    let asked = house.hob(&line);
    // It ends by itself, or at its limit.
    assert!(matches!(asked.code, Some(0 | 6)), "{asked:?}");
    assert!(asked.stdout.contains("rm"), "{asked:?}");
    let typed = rpc(&house, "terminal.history", &json!({}));
    assert_eq!(typed["commands"], json!([]), "{typed}");
    let asked = house.hob(&[
        "ask",
        "--terminal",
        "--budget-time",
        "20s",
        "what's my uptime?",
    ]);
    assert!(matches!(asked.code, Some(0 | 3 | 6)), "{asked:?}");
    let typed = rpc(&house, "terminal.history", &json!({}));
    assert_eq!(typed["commands"], json!([]), "nobody said yes: {typed}");
}
