//! What is asked for and what is not, without a process. Real ones run in the tests of the tool
//! room, which has a shim to start.

use super::*;
use crate::trial::TestWorkspace;

#[tokio::test]
async fn without_a_spawner_nothing_runs() {
    let trial = TestWorkspace::new();
    for args in [
        json!({ "action": "start", "command": "true" }),
        json!({ "action": "list" }),
        json!({ "action": "poll", "id": 1 }),
    ] {
        let (text, failed) = trial.say("process", args).await;
        assert_eq!(
            (text.as_str(), failed),
            ("Programs cannot be run here.", true)
        );
    }
}

#[tokio::test]
async fn looking_at_ones_own_and_ending_it_may_be_done_again() {
    let trial = TestWorkspace::new();
    for action in ["poll", "list", "kill"] {
        let work = trial.work("process", json!({ "action": action, "id": 1 }));
        assert_eq!(preview(&work, &trial.env).would_fail, None, "{action} runs");
        assert_eq!(probe(&work), ToolProbeResult::No);
    }
    let work = trial.work("process", json!({ "action": "start", "command": "true" }));
    let probed = probe(&work);
    assert!(matches!(probed, ToolProbeResult::Unknown { .. }));
}
