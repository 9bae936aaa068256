//! The list of sessions: order, cursor, bounds.

use crate::support::{Home, named};
use hob_kit::clock::Clock;
use hob_store::StoreError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{SessionCreateParams, SessionListParams};
use serde_json::json;

#[tokio::test]
async fn the_list_is_recent_first_and_its_cursor_survives_writes() {
    let mut home = Home::new();
    // Each write gets a millisecond of its own; within one, the order is that of creation.
    home.clock = Clock::manual(1_000_000);
    let store = home.open();
    let tick = || home.clock.advance(1);
    for number in 0..12 {
        tick();
        let mut params = named(&format!("s{number:02}"));
        params.kind = Some(if number % 3 == 0 { "cron" } else { "main" }.to_owned());
        store.create_session(params).await.unwrap();
    }
    let page = |before: Option<String>, kind: Option<&str>| SessionListParams {
        kind: kind.map(ToOwned::to_owned),
        limit: Some(5),
        before,
        ..SessionListParams::default()
    };
    let keys = |sessions: &hob_wire::rooms::session::SessionListResult| {
        let keys = sessions.sessions.iter().map(|s| s.session_key.clone());
        keys.collect::<Vec<_>>()
    };
    let first = store.list_sessions(page(None, None)).await.unwrap();
    assert_eq!(keys(&first), ["s11", "s10", "s09", "s08", "s07"]);
    // One that was shown and one that was not are written to; a new one comes; one goes.
    tick();
    store.send("s11", "up").await;
    tick();
    store.send("s03", "up").await;
    tick();
    store.create("new").await;
    store
        .delete_session(&SessionRef::parse("s05"))
        .await
        .unwrap();
    let second = store.list_sessions(page(first.next, None)).await.unwrap();
    assert_eq!(keys(&second), ["s06", "s04", "s02", "s01", "s00"]);
    assert_eq!(second.next, None);
    let top = store.list_sessions(page(None, None)).await.unwrap();
    assert_eq!(keys(&top)[..3], ["new", "s03", "s11"]);

    let cron = store.list_sessions(page(None, Some("cron"))).await.unwrap();
    assert_eq!(keys(&cron), ["s03", "s09", "s06", "s00"]);
    let wrong = store
        .list_sessions(page(Some("nonsense".to_owned()), None))
        .await
        .unwrap_err();
    assert!(matches!(wrong, StoreError::Invalid(_)), "{wrong:?}");
    store.close().await;
}

#[tokio::test]
async fn a_list_of_heavy_sessions_stays_below_a_frame() {
    let home = Home::new();
    let store = home.open();
    for number in 0..80 {
        let params = SessionCreateParams {
            metadata: json!({ "m": "x".repeat(60_000) }).as_object().cloned(),
            ..named(&format!("s{number}"))
        };
        store.create_session(params).await.unwrap();
    }
    let mut before = None;
    let mut seen = 0;
    loop {
        let page = store
            .list_sessions(SessionListParams {
                limit: Some(500),
                before,
                ..SessionListParams::default()
            })
            .await
            .unwrap();
        let bytes = serde_json::to_vec(&page).unwrap().len();
        assert!(bytes <= hob_wire::limits::FRAME_BYTES_MAX / 2 + 1024);
        seen += page.sessions.len();
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, 80);
    store.close().await;
}

#[tokio::test]
async fn a_listing_can_be_limited_to_labels() {
    let home = Home::new();
    let store = home.open();
    for number in 0..9 {
        let params = SessionCreateParams {
            label: (number > 0).then(|| format!("l{}", number % 3)),
            ..named(&format!("s{number}"))
        };
        store.create_session(params).await.unwrap();
    }
    let list = async |labels: &[&str], before: Option<String>| {
        let params = SessionListParams {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            limit: Some(2),
            before,
            ..SessionListParams::default()
        };
        store.list_sessions(params).await
    };
    for (labels, expected) in [
        (&["l0"][..], vec!["s3", "s6"]),
        (&["l1"], vec!["s1", "s4", "s7"]),
        (&["l0", "l2"], vec!["s2", "s3", "s5", "s6", "s8"]),
        (&["none"], vec![]),
        (&["l1\"]"], vec![]),
    ] {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = list(labels, before).await.unwrap();
            found.extend(page.sessions.into_iter().map(|it| it.session_key));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        found.sort();
        assert_eq!(found, expected, "{labels:?}");
    }
    for wrong in [vec![""], vec!["l0"; 101]] {
        assert!(list(&wrong, None).await.is_err());
    }
    store.close().await;
}
