//! Folders listed.

use crate::trial::TestWorkspace;
use serde_json::json;

#[tokio::test]
async fn a_folder_is_listed_by_kind_and_size() {
    let trial = TestWorkspace::new();
    trial.put("b.txt", "12345");
    trial.put("a/x", "");
    trial.put("c\nd", "");
    std::os::unix::fs::symlink("b.txt", trial.path("link")).unwrap();
    let (words, is_error) = trial.say("list", json!({})).await;
    assert_eq!(
        (words.as_str(), is_error),
        ("a/\nb.txt\t5\nc\\nd\t0\nlink@", false)
    );
    assert_eq!(trial.say("list", json!({ "path": "a" })).await.0, "x\t0");
    assert!(trial.say("list", json!({ "path": "b.txt" })).await.1);
}

#[tokio::test]
async fn a_huge_folder_is_cut() {
    let trial = TestWorkspace::new();
    for number in 0..2_100 {
        trial.put(&format!("{number:05}"), "");
    }
    let (words, _) = trial.say("list", json!({ "path": "." })).await;
    assert!(
        words.ends_with("(and 100 more)"),
        "{}",
        &words[words.len() - 60..]
    );
}
