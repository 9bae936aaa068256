//! What a run did is undone, and what others did since is not.

use super::{UndoOutcome, undo};
use crate::trial::{TestWorkspace, entry, run, words};
use hob_store::Store;
use hob_wire::rooms::tool::ToolProbeResult;
use serde_json::{Value, json};

async fn act(trial: &TestWorkspace, number: usize, tool: &str, args: Value) {
    let work = trial.work_of_run(tool, &format!("c{number}"), args);
    let answer = trial.execute(work).await;
    assert!(!answer.is_error, "{}", words(&answer));
}

async fn undo_all(trial: &TestWorkspace, store: &Store) -> Vec<(String, UndoOutcome)> {
    let mut told = Vec::new();
    for change in store.changes(&run()).await.unwrap() {
        let former = store.previous_entry(&change).await.unwrap();
        told.push((change.path.clone(), undo(&change, &former, &trial.env)));
    }
    told
}

async fn busy_run(trial: &TestWorkspace) {
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

fn furnish(trial: &TestWorkspace) {
    trial.put("old.txt", "old");
    trial.put("moved.txt", "m");
    trial.put("gone/deep/b.bin", vec![7; 100_000]);
    trial.put("gone/c.txt", "c");
    std::os::unix::fs::symlink("c.txt", trial.path("gone/link")).unwrap();
}

#[tokio::test]
async fn everything_is_as_it_was() {
    let (trial, store) = TestWorkspace::with_store();
    furnish(&trial);
    let before = trial.snapshot("work");
    busy_run(&trial).await;
    assert_ne!(trial.snapshot("work"), before);
    for (path, undoing) in undo_all(&trial, &store).await {
        assert!(
            matches!(undoing, UndoOutcome::Restored { .. }),
            "{path}: {undoing:?}"
        );
    }
    assert_eq!(trial.snapshot("work"), before);
    for (path, undoing) in undo_all(&trial, &store).await {
        // A second time there is nothing left to do, or what is there is not the run's.
        assert!(
            !matches!(undoing, UndoOutcome::Restored { .. }),
            "{path}: {undoing:?}"
        );
    }
    assert_eq!(trial.snapshot("work"), before);
    store.close().await;
}

#[tokio::test]
async fn what_a_person_changed_since_is_left_alone() {
    let (trial, store) = TestWorkspace::with_store();
    furnish(&trial);
    busy_run(&trial).await;
    trial.put("old.txt", "a person's");
    trial.put("new/deep/theirs.txt", "a person's");
    trial.put("moved.txt", "a person's");
    let told = undo_all(&trial, &store).await;
    let kept: Vec<&str> = told
        .iter()
        .filter(|(_, undoing)| matches!(undoing, UndoOutcome::Kept { .. }))
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
    let (trial, store) = TestWorkspace::with_store();
    trial.put("a.txt", "before");
    let work = || {
        trial.work_of_run(
            "write",
            "c1",
            json!({ "path": "a.txt", "content": "after" }),
        )
    };
    let probe = || (entry("write").effect_hooks.unwrap().probe)(work(), trial.env.clone());
    assert_eq!(
        probe().await,
        ToolProbeResult::No,
        "nothing was kept, so it never began"
    );
    trial.execute(work()).await;
    assert!(matches!(probe().await, ToolProbeResult::Yes { .. }));
    // As a crash between keeping and writing leaves it.
    trial.put("a.txt", "before");
    assert_eq!(probe().await, ToolProbeResult::No);
    trial.put("a.txt", "somebody else's");
    assert!(matches!(probe().await, ToolProbeResult::Unknown { .. }));
    store.close().await;
}

#[tokio::test]
async fn a_run_changes_nothing_that_cannot_be_kept() {
    let trial = TestWorkspace::new();
    let work = trial.work_of_run("write", "c1", json!({ "path": "a.txt", "content": "x" }));
    let answer = trial.execute(work).await;
    assert!(answer.is_error && words(&answer).contains("stored for undo"));
    assert_eq!(trial.get("a.txt"), None);
}

/// Puts something else where a run moved something, and undoes the run.
async fn undo_after(
    from: &str,
    to: &str,
    since: impl FnOnce(&TestWorkspace),
) -> (TestWorkspace, UndoOutcome) {
    let (trial, store) = TestWorkspace::with_store();
    trial.put("a.txt", "ours");
    trial.put("folder/b.txt", "b");
    act(&trial, 1, "move", json!({ "from": from, "to": to })).await;
    since(&trial);
    let mut told = undo_all(&trial, &store).await;
    store.close().await;
    assert_eq!(told.len(), 1, "{told:?}");
    (trial, told.remove(0).1)
}

#[tokio::test]
async fn undoing_a_move_leaves_another_thing_at_its_place_alone() {
    let kept = |undoing: &UndoOutcome, name: &str| match undoing {
        UndoOutcome::Kept { reason } => assert!(reason.contains(name), "{reason}"),
        other => panic!("{name}: {other:?}"),
    };
    // Another file.
    let (trial, undoing) = undo_after("a.txt", "z.txt", |trial| {
        std::fs::remove_file(trial.path("z.txt")).unwrap();
        trial.put("z.txt", "theirs");
    })
    .await;
    kept(&undoing, "z.txt");
    assert!(!trial.path("a.txt").exists());
    assert_eq!(std::fs::read(trial.path("z.txt")).unwrap(), b"theirs");
    // The same file, changed by a person.
    let (trial, undoing) = undo_after("a.txt", "z.txt", |trial| trial.put("z.txt", "edited")).await;
    kept(&undoing, "z.txt");
    assert!(!trial.path("a.txt").exists());
    // A folder in its place, and a folder of the same name with other contents.
    let (trial, undoing) = undo_after("a.txt", "z.txt", |trial| {
        std::fs::remove_file(trial.path("z.txt")).unwrap();
        trial.put("z.txt/theirs", "x");
    })
    .await;
    kept(&undoing, "z.txt");
    assert!(!trial.path("a.txt").exists());
    let (trial, undoing) = undo_after("folder", "away", |trial| {
        // Kept elsewhere, so that its number on the disk is not given to the other.
        std::fs::rename(trial.path("away"), trial.path("kept")).unwrap();
        trial.put("away/theirs.txt", "x");
    })
    .await;
    kept(&undoing, "away");
    assert!(trial.path("away/theirs.txt").exists() && !trial.path("folder").exists());
}

#[tokio::test]
async fn undoing_a_move_knows_a_folder_that_was_filled_or_copied_since() {
    let restored = UndoOutcome::Restored { what: "moved back" };
    let (trial, undoing) = undo_after("folder", "away", |trial| {
        trial.put("away/new.txt", "a build made it");
    })
    .await;
    // It is the same folder: what came into it goes along.
    let is_known = crate::workspace_path::WorkspacePath::resolve(
        Some(&trial.around.path().join("work").display().to_string()),
        "folder",
        &trial.env,
    );
    // Where the file system says when a folder was made.
    if is_known.unwrap().identity().is_some() || trial.path("folder").exists() {
        assert_eq!(undoing, restored);
        assert!(trial.path("folder/new.txt").exists());
    }
    let (trial, undoing) = undo_after("folder", "away", |trial| {
        std::fs::rename(trial.path("away"), trial.path("kept")).unwrap();
        trial.put("away/b.txt", "b");
    })
    .await;
    assert_eq!(undoing, restored, "another folder that holds the same");
    assert!(trial.path("folder/b.txt").exists());
}

#[tokio::test]
async fn a_folder_moved_before_its_identity_was_recorded_is_left_alone() {
    let (trial, store) = TestWorkspace::with_store();
    trial.put("folder/b.txt", "b");
    act(&trial, 1, "move", json!({ "from": "folder", "to": "away" })).await;
    let mut change = store.changes(&run()).await.unwrap().remove(0);
    change.becomes = "folder".to_owned();
    let former = store.previous_entry(&change).await.unwrap();
    let UndoOutcome::Kept { reason } = undo(&change, &former, &trial.env) else {
        panic!("is kept");
    };
    assert!(
        reason.contains("'away' was moved by an older hob"),
        "{reason}"
    );
    assert!(trial.path("away/b.txt").exists());
    store.close().await;
}
