//! The event log: replay, payloads rebuilt, rows gone, numbers never given twice.

use crate::support::{Home, Open};
use bytes::Bytes;
use hob_bus::{NewEvent, SessionTag};
use hob_wire::id::SessionRef;

fn outside(topic: &str, payload: Option<&str>, session: Option<SessionTag>) -> NewEvent {
    NewEvent {
        source: "echo".into(),
        topic: topic.into(),
        session,
        payload: payload.map(|json| Bytes::copy_from_slice(json.as_bytes())),
    }
}

async fn busy_log(store: &Open) {
    store.create("a").await;
    store.create("b").await;
    store.send("a", "one").await;
    store.send("b", "two").await;
    let tag = SessionTag {
        id: "no-such-id".into(),
        key: Some("a".into()),
    };
    let events = [
        outside("echo.said", Some(r#"{"n":1}"#), Some(tag)),
        outside("echo.silent", None, None),
    ];
    for event in events {
        store.append_event(event).await.unwrap();
    }
    store.send("a", "three").await;
}

#[tokio::test]
async fn replay_is_what_was_published() {
    let home = Home::new();
    let store = home.open();
    busy_log(&store).await;
    let published = store.published_at_least(7).await;
    assert_eq!(published.len(), 7);
    for limit in [1, 2, 3, 100] {
        assert_eq!(store.replay(0, limit).await, published, "pages of {limit}");
    }
    assert_eq!(store.replay(4, 100).await, published[4..]);
    assert!(store.replay(7, 100).await.is_empty());
    let bounds = store.event_log().bounds();
    assert_eq!((bounds.first, bounds.last), (1, 7));
    store.close().await;

    let store = home.open();
    assert_eq!(store.replay(0, 100).await, published, "after a restart");
    store.close().await;
}

#[tokio::test]
async fn events_of_a_deleted_session_are_left_out() {
    let home = Home::new();
    let store = home.open();
    busy_log(&store).await;
    store.delete_session(&SessionRef::parse("a")).await.unwrap();
    // Rows of the new session take numbers the deleted ones had; no event may show them.
    store.create("c").await;
    store.send("c", "new").await;
    let topics = store
        .replay(0, 2)
        .await
        .iter()
        .map(|event| {
            let key = event.session.as_ref().and_then(|tag| tag.key.as_deref());
            format!("{} {} {}", event.seq, event.topic, key.unwrap_or("-"))
        })
        .collect::<Vec<_>>();
    assert_eq!(
        topics,
        [
            "2 session.created b",
            "4 session.message b",
            "5 echo.said a",
            "6 echo.silent -",
            "8 session.deleted a",
            "9 session.created c",
            "10 session.message c",
        ]
    );
    store.close().await;
}

#[tokio::test]
async fn an_empty_page_means_the_end_even_after_many_left_out() {
    let home = Home::new();
    let store = home.open();
    store.create("gone").await;
    for number in 0..60 {
        store.send("gone", &number.to_string()).await;
    }
    store
        .delete_session(&SessionRef::parse("gone"))
        .await
        .unwrap();
    let page = store.event_log().page(0, 3).await.unwrap();
    assert_eq!(page.len(), 1);
    assert_eq!(&*page[0].topic, "session.deleted");
    store.close().await;
}

#[tokio::test]
async fn large_payloads_make_short_pages() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let text = "x".repeat(2_500_000);
    for _ in 0..4 {
        store.send("s", &text).await;
    }
    let page = store.event_log().page(0, 100).await.unwrap();
    assert!(page.len() < 5, "{} events", page.len());
    assert_eq!(store.replay(0, 100).await.len(), 5);
    store.close().await;
}

#[tokio::test]
async fn numbers_go_on_after_a_restart_and_after_a_loss() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    for _ in 0..9 {
        store.send("s", "x").await;
    }
    let remains = home.remains();
    store.close().await;
    let store = home.open();
    let next = store.append_event(outside("t", None, None)).await.unwrap();
    assert_eq!(next, 11);
    store.close().await;

    // The log is lost, and with it the rows of numbers that were already shown to others.
    std::fs::write(remains.file("hob.db-wal"), "").unwrap();
    let store = remains.open();
    assert!(!store.status().findings.is_empty());
    let next = store.append_event(outside("t", None, None)).await.unwrap();
    assert_eq!(next, 11, "no number is given twice");
    let bounds = store.event_log().bounds();
    assert_eq!(bounds.last, 11);
    store.close().await;
    let store = remains.open();
    let next = store.append_event(outside("t", None, None)).await.unwrap();
    assert_eq!(next, 12);
    store.close().await;
}

#[tokio::test]
async fn a_cursor_into_a_history_that_was_restored_away_is_noticed() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    store.send("s", "both know this").await;
    let older = home.remains();
    let first = store.event_log().id();
    for _ in 0..5 {
        store.send("s", "lost later").await;
    }
    store.close().await;
    let store = home.open();
    let second = store.event_log().id();
    assert_ne!(first, second, "each start has an id of its own");
    let log = store.event_log();
    assert_eq!(
        log.shared_until(&first),
        Some(7),
        "nothing is lost by a restart"
    );
    assert_eq!(log.shared_until(&second), Some(u64::MAX));
    store.send("s", "lost later, too").await;
    store.close().await;

    // All files are the older ones, so nothing in the home knows; the client's cursor does.
    let store = older.open();
    let log = store.event_log();
    assert_eq!(log.shared_until(&first), Some(2));
    assert_eq!(log.shared_until(&second), None);
    for _ in 0..20 {
        store.send("s", "another history").await;
    }
    assert_eq!(
        log.shared_until(&first),
        Some(2),
        "also when numbers passed it"
    );
    store.close().await;
}
