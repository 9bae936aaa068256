//! What a run did is undone, and what others did since is not.

use super::{Undoing, undo};
use crate::trial::{Trial, entry, run, words};
use hob_store::Store;
use hob_wire::rooms::tool::Probed;
use serde_json::{Value, json};

async fn act(trial: &Trial, number: usize, tool: &str, args: Value) {
    let work = trial.work_of_run(tool, &format!("c{number}"), args);
    let answer = trial.execute(work).await;
    assert!(!answer.is_error, "{}", words(&answer));
}

async fn undo_all(trial: &Trial, store: &Store) -> Vec<(String, Undoing)> {
    let mut told = Vec::new();
    for change in store.changes(&run()).await.unwrap() {
        let former = store.former(&change).await.unwrap();
        told.push((change.path.clone(), undo(&change, &former, &trial.ground)));
    }
    told
}

async fn busy_run(trial: &Trial) {
    let acts = [
        ("write", json!({ "path": "new/deep/a.txt", "content": "a" })),
        ("write", json!({ "path": "old.txt", "content": "changed" })),
        (
            "edit",
            json!({ "path": "old.txt", "oldText": "changed", "newText": "again" }),
        ),
        (
            "move",
            json!({ "from": "moved.txt", "to": "elsewhere/m.txt" }),
        ),
        ("remove", json!({ "path": "gone", "recursive": true })),
        ("write", json!({ "path": "gone", "content": "now a file" })),
        ("remove", json!({ "path": "old.txt" })),
    ];
    for (number, (tool, args)) in acts.into_iter().enumerate() {
        act(trial, number, tool, args).await;
    }
}

fn furnish(trial: &Trial) {
    trial.put("old.txt", "old");
    trial.put("moved.txt", "m");
    trial.put("gone/deep/b.bin", vec![7; 100_000]);
    trial.put("gone/c.txt", "c");
    std::os::unix::fs::symlink("c.txt", trial.path("gone/link")).unwrap();
}

#[tokio::test]
async fn everything_is_as_it_was() {
    let (trial, store) = Trial::with_store();
    furnish(&trial);
    let before = trial.snapshot("work");
    busy_run(&trial).await;
    assert_ne!(trial.snapshot("work"), before);
    for (path, undoing) in undo_all(&trial, &store).await {
        assert!(
            matches!(undoing, Undoing::Restored { .. }),
            "{path}: {undoing:?}"
        );
    }
    assert_eq!(trial.snapshot("work"), before);
    for (path, undoing) in undo_all(&trial, &store).await {
        // A second time there is nothing left to do, or what is there is not the run's.
        assert!(
            !matches!(undoing, Undoing::Restored { .. }),
            "{path}: {undoing:?}"
        );
    }
    assert_eq!(trial.snapshot("work"), before);
    store.close().await;
}

#[tokio::test]
async fn what_a_person_changed_since_is_left_alone() {
    let (trial, store) = Trial::with_store();
    furnish(&trial);
    busy_run(&trial).await;
    trial.put("old.txt", "a person's");
    trial.put("new/deep/theirs.txt", "a person's");
    trial.put("moved.txt", "a person's");
    let told = undo_all(&trial, &store).await;
    let kept: Vec<&str> = told
        .iter()
        .filter(|(_, undoing)| matches!(undoing, Undoing::Kept { .. }))
        .map(|(path, _)| path.as_str())
        .collect();
    for path in ["old.txt", "new/deep", "new", "elsewhere/m.txt"] {
        assert!(kept.contains(&path), "{path}: {told:?}");
    }
    for path in ["old.txt", "new/deep/theirs.txt", "moved.txt"] {
        assert_eq!(trial.get(path).as_deref(), Some("a person's"));
    }
    assert_eq!(trial.get("elsewhere/m.txt").as_deref(), Some("m"));
    assert_eq!(trial.get("gone/c.txt").as_deref(), Some("c"));
    assert_eq!(trial.get("new/deep/a.txt"), None);
    store.close().await;
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_looked_up() {
    let (trial, store) = Trial::with_store();
    trial.put("a.txt", "before");
    let work = || {
        trial.work_of_run(
            "write",
            "c1",
            json!({ "path": "a.txt", "content": "after" }),
        )
    };
    let probe = || (entry("write").looks.unwrap().probe)(work(), trial.ground.clone());
    assert_eq!(
        probe().await,
        Probed::No,
        "nothing was kept, so it never began"
    );
    trial.execute(work()).await;
    assert!(matches!(probe().await, Probed::Yes { .. }));
    // As a crash between keeping and writing leaves it.
    trial.put("a.txt", "before");
    assert_eq!(probe().await, Probed::No);
    trial.put("a.txt", "somebody else's");
    assert!(matches!(probe().await, Probed::Unknown { .. }));
    store.close().await;
}

#[tokio::test]
async fn a_run_changes_nothing_that_cannot_be_kept() {
    let trial = Trial::new();
    let work = trial.work_of_run("write", "c1", json!({ "path": "a.txt", "content": "x" }));
    let answer = trial.execute(work).await;
    assert!(answer.is_error && words(&answer).contains("kept for undoing"));
    assert_eq!(trial.get("a.txt"), None);
}
