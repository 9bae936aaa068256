//! Large values: files that are there before their row and gone after it.

use super::rig::{keyed, reserve, run, step};
use crate::support::{Home, wait_for};
use hob_store::{NewMessage, NewRun, SpendingCeilings, StoreError};
use hob_wire::rooms::agent::{QueueMode, RunState};
use hob_wire::{MessageContent, Role};
use serde_json::{Value, json};

fn picture(byte: &str) -> Value {
    json!({ "images": [{ "mimeType": "image/png", "data": byte.repeat(200_000) }] })
}

fn pictured(session: &str, byte: &str) -> NewRun {
    NewRun {
        params: picture(byte),
        ..run(session, "what is this")
    }
}

#[tokio::test]
async fn large_values_are_files_and_come_back() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(pictured("s", "a")).await;
    // The same picture is the same file.
    let second = store.accept(pictured("t", "a")).await;
    let mut begin = step(&first, 0, RunState::Running);
    begin.journal = vec![json!(1), json!("y".repeat(70_000)), json!(3)];
    let journal = begin.journal.clone();
    store.write_step(begin).await.unwrap();
    assert_eq!(home.blobs(), 2);
    let remains = home.remains();
    store.close().await;
    for home in [home, remains] {
        let store = home.open();
        assert_eq!(store.run_params(&first.id).await.unwrap(), picture("a"));
        assert_eq!(store.run_params(&second.id).await.unwrap(), picture("a"));
        assert_eq!(store.journal(&first.id).await.unwrap(), journal);
        store.close().await;
        assert!(crate::support::verify(&home.database()).problems.is_empty());
        assert_eq!(home.blobs(), 2, "a start removes none that is in use");
    }
}

#[tokio::test]
async fn what_a_refused_write_made_is_removed() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(pictured("s", "a")).await;
    let refused = NewRun {
        mode: QueueMode::Reject,
        ..pictured("s", "b")
    };
    store.accept_run(refused).await.unwrap_err();
    let mut late = step(&first, 9, RunState::Running);
    late.journal = vec![picture("c")];
    store.write_step(late).await.unwrap_err();
    // One that is in use stays, though the same was refused.
    let refused = NewRun {
        mode: QueueMode::Reject,
        ..pictured("s", "a")
    };
    store.accept_run(refused).await.unwrap_err();
    wait_for("the sweep", || home.blobs() == 1).await;
    assert_eq!(store.run_params(&first.id).await.unwrap(), picture("a"));

    let again = NewRun {
        params: picture("d"),
        ..keyed("t", "x", "k")
    };
    store.accept(again.clone()).await;
    let again = NewRun {
        id: keyed("t", "x", "k").id,
        ..again
    };
    assert!(store.accept_run(again).await.unwrap().duplicate);
    store.close().await;
    assert_eq!(home.blobs(), 2);
}

#[tokio::test]
async fn a_write_that_breaks_a_rule_makes_no_file() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "x")).await;
    let heavy = || {
        let mut write = step(&run, 0, RunState::Running);
        write.journal = vec![picture("a")];
        write
    };
    let mut entry = heavy();
    entry.journal.push(json!("x".repeat(9_000_000)));
    let mut message = heavy();
    let text = MessageContent::Text("x".repeat(5_000_000));
    message.messages = vec![NewMessage::new(Role::User, text)];
    let mut event = heavy();
    event.events = vec![("run.tool", json!("x".repeat(9_000_000)))];
    let mut call = heavy();
    call.reserve = Some(reserve("", None, SpendingCeilings::default()));
    let mut answer = heavy();
    answer.summary.text = "x".repeat(5_000_000);
    for wrong in [entry, message, event, call, answer] {
        let error = store.write_step(wrong).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    }
    assert_eq!(home.blobs(), 0);
    store.close().await;
    let closed = store.write_step(heavy()).await.unwrap_err();
    assert_eq!(closed, StoreError::Closed);
    assert_eq!(home.blobs(), 0);
}

#[tokio::test]
async fn what_a_crash_left_is_removed_at_the_next_start() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(pictured("s", "a")).await;
    store.close().await;
    let blobs = home.file("blobs");
    std::fs::write(blobs.join("f".repeat(64)), "never named").unwrap();
    std::fs::write(blobs.join("new-1-7"), "half writ").unwrap();
    std::fs::write(blobs.join("a person's note"), "stays").unwrap();
    let store = home.open();
    wait_for("the sweep", || home.blobs() == 2).await;
    assert_eq!(store.run_params(&run.id).await.unwrap(), picture("a"));
    assert!(blobs.join("a person's note").exists());
    store.close().await;
}

#[tokio::test]
async fn a_damaged_or_missing_blob_is_named_and_the_store_goes_on() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(pictured("s", "a")).await;
    let file = std::fs::read_dir(home.file("blobs")).unwrap().next();
    let file = file.unwrap().unwrap().path();
    for damage in [true, false] {
        if damage {
            std::fs::write(&file, "rot").unwrap();
        } else {
            std::fs::remove_file(&file).unwrap();
        }
        let error = store.run_params(&first.id).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(&*file.to_string_lossy()));
    }
    store.accept(run("t", "still works")).await;
    store.close().await;
    let verdict = crate::support::verify(&home.database());
    assert_eq!(verdict.problems.len(), 1, "{:?}", verdict.problems);
}
