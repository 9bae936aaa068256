//! Patterns of paths.

use crate::trial::TestWorkspace;
use serde_json::json;

fn furnished() -> TestWorkspace {
    let trial = TestWorkspace::new();
    for path in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/d.txt",
        "target/e.rs",
        ".git/f.rs",
        ".github/g.rs",
    ] {
        trial.put(path, "x");
    }
    trial.put(".gitignore", "target/\n");
    trial
}

#[tokio::test]
async fn paths_fit_or_do_not() {
    let trial = furnished();
    for (args, expected) in [
        (
            json!({ "pattern": "*.rs" }),
            ".github/g.rs\na.rs\nsrc/b.rs\nsrc/deep/c.rs",
        ),
        (json!({ "pattern": "src/*.rs" }), "src/b.rs"),
        (
            json!({ "pattern": "src/**/*.{rs,txt}" }),
            "src/b.rs\nsrc/d.txt\nsrc/deep/c.rs",
        ),
        (
            json!({ "pattern": "*.rs", "path": "src" }),
            "src/b.rs\nsrc/deep/c.rs",
        ),
        (
            json!({ "pattern": "deep/*", "path": "./src/" }),
            "src/deep/c.rs",
        ),
        (json!({ "pattern": "*.zig" }), "No file matches."),
    ] {
        let (words, is_error) = trial.say("glob", args).await;
        assert!(!is_error, "{words}");
        assert_eq!(words, expected);
    }
    let (words, _) = trial
        .say("glob", json!({ "pattern": "*.rs", "limit": 2 }))
        .await;
    assert!(words.contains("the first 2; there are more"), "{words}");
    assert!(trial.say("glob", json!({ "pattern": "a[" })).await.1);
}
