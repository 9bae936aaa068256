//! Sessions as an outside program sees them.

use super::http;
use super::wire::{Peer, SURFACES, number, text};
use crate::support::House;
use serde_json::{Value, json};

#[tokio::test]
async fn creating_again_returns_the_session_and_wipes_nothing() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    let params =
        json!({ "sessionKey": "chat:main", "kind": "main", "metadata": { "colour": "blue" } });
    let made = peer.call("session.create", params).await;
    assert_eq!(made["created"], true);
    assert_eq!(made["sessionKey"], "chat:main");
    assert_eq!(made["kind"], "main");
    assert_eq!(made["metadata"], json!({ "colour": "blue" }));
    assert_eq!(made["messages"], 0);
    let id = text(&made, "id");
    assert!(
        id.len() == 36 && id.as_bytes()[14] == b'7',
        "a UUIDv7: {id}"
    );
    peer.call(
        "session.send",
        json!({ "sessionKey": "chat:main", "content": "keep me" }),
    )
    .await;
    for surface in SURFACES {
        let mut other = Peer::on(surface, &house, &house.token()).await;
        let again = json!({ "sessionKey": "chat:main", "kind": "cron", "metadata": {} });
        let found = other.call("session.create", again).await;
        assert_eq!(found["created"], false);
        assert_eq!(text(&found, "id"), id);
        assert_eq!(found["kind"], "main", "nothing of it changed");
        assert_eq!(found["metadata"], json!({ "colour": "blue" }));
        assert_eq!(found["messages"], 1);
    }
    let body = r#"{"sessionKey":"chat:main"}"#;
    let answer = http::rpc(&house, &house.token(), "session.create", body).await;
    assert_eq!(
        (answer.status, answer.json()["created"].clone()),
        (200, json!(false))
    );
    let history = peer
        .call("session.history", json!({ "sessionKey": id }))
        .await;
    assert_eq!(history["messages"][0]["content"], "keep me");
}

#[tokio::test]
async fn one_key_created_at_once_by_many_is_one_session() {
    let house = House::start();
    let mut peers = Vec::new();
    for n in 0..10 {
        peers.push(Peer::on(SURFACES[n % 2], &house, &house.token()).await);
    }
    let mut watcher = Peer::owner(&house).await;
    watcher.subscribe(&["session.created"]).await;
    let mut ids = Vec::new();
    for peer in &mut peers {
        for _ in 0..5 {
            ids.push(
                peer.post("session.create", json!({ "sessionKey": "chat:race" }))
                    .await,
            );
        }
    }
    let mut created = 0;
    let mut found = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        let answer = peers[n / 5].answer(id).await;
        created += u32::from(answer["payload"]["created"] == true);
        found.push(text(&answer["payload"], "id"));
    }
    found.dedup();
    assert_eq!((created, found.len()), (1, 1));
    watcher.event().await;
    watcher.assert_silent().await;
}

#[tokio::test]
async fn key_and_id_are_accepted_everywhere() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    let keyed = peer
        .call("session.create", json!({ "sessionKey": "chat:both" }))
        .await;
    let unkeyed = peer
        .call("session.create", json!({ "parent": "chat:both" }))
        .await;
    assert_eq!(
        unkeyed["sessionKey"], unkeyed["id"],
        "without a key the id stands for it"
    );
    assert_eq!(unkeyed["parent"], keyed["id"]);
    for name in ["chat:both", &text(&keyed, "id"), &text(&unkeyed, "id")] {
        let named = |more: Value| {
            let mut params = json!({ "sessionKey": name });
            let more = more.as_object().expect("an object").clone();
            params.as_object_mut().expect("an object").extend(more);
            params
        };
        peer.call("session.get", named(json!({}))).await;
        peer.call("session.send", named(json!({ "content": "hi" })))
            .await;
        peer.call("session.history", named(json!({}))).await;
        peer.call("session.export", named(json!({}))).await;
        peer.call("session.label", named(json!({ "label": "a name" })))
            .await;
    }
    let parent = json!({ "parent": "chat:none" });
    peer.refused("NOT_FOUND", "session.create", parent).await;
    // A key that looks like an id would be two things at once.
    let id_like = json!({ "sessionKey": "0190c0de-0000-7000-8000-000000000000" });
    let error = peer
        .ask("session.create", id_like)
        .await
        .expect_err("it must be refused");
    assert!(
        error["code"] == "INVALID_PARAMS" || error["code"] == "NOT_FOUND",
        "{error}"
    );
    peer.call(
        "session.delete",
        json!({ "sessionKey": text(&unkeyed, "id") }),
    )
    .await;
    peer.call("session.delete", json!({ "sessionKey": "chat:both" }))
        .await;
}

#[tokio::test]
async fn deleting_takes_the_messages_and_frees_the_key() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    let made = peer
        .call("session.create", json!({ "sessionKey": "chat:gone" }))
        .await;
    for _ in 0..3 {
        peer.call(
            "session.send",
            json!({ "sessionKey": "chat:gone", "content": "x" }),
        )
        .await;
    }
    peer.subscribe(&["session.deleted"]).await;
    let deleted = peer
        .call("session.delete", json!({ "sessionKey": "chat:gone" }))
        .await;
    assert_eq!(deleted, json!({ "id": made["id"], "messages": 3 }));
    let event = peer.event_of("session.deleted").await;
    let expected = json!({ "sessionKey": "chat:gone", "sessionId": made["id"] });
    assert_eq!(event["payload"], expected);
    for name in ["chat:gone", &text(&made, "id")] {
        for method in [
            "session.get",
            "session.history",
            "session.export",
            "session.delete",
        ] {
            peer.refused("NOT_FOUND", method, json!({ "sessionKey": name }))
                .await;
        }
        let params = json!({ "sessionKey": name, "content": "x" });
        peer.refused("NOT_FOUND", "session.send", params).await;
    }
    let again = peer
        .call("session.create", json!({ "sessionKey": "chat:gone" }))
        .await;
    assert_eq!(again["created"], true);
    assert_ne!(again["id"], made["id"]);
    assert_eq!(again["messages"], 0);
    // A replay of the old log neither fails nor brings the messages back.
    let mut back = Peer::owner(&house).await;
    let end = back.subscribe_since(&["session.*"], 0).await;
    let mut last = 0;
    while last < end {
        let event = back.event().await;
        assert_eq!(event["prev"], last);
        last = number(&event, "seq");
    }
}

