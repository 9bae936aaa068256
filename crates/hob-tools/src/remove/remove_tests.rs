//! Removing files, links and whole folders.

use crate::trial::{TestWorkspace, entry};
use serde_json::json;

#[tokio::test]
async fn files_and_links_go_and_what_they_lead_to_stays() {
    let trial = TestWorkspace::new();
    trial.put("a.txt", "a");
    std::os::unix::fs::symlink("a.txt", trial.path("link")).unwrap();
    let (words, is_error) = trial.say("remove", json!({ "path": "link" })).await;
    assert_eq!((words.as_str(), is_error), ("Removed 'link'.", false));
    assert_eq!(trial.get("a.txt").as_deref(), Some("a"));
    trial.say("remove", json!({ "path": "a.txt" })).await;
    assert_eq!(trial.get("a.txt"), None);
    let (words, is_error) = trial.say("remove", json!({ "path": "a.txt" })).await;
    assert!(is_error && words.contains("There is no file"));
}

#[tokio::test]
async fn a_folder_goes_when_that_is_meant() {
    let trial = TestWorkspace::new();
    trial.put("folder/deep/a.txt", "aaaa");
    std::os::unix::fs::symlink(trial.outside(""), trial.path("folder/out")).unwrap();
    std::fs::write(trial.outside("kept"), "x").unwrap();
    let (words, is_error) = trial.say("remove", json!({ "path": "folder" })).await;
    assert!(is_error && words.contains("set recursive"), "{words}");
    let args = json!({ "path": "folder", "recursive": true });
    let preview = entry("remove").effect_hooks.unwrap().preview;
    let seen = preview(&trial.work("remove", args.clone()), &trial.env).preview;
    for part in [
        "3 files, 4 bytes",
        "folder/deep/a.txt (4 bytes)",
        "folder/out",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    let (words, is_error) = trial.say("remove", args).await;
    assert!(!is_error, "{words}");
    assert!(!trial.path("folder").exists());
    assert!(trial.outside("kept").exists());
}

#[tokio::test]
async fn a_folder_that_holds_something_protected_stays() {
    let trial = TestWorkspace::new();
    trial.put("repo/.git/config", "x");
    trial.put("repo/a.txt", "a");
    let (words, is_error) = trial
        .say("remove", json!({ "path": "repo", "recursive": true }))
        .await;
    assert!(is_error && words.contains("is protected"), "{words}");
    assert!(trial.path("repo/a.txt").exists());
}
