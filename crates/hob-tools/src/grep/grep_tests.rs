//! Lines found, and files left out.

use crate::trial::TestWorkspace;
use serde_json::json;

#[tokio::test]
async fn lines_are_found_with_their_places() {
    let trial = TestWorkspace::new();
    trial.put("a.rs", "fn one() {}\nfn two() {}\n");
    trial.put("src/b.txt", "before\nFN ONE\nafter\n");
    for (args, expected) in [
        (
            json!({ "pattern": "fn \\w+\\(" }),
            "a.rs:1:fn one() {}\na.rs:2:fn two() {}",
        ),
        (
            json!({ "pattern": "fn one", "ignoreCase": true }),
            "a.rs:1:fn one() {}\nsrc/b.txt:2:FN ONE",
        ),
        (
            json!({ "pattern": "one()", "literal": true }),
            "a.rs:1:fn one() {}",
        ),
        (
            json!({ "pattern": "ONE", "context": 1 }),
            "src/b.txt-1-before\nsrc/b.txt:2:FN ONE\nsrc/b.txt-3-after",
        ),
        (
            json!({ "pattern": "one", "ignoreCase": true, "glob": "*.txt" }),
            "src/b.txt:2:FN ONE",
        ),
        (
            json!({ "pattern": "one", "ignoreCase": true, "path": "src" }),
            "src/b.txt:2:FN ONE",
        ),
        (
            json!({ "pattern": "two", "path": "a.rs" }),
            "a.rs:2:fn two() {}",
        ),
        (json!({ "pattern": "nowhere" }), "No line matches."),
    ] {
        let (words, is_error) = trial.say("grep", args).await;
        assert!(!is_error, "{words}");
        assert_eq!(words, expected);
    }
    let (words, is_error) = trial.say("grep", json!({ "pattern": "a(" })).await;
    assert!(is_error && words.contains("set literal"), "{words}");
}

#[tokio::test]
async fn what_is_ignored_binary_or_a_link_is_left_out() {
    let trial = TestWorkspace::new();
    trial.put(".gitignore", "*.log\n/build\n!keep.log\n");
    trial.put("sub/.gitignore", "secret.txt\n");
    for path in [
        "x.log",
        "keep.log",
        "build/a",
        "sub/build/a",
        "sub/secret.txt",
        ".git/config",
    ] {
        trial.put(path, "needle\n");
    }
    trial.put("binary", b"needle\n\0needle\n");
    std::fs::write(trial.outside("a"), "needle\n").unwrap();
    std::os::unix::fs::symlink(trial.outside(""), trial.path("out")).unwrap();
    std::os::unix::fs::symlink(trial.outside("a"), trial.path("link")).unwrap();
    let (words, _) = trial.say("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(words, "keep.log:1:needle\nsub/build/a:1:needle");
    let (words, _) = trial
        .say("grep", json!({ "pattern": "needle", "path": "sub" }))
        .await;
    assert_eq!(words, "sub/build/a:1:needle");
}

#[tokio::test]
async fn answers_are_bounded() {
    let trial = TestWorkspace::new();
    trial.put("many", "needle\n".repeat(10_000));
    trial.put("long", format!("needle{}\n", "x".repeat(1_000_000)));
    let (words, _) = trial
        .say("grep", json!({ "pattern": "needle", "limit": 2_000 }))
        .await;
    assert!(words.len() < 140_000 && words.contains("there may be more"));
    let (words, _) = trial
        .say("grep", json!({ "pattern": "needle", "path": "long" }))
        .await;
    assert!(words.len() < 600 && words.ends_with('…'));
}

#[tokio::test]
async fn a_secret_is_masked_before_its_line_is_cut() {
    const KEY: &str = "sk-live-0123456789abcdef";
    let trial = TestWorkspace::with_secret(KEY);
    trial.put("short", format!("needle {KEY} end\n"));
    // A line is cut after 500 bytes.
    trial.put("long", format!("needle{}{KEY}\n", "x".repeat(480)));
    let (words, _) = trial.say("grep", json!({ "pattern": "needle" })).await;
    assert!(words.contains("short:1:needle [masked] end"), "{words}");
    assert!(
        words.contains("xxx[mas") && !words.contains("sk-"),
        "{words}"
    );
}
