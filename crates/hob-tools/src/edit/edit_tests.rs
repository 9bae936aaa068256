//! Edits that fit, and edits that leave everything as it is.

use crate::trial::{TestWorkspace, entry};
use serde_json::{Value, json};

const TEXT: &str = "one\ntwo\ntwo\nthree\n";

async fn edited(args: Value) -> (String, bool, String) {
    let trial = TestWorkspace::new();
    trial.put("a.txt", TEXT);
    let mut args = args;
    args["path"] = json!("a.txt");
    let (words, is_error) = trial.say("edit", args).await;
    (words, is_error, trial.get("a.txt").unwrap())
}

#[tokio::test]
async fn texts_are_replaced() {
    for (args, expected) in [
        (
            json!({ "oldText": "one", "newText": "1" }),
            "1\ntwo\ntwo\nthree\n",
        ),
        (
            json!({ "oldText": "two", "newText": "2", "all": true }),
            "one\n2\n2\nthree\n",
        ),
        (
            json!({ "edits": [
                { "oldText": "one\ntwo", "newText": "a" },
                { "oldText": "a\ntwo", "newText": "b" },
            ] }),
            "b\nthree\n",
        ),
        (
            json!({ "patch": "@@ -3,2 +3,2 @@\n two\n-three\n+3\n" }),
            "one\ntwo\ntwo\n3\n",
        ),
    ] {
        let (words, is_error, text) = edited(args).await;
        assert!(!is_error, "{words}");
        assert_eq!(text, expected);
    }
}

#[tokio::test]
async fn all_of_it_applies_or_nothing() {
    for (args, told) in [
        (
            json!({ "oldText": "two", "newText": "2" }),
            "occurs 2 times",
        ),
        (
            json!({ "oldText": "four", "newText": "4" }),
            "is not in 'a.txt'",
        ),
        (json!({ "oldText": "", "newText": "4" }), "oldText is empty"),
        (json!({ "oldText": "one", "newText": "one" }), "as it is"),
        (json!({ "oldText": "one" }), "belong together"),
        (json!({}), "Give either"),
        (
            json!({ "oldText": "one", "newText": "1", "patch": "x" }),
            "Give either",
        ),
        (
            json!({ "edits": [
                { "oldText": "one", "newText": "1" },
                { "oldText": "nope", "newText": "2" },
            ] }),
            "Edit 2:",
        ),
        (
            json!({ "patch": "@@ -1,1 +1,1 @@\n-eins\n+1\n" }),
            "does not fit",
        ),
    ] {
        let (words, is_error, text) = edited(args).await;
        assert!(is_error && words.contains(told), "{words}");
        assert_eq!(text, TEXT);
    }
}

#[tokio::test]
async fn what_is_missing_or_no_text_is_not_edited() {
    let trial = TestWorkspace::new();
    trial.put("binary", [0xff, 0xfe]);
    let args = |path: &str| json!({ "path": path, "oldText": "a", "newText": "b" });
    assert!(
        trial
            .say("edit", args("binary"))
            .await
            .0
            .contains("is not text")
    );
    assert!(
        trial
            .say("edit", args("missing"))
            .await
            .0
            .contains("There is no file")
    );
}

#[tokio::test]
async fn what_changed_after_the_look_is_not_edited() {
    let trial = TestWorkspace::new();
    trial.put("a.txt", TEXT);
    let mut work = trial.work(
        "edit",
        json!({ "path": "a.txt", "oldText": "one", "newText": "1" }),
    );
    let preview = entry("edit").effect_hooks.unwrap().preview;
    let seen = preview(&work, &trial.env);
    assert!(seen.preview.contains("-one\n+1"), "{}", seen.preview);
    assert_eq!(seen.would_fail, None);
    work.state = Some(seen.state.clone());
    trial.put("a.txt", "one\nsomebody else's\n");
    assert_ne!(preview(&work, &trial.env).state, seen.state);
    let answer = trial.execute(work).await;
    assert!(
        answer.is_error && crate::trial::words(&answer).contains("after this call was approved")
    );
    assert_eq!(
        trial.get("a.txt").as_deref(),
        Some("one\nsomebody else's\n")
    );
}

#[tokio::test]
async fn a_text_that_was_masked_does_not_fit_and_the_reason_says_why() {
    const KEY: &str = "sk-live-0123456789abcdef";
    let trial = TestWorkspace::with_secret(KEY);
    let held = format!("name=a\nkey={KEY}\n");
    trial.put(".env", &held);
    for args in [
        json!({ "oldText": "name=a\nkey=[masked]", "newText": "name=b\nkey=[masked]" }),
        json!({ "patch": "@@ -1,2 +1,2 @@\n-name=a\n+name=b\n key=[masked]\n" }),
    ] {
        let mut args = args;
        args["path"] = json!(".env");
        let (words, is_error) = trial.say("edit", args).await;
        assert!(is_error && words.contains("holds a secret"), "{words}");
        assert_eq!(trial.get(".env").as_deref(), Some(held.as_str()));
    }
    let beside = json!({ "path": ".env", "oldText": "name=a", "newText": "name=b" });
    let (words, is_error) = trial.say("edit", beside).await;
    assert!(!is_error, "{words}");
    let expected = format!("name=b\nkey={KEY}\n");
    assert_eq!(trial.get(".env"), Some(expected));
}