#[tokio::test]
async fn a_label_is_given_and_taken() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    peer.call(
        "session.create",
        json!({ "sessionKey": "chat:named", "label": "first" }),
    )
    .await;
    for label in [json!("Küche 🏠"), Value::Null] {
        let mut params = json!({ "sessionKey": "chat:named" });
        if !label.is_null() {
            params["label"] = label.clone();
        }
        let session = peer.call("session.label", params).await;
        assert_eq!(session["label"], label);
        let session = peer
            .call("session.get", json!({ "sessionKey": "chat:named" }))
            .await;
        assert_eq!(session["label"], label);
    }
    peer.refused(
        "NOT_FOUND",
        "session.label",
        json!({ "sessionKey": "none", "label": "x" }),
    )
    .await;
}

#[tokio::test]
async fn listing_pages_by_cursor_the_last_used_first() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    for n in 0..7 {
        let kind = if n % 2 == 0 { "main" } else { "cron" };
        let params = json!({ "sessionKey": format!("chat:{n}"), "kind": kind });
        peer.call("session.create", params).await;
    }
    // Use is told apart by the millisecond.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    peer.call(
        "session.send",
        json!({ "sessionKey": "chat:2", "content": "newest" }),
    )
    .await;
    let mut keys = Vec::new();
    let mut before = Value::Null;
    for page in 0.. {
        assert!(page < 10, "paging ends");
        let mut params = json!({ "limit": 3 });
        if !before.is_null() {
            params["before"] = before;
        }
        let listed = peer.call("session.list", params).await;
        keys.extend(session_keys(&listed));
        before = listed["next"].clone();
        if before.is_null() {
            break;
        }
    }
    assert_eq!(keys.first().map(String::as_str), Some("chat:2"));
    keys.sort();
    let expected: Vec<String> = (0..7).map(|n| format!("chat:{n}")).collect();
    assert_eq!(keys, expected, "each once");
    let crons = peer.call("session.list", json!({ "kind": "cron" })).await;
    assert_eq!(session_keys(&crons).len(), 3);
    let error = peer
        .ask("session.list", json!({ "before": "not a cursor" }))
        .await;
    assert_eq!(
        error.expect_err("it must be refused")["code"],
        "INVALID_PARAMS"
    );
}

fn session_keys(listed: &Value) -> Vec<String> {
    let sessions = listed["sessions"].as_array().expect("a list");
    sessions
        .iter()
        .map(|session| text(session, "sessionKey"))
        .collect()
}

#[tokio::test]
async fn params_that_do_not_fit_are_refused() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    peer.call("session.create", json!({ "sessionKey": "chat:strict" }))
        .await;
    for (method, params) in [
        ("session.get", json!({})),
        ("session.get", json!({ "sessionKey": 7 })),
        ("session.get", json!([])),
        ("session.get", json!("chat:strict")),
        (
            "session.get",
            json!({ "sessionKey": "chat:strict", "extra": 1 }),
        ),
        ("session.create", json!({ "sessionKey": "" })),
        (
            "session.create",
            json!({ "sessionKey": "x", "kind": "Not A Kind" }),
        ),
        (
            "session.create",
            json!({ "sessionKey": "x", "metadata": [1] }),
        ),
        ("session.send", json!({ "sessionKey": "chat:strict" })),
        (
            "session.send",
            json!({ "sessionKey": "chat:strict", "content": 7 }),
        ),
        (
            "session.send",
            json!({ "sessionKey": "chat:strict", "content": "x", "role": "ghost" }),
        ),
        (
            "session.send",
            json!({ "sessionKey": "chat:strict", "content": [{ "type": "odd" }] }),
        ),
        (
            "session.history",
            json!({ "sessionKey": "chat:strict", "limit": -1 }),
        ),
        ("session.list", json!({ "limit": "many" })),
    ] {
        peer.refused("INVALID_PARAMS", method, params.clone()).await;
        let answer = http::rpc(&house, &house.token(), method, &params.to_string()).await;
        assert_eq!(answer.status, 400, "{method} {params}: {answer:?}");
    }
    let session = peer
        .call("session.get", json!({ "sessionKey": "chat:strict" }))
        .await;
    assert_eq!(session["messages"], 0);
}

#[tokio::test]
async fn a_page_always_fits_a_frame() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    // Together well over a frame of 8 MiB.
    let heavy = "m".repeat(60 * 1024);
    let mut ids = Vec::new();
    for n in 0..150 {
        let key = format!("chat:{n}");
        let params = json!({ "sessionKey": key, "metadata": { "heavy": heavy } });
        ids.push(peer.post("session.create", params).await);
    }
    for id in ids {
        assert_eq!(peer.answer(&id).await["ok"], true);
    }
    let mut keys = Vec::new();
    let mut params = json!({ "limit": 500 });
    loop {
        let listed = peer.call("session.list", params.clone()).await;
        let page = session_keys(&listed);
        assert!(!page.is_empty());
        keys.extend(page);
        match listed["next"].as_str() {
            Some(next) => params["before"] = json!(next),
            None => break,
        }
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 150);
}
