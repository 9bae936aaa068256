//! The log is trimmed to its bounds while work goes on.

use crate::store::{Store, StoreOptions};
use bytes::Bytes;
use hob_bus::{NewEvent, publisher};
use hob_core::retention::RetentionLimits;
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use std::time::{Duration, Instant};

fn open(folder: &tempfile::TempDir, clock: &Clock, limits: RetentionLimits) -> Store {
    // Nobody takes the events: the inbox is gone.
    let (publisher, _) = publisher();
    let options = StoreOptions {
        database: folder.path().join("hob.db"),
        clock: clock.clone(),
        randomness: Randomness::system(),
        publisher,
        had_database: false,
    };
    Store::open_with(options, limits).unwrap()
}

async fn append(store: &Store, count: u64) -> u64 {
    let mut last = 0;
    for _ in 0..count {
        let event = NewEvent {
            source: "test".into(),
            topic: "test.happened".into(),
            session: None,
            payload: Some(Bytes::from_static(b"{}")),
        };
        last = store.append_event(event).await.unwrap();
    }
    last
}

async fn wait_for_first(store: &Store, first: u64) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while store.event_log().bounds().first != first {
        assert!(
            Instant::now() < deadline,
            "{:?}",
            store.event_log().bounds()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_log_keeps_its_newest_rows() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::system();
    let limits = RetentionLimits {
        rows_max: 100,
        age_ms_max: u64::MAX,
    };
    let store = open(&folder, &clock, limits);
    let last = append(&store, 1_100).await;
    store.close().await;
    let store = open(&folder, &clock, limits);
    wait_for_first(&store, last - 99).await;
    let page = store.event_log().page(0, 500).await.unwrap();
    assert_eq!(page.first().map(|event| event.seq), Some(last - 99));
    assert_eq!(page.len(), 100);
    store.close().await;
    let store = open(&folder, &clock, limits);
    assert_eq!(store.event_log().bounds().first, last - 99);
    store.close().await;
}

#[tokio::test]
async fn old_events_go_and_numbers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000);
    let limits = RetentionLimits {
        rows_max: 1_000,
        age_ms_max: 500,
    };
    let store = open(&folder, &clock, limits);
    append(&store, 10).await;
    clock.advance(400);
    append(&store, 5).await;
    store.close().await;
    clock.advance(200);
    let store = open(&folder, &clock, limits);
    wait_for_first(&store, 11).await;
    clock.advance(120_000);
    append(&store, 1).await;
    wait_for_first(&store, 16).await;
    assert_eq!(append(&store, 1).await, 17);
    store.close().await;
}
