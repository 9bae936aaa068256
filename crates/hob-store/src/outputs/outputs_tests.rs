//! What is kept comes back to its own session; the oldest goes, with its file.

use super::NewToolOutput;
use crate::{Store, StoreError, StoreOptions};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use std::io::Read;

fn house() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let (publisher, _) = hob_bus::publisher();
    let store = Store::open(StoreOptions {
        database: folder.path().join("hob.db"),
        clock: Clock::manual(1_000_000),
        randomness: Randomness::seeded(1),
        publisher,
        had_database: false,
    });
    (folder, store.unwrap())
}

fn new(session: Option<&str>) -> NewToolOutput {
    NewToolOutput {
        session: session.map(str::to_owned),
        run: None,
        tool: "exec".to_owned(),
        is_cut: true,
        total_bytes_max: 1_000,
    }
}

async fn text(store: &Store, id: i64, session: Option<&str>) -> Result<String, StoreError> {
    let mut text = String::new();
    let mut output = store.output(id, session).await?;
    output.file.read_to_string(&mut text).unwrap();
    assert_eq!(output.bytes, text.len() as u64);
    Ok(text)
}

fn files(folder: &tempfile::TempDir) -> usize {
    let listed = std::fs::read_dir(folder.path().join("blobs"));
    listed.map_or(0, Iterator::count)
}

#[tokio::test]
async fn an_output_is_read_by_its_own_session_only() {
    let (_folder, store) = house();
    let id = store.store_output(new(Some("a")), b"whole".to_vec()).await;
    let id = id.unwrap();
    assert_eq!(text(&store, id, Some("a")).await.unwrap(), "whole");
    for other in [Some("b"), None] {
        let refused = text(&store, id, other).await.unwrap_err();
        assert!(matches!(refused, StoreError::NotFound(_)));
    }
    let own = store
        .store_output(new(None), b"mine".to_vec())
        .await
        .unwrap();
    assert_eq!(text(&store, own, None).await.unwrap(), "mine");
    text(&store, own, Some("a")).await.unwrap_err();
    store.close().await;
}

#[tokio::test]
async fn a_draft_becomes_an_output_or_goes() {
    let (folder, store) = house();
    let draft = store.output_draft();
    std::fs::write(draft.path(), "grown").unwrap();
    let id = store
        .store_output_draft(new(Some("a")), draft)
        .await
        .unwrap();
    assert_eq!(text(&store, id, Some("a")).await.unwrap(), "grown");
    let dropped = store.output_draft();
    std::fs::write(dropped.path(), "dropped").unwrap();
    assert_eq!(files(&folder), 2);
    drop(dropped);
    assert_eq!(files(&folder), 1);
    store.close().await;
}

#[tokio::test]
async fn the_oldest_go_with_their_files() {
    let (folder, store) = house();
    let mut ids = Vec::new();
    for letter in b'a'..=b'e' {
        let kept = store.store_output(new(Some("a")), vec![letter; 400]).await;
        ids.push(kept.unwrap());
    }
    for id in &ids[..3] {
        text(&store, *id, Some("a")).await.unwrap_err();
    }
    for id in &ids[3..] {
        text(&store, *id, Some("a")).await.unwrap();
    }
    // Files go right after the commit; the writer needs a moment.
    for _ in 0..500 {
        if files(&folder) == 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(files(&folder), 2);
    store.close().await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test has no Tasks of its own")]
async fn a_caller_that_goes_away_leaves_its_blob_to_the_queued_command() {
    let (folder, store) = house();
    // The writer is kept busy, so that the command waits in its queue.
    let (go, wait) = std::sync::mpsc::sync_channel::<()>(1);
    let wait = std::sync::Mutex::new(wait);
    let is_busy = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let busy = {
        let (store, is_busy) = (store.clone(), is_busy.clone());
        tokio::spawn(async move {
            let held = store.write(0, move |_| {
                is_busy.store(true, std::sync::atomic::Ordering::SeqCst);
                let _ = wait.lock().unwrap().recv();
                Ok(())
            });
            held.await
        })
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !is_busy.load(std::sync::atomic::Ordering::SeqCst) {
        assert!(std::time::Instant::now() < deadline, "it never begins");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let keeping = {
        let store = store.clone();
        let keep = async move { store.store_output(new(None), b"pinned".to_vec()).await };
        tokio::spawn(keep)
    };
    while store.shared().queue.waiting_count() == 0 {
        assert!(std::time::Instant::now() < deadline, "it is never queued");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    keeping.abort();
    assert!(keeping.await.unwrap_err().is_cancelled());
    let hash = crate::blobs::BlobHash::of(b"pinned");
    store.shared().blobs.remove(hash);
    assert_eq!(files(&folder), 1, "its row is still on the way");
    go.send(()).unwrap();
    busy.await.unwrap().unwrap();
    // Commands are done in their order, so the row is there after this one.
    store.write(0, |_| Ok(())).await.unwrap();
    assert_eq!(text(&store, 1, None).await.unwrap(), "pinned");
}
