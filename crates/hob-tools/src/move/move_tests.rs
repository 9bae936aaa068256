//! Moving, and what is never overwritten.

use crate::trial::TestWorkspace;
use serde_json::json;

#[tokio::test]
async fn files_and_folders_move_and_nothing_is_overwritten() {
    let trial = TestWorkspace::new();
    trial.put("a.txt", "a");
    trial.put("b.txt", "b");
    trial.put("folder/c.txt", "c");
    let (words, is_error) = trial
        .say("move", json!({ "from": "a.txt", "to": "new/a.txt" }))
        .await;
    assert!(!is_error, "{words}");
    assert_eq!(
        (trial.get("a.txt"), trial.get("new/a.txt").as_deref()),
        (None, Some("a"))
    );
    trial
        .say("move", json!({ "from": "folder", "to": "other" }))
        .await;
    assert_eq!(trial.get("other/c.txt").as_deref(), Some("c"));
    for (from, to, told) in [
        ("b.txt", "new/a.txt", "nothing is overwritten"),
        ("other", "other/below", "into itself"),
        ("missing", "x", "There is no file"),
    ] {
        let (words, is_error) = trial.say("move", json!({ "from": from, "to": to })).await;
        assert!(is_error && words.contains(told), "{words}");
    }
    assert_eq!(trial.get("b.txt").as_deref(), Some("b"));
}

#[tokio::test]
async fn a_folder_may_not_become_one_that_runs_by_itself() {
    let trial = TestWorkspace::new();
    trial.put("innocent/autostart/x.desktop", "x");
    trial.put("repo/.git/config", "x");
    for (from, to) in [
        ("innocent", ".config"),
        ("repo", "elsewhere"),
        ("innocent", "repo/.git/x"),
    ] {
        let (words, is_error) = trial.say("move", json!({ "from": from, "to": to })).await;
        assert!(is_error, "{from} to {to}: {words}");
    }
    assert!(trial.path("innocent").exists() && trial.path("repo").exists());
    assert!(
        !trial
            .path("innocent/autostart")
            .join("../../.config")
            .exists()
    );
}
