//! What is asked for and what is not, without a process. Real ones run in the tests of the tool
//! room, which has a shim to start.

use super::*;
use crate::trial::Trial;

#[tokio::test]
async fn without_a_spawner_nothing_runs() {
    let trial = Trial::new();
    for args in [
        json!({ "action": "start", "command": "true" }),
        json!({ "action": "list" }),
        json!({ "action": "poll", "id": 1 }),
    ] {
        let (text, failed) = trial.say("process", args).await;
        assert_eq!((text.as_str(), failed), ("No programs are run here.", true));
    }
}

#[tokio::test]
async fn looking_at_ones_own_and_ending_it_may_be_done_again() {
    let trial = Trial::new();
    for action in ["poll", "list", "kill"] {
        let work = trial.work("process", json!({ "action": action, "id": 1 }));
        assert_eq!(look(&work, &trial.ground).would_fail, None, "{action} runs");
        assert_eq!(probe(&work), Probed::No);
    }
    let work = trial.work("process", json!({ "action": "start", "command": "true" }));
    let probed = probe(&work);
    assert!(matches!(probed, Probed::Unknown { .. }));
}
