//! Files written whole, and what stays as it is.

use crate::trial::TestWorkspace;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn a_file_is_made_with_its_folders_and_replaced_with_its_rights() {
    let trial = TestWorkspace::new();
    let (words, is_error) = trial
        .say("write", json!({ "path": "a/b/c.txt", "content": "one" }))
        .await;
    assert_eq!(
        (words.as_str(), is_error),
        ("Created 'a/b/c.txt' (3 bytes).", false)
    );
    assert_eq!(trial.get("a/b/c.txt").as_deref(), Some("one"));
    let rights = std::fs::Permissions::from_mode(0o750);
    std::fs::set_permissions(trial.path("a/b/c.txt"), rights).unwrap();
    let again = json!({ "path": "./a//b/c.txt", "content": "two" });
    assert_eq!(
        trial.say("write", again).await.0,
        "Wrote 'a/b/c.txt' (3 bytes)."
    );
    let found = std::fs::metadata(trial.path("a/b/c.txt")).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o750);
    assert_eq!(trial.get("a/b/c.txt").as_deref(), Some("two"));
    let left = std::fs::read_dir(trial.path("a/b")).unwrap().count();
    assert_eq!(left, 1, "no draft is left");
}

#[tokio::test]
async fn folders_links_and_what_is_too_large_are_refused() {
    let trial = TestWorkspace::new();
    trial.put("file", "x");
    std::fs::create_dir(trial.path("folder")).unwrap();
    std::os::unix::fs::symlink("file", trial.path("link")).unwrap();
    for (path, told) in [
        ("folder", "is a folder"),
        ("link", "is a link"),
        ("file/below", "is not a folder"),
        (".", "the workspace itself"),
        ("new/../../x", "not a path"),
    ] {
        let (words, is_error) = trial
            .say("write", json!({ "path": path, "content": "y" }))
            .await;
        assert!(is_error && words.contains(told), "{path}: {words}");
    }
    assert_eq!(trial.get("file").as_deref(), Some("x"));
    let file = std::fs::File::create(trial.path("large")).unwrap();
    file.set_len(64 * 1024 * 1024).unwrap();
    let (words, is_error) = trial
        .say("write", json!({ "path": "large", "content": "y" }))
        .await;
    assert!(
        is_error && words.contains("more than can be stored"),
        "{words}"
    );
}

#[tokio::test]
async fn a_mask_is_not_written_over_the_secret_it_stands_for() {
    const KEY: &str = "sk-live-0123456789abcdef";
    let trial = TestWorkspace::with_secret(KEY);
    let held = format!("name=a\nkey={KEY}\n");
    trial.put(".env", &held);
    let masked = json!({ "path": ".env", "content": "name=b\nkey=[masked]\n" });
    let (words, is_error) = trial.say("write", masked).await;
    assert!(is_error && words.contains("Use edit"), "{words}");
    assert_eq!(trial.get(".env").as_deref(), Some(held.as_str()));
    for (path, content) in [
        // Meant, because nothing stands for the secret in it.
        (".env", "name=b\n"),
        // No secret is lost.
        ("docs.md", "secrets are shown as [masked]\n"),
        ("docs.md", "secrets are shown as [masked], [masked]\n"),
    ] {
        let args = json!({ "path": path, "content": content });
        let (words, is_error) = trial.say("write", args).await;
        assert!(!is_error, "{words}");
        assert_eq!(trial.get(path).as_deref(), Some(content));
    }
}
