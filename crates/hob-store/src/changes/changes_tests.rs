//! What is kept comes back; old runs go as a whole, with their files.

use super::record::{AGE_MS_MAX, RUN_BYTES_MAX};
use super::{NewFileChange, PreviousEntry};
use crate::{Store, StoreError, StoreOptions};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_wire::RunId;
use std::path::Path;

struct House {
    folder: tempfile::TempDir,
    clock: Clock,
    store: Store,
}

fn house() -> House {
    let folder = tempfile::tempdir().unwrap();
    let (publisher, _) = hob_bus::publisher();
    let clock = Clock::manual(1_000_000);
    let store = Store::open(StoreOptions {
        database: folder.path().join("hob.db"),
        clock: clock.clone(),
        randomness: Randomness::seeded(1),
        publisher,
        had_database: false,
    })
    .unwrap();
    House {
        folder,
        clock,
        store,
    }
}

fn run(number: u8) -> RunId {
    let id = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    id.parse().unwrap()
}

fn change(path: &str, former: PreviousEntry) -> NewFileChange {
    NewFileChange {
        workspace: "/w".to_owned(),
        path: path.to_owned(),
        former,
        becomes: "nothing".to_owned(),
    }
}

fn file(bytes: Vec<u8>) -> PreviousEntry {
    PreviousEntry::File { bytes, mode: 0o640 }
}

fn blobs(folder: &Path) -> usize {
    let listed = std::fs::read_dir(folder.join("blobs"));
    listed.map_or(0, Iterator::count)
}

#[tokio::test]
async fn what_is_kept_comes_back_newest_first() {
    let house = house();
    let formers = [
        PreviousEntry::Nothing,
        file(b"small".to_vec()),
        file(vec![7; 100_000]),
        PreviousEntry::Link {
            target: b"a/b".to_vec(),
        },
        PreviousEntry::Folder { mode: 0o750 },
        PreviousEntry::Moved {
            from: "old.txt".to_owned(),
        },
    ];
    let changes = formers.iter().enumerate();
    let changes = changes.map(|(at, former)| change(&at.to_string(), former.clone()));
    let kept = house
        .store
        .record_changes(&run(1), "c1", changes.collect())
        .await;
    kept.unwrap();
    let other = vec![change("other", PreviousEntry::Nothing)];
    let other = house.store.record_changes(&run(2), "c1", other).await;
    other.unwrap();
    let found = house.store.changes(&run(1)).await.unwrap();
    let paths: Vec<&str> = found.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["5", "4", "3", "2", "1", "0"]);
    for (change, former) in found.iter().rev().zip(&formers) {
        assert_eq!(house.store.previous_entry(change).await.unwrap(), *former);
        assert!(!change.is_undone);
    }
    assert_eq!(blobs(house.folder.path()), 1);
    let ids = vec![found[0].id];
    house.store.mark_changes_undone(ids).await.unwrap();
    let found = house.store.changes(&run(1)).await.unwrap();
    assert!(found[0].is_undone && !found[1].is_undone);
    house.store.close().await;
    let verified = Store::verify(&house.folder.path().join("hob.db"), &mut |_, _| {}).unwrap();
    assert!(verified.sound, "{verified:?}");
}

#[tokio::test]
async fn an_old_run_is_forgotten_with_its_files_when_another_changes_something() {
    let house = house();
    let large = vec![change("a", file(vec![1; 100_000]))];
    let kept = house.store.record_changes(&run(1), "c1", large).await;
    kept.unwrap();
    house.clock.advance(AGE_MS_MAX + 1);
    let next = vec![change("b", PreviousEntry::Nothing)];
    let next = house.store.record_changes(&run(2), "c1", next).await;
    next.unwrap();
    assert!(house.store.changes(&run(1)).await.unwrap().is_empty());
    assert_eq!(house.store.changes(&run(2)).await.unwrap().len(), 1);
    // Files go right after the commit, on the writer's thread; a second write comes after that.
    house.store.mark_changes_undone(Vec::new()).await.unwrap();
    assert_eq!(blobs(house.folder.path()), 0);
    house.store.close().await;
}

#[tokio::test]
async fn a_run_that_changes_too_much_is_refused_and_leaves_no_file() {
    let house = house();
    let piece = usize::try_from(RUN_BYTES_MAX / 2 + 1).unwrap();
    let first = vec![change("a", file(vec![1; piece]))];
    let first = house.store.record_changes(&run(1), "c1", first).await;
    first.unwrap();
    let second = vec![change("b", file(vec![2; piece]))];
    let second = house.store.record_changes(&run(1), "c2", second).await;
    assert!(matches!(second, Err(StoreError::Invalid(_))), "{second:?}");
    assert_eq!(house.store.changes(&run(1)).await.unwrap().len(), 1);
    house.store.close().await;
}

#[tokio::test]
async fn a_call_with_too_many_changes_is_refused() {
    let house = house();
    let many = (0..5_000).map(|at| change(&at.to_string(), PreviousEntry::Nothing));
    let refused = house
        .store
        .record_changes(&run(1), "c1", many.collect())
        .await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))));
    house.store.close().await;
}
