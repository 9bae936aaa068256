//! Messages of a session: added once, paged both ways, of one form wherever they are seen.

use super::http;
use super::wire::{Peer, SURFACES, Surface, number};
use crate::support::House;
use serde_json::{Value, json};

#[tokio::test]
async fn an_idempotency_key_makes_a_repeat_one_message() {
    let mut house = House::start();
    let params = json!({ "sessionKey": "chat:once", "content": "once", "idempotencyKey": "k-1" });
    let mut peer = Peer::owner(&house).await;
    peer.call("session.create", json!({ "sessionKey": "chat:once" }))
        .await;
    let first = peer.call("session.send", params.clone()).await;
    assert_eq!(first["seq"], 1);
    for surface in SURFACES {
        let mut other = Peer::on(surface, &house, &house.token()).await;
        assert_eq!(other.call("session.send", params.clone()).await, first);
    }
    house.kill();
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    assert_eq!(
        peer.call("session.send", params.clone()).await,
        first,
        "it survives a restart"
    );
    let answer = http::rpc(&house, &house.token(), "session.send", &params.to_string()).await;
    assert_eq!(answer.json(), first);
    // All at once.
    let burst = json!({ "sessionKey": "chat:once", "content": "burst", "idempotencyKey": "k-2" });
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(peer.post("session.send", burst.clone()).await);
    }
    for id in ids {
        assert_eq!(peer.answer(&id).await["payload"]["seq"], 2);
    }
    // The same key for something else is a mistake that is told.
    let mut other = params.clone();
    other["content"] = json!("something else");
    peer.refused("CONFLICT", "session.send", other).await;
    // The key belongs to its session.
    peer.call("session.create", json!({ "sessionKey": "chat:else" }))
        .await;
    let elsewhere =
        json!({ "sessionKey": "chat:else", "content": "once", "idempotencyKey": "k-1" });
    let other = peer.call("session.send", elsewhere).await;
    assert_ne!(other["messageId"], first["messageId"]);
    let session = peer
        .call("session.get", json!({ "sessionKey": "chat:once" }))
        .await;
    assert_eq!(session["messages"], 2);
}

#[tokio::test]
async fn history_pages_back_and_export_forward() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    peer.call("session.create", json!({ "sessionKey": "chat:pages" }))
        .await;
    for n in 1..=25 {
        let params = json!({ "sessionKey": "chat:pages", "content": format!("m{n}") });
        assert_eq!(number(&peer.call("session.send", params).await, "seq"), n);
    }
    let mut reader = Peer::on(Surface::Unix, &house, &house.token()).await;
    let mut pages = Vec::new();
    let mut before = Value::Null;
    loop {
        let mut params = json!({ "sessionKey": "chat:pages", "limit": 10 });
        if !before.is_null() {
            params["before"] = before;
        }
        let page = reader.call("session.history", params).await;
        pages.push(sequence(&page));
        before = page["next"].clone();
        if before.is_null() {
            break;
        }
    }
    let expected: [Vec<u64>; 3] = [(16..=25).collect(), (6..=15).collect(), (1..=5).collect()];
    assert_eq!(pages, expected, "newest page first, each page oldest first");
    let mut all = Vec::new();
    let mut after = json!(0);
    while !after.is_null() {
        let params = json!({ "sessionKey": "chat:pages", "limit": 10, "after": after });
        let page = reader.call("session.export", params).await;
        all.extend(sequence(&page));
        after = page["next"].clone();
    }
    assert_eq!(all, (1..=25).collect::<Vec<u64>>());
    for limit in [0, 501] {
        // Out of range is brought into it or refused, never an endless or empty walk.
        let params = json!({ "sessionKey": "chat:pages", "limit": limit });
        if let Ok(page) = reader.ask("session.history", params).await {
            assert!(!sequence(&page).is_empty());
        }
    }
}

fn sequence(page: &Value) -> Vec<u64> {
    let messages = page["messages"].as_array().expect("a list");
    messages
        .iter()
        .map(|message| number(message, "seq"))
        .collect()
}

#[tokio::test]
async fn a_message_has_its_form_in_history_event_and_export() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    peer.subscribe(&["session.*"]).await;
    let made = peer
        .call(
            "session.create",
            json!({ "sessionKey": "chat:form", "kind": "main" }),
        )
        .await;
    let event = peer.event_of("session.created").await;
    assert_eq!(event["source"], "sessions");
    let expected = json!({ "sessionKey": "chat:form", "sessionId": made["id"], "kind": "main" });
    assert_eq!(event["payload"], expected);
    let parts = json!([{ "type": "text", "text": "seen" }, { "type": "image", "mimeType": "image/png", "data": "AA==" }]);
    for (role, content) in [
        (None, json!("plain")),
        (Some("assistant"), parts),
        (Some("system"), json!("")),
    ] {
        let mut params = json!({ "sessionKey": "chat:form", "content": content });
        if let Some(role) = role {
            params["role"] = json!(role);
        }
        let sent = peer.ask("session.send", params).await;
        // Whether an empty text is a message is the house's choice; the form is not.
        let Ok(sent) = sent else { continue };
        let event = peer.event_of("session.message").await;
        let payload = &event["payload"];
        assert_eq!(payload["id"], sent["messageId"]);
        assert_eq!(payload["seq"], sent["seq"]);
        assert_eq!(payload["role"], role.unwrap_or("user"));
        assert_eq!(payload["content"], content);
        assert_eq!(payload["sessionKey"], "chat:form");
        assert_eq!(payload["sessionId"], made["id"]);
        assert!(payload["at"].is_u64());
    }
    let printed = house.hob(&["session", "export", "chat:form"]).success();
    let exported: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("one JSON object a line"))
        .collect();
    let params = json!({ "sessionKey": "chat:form" });
    let history = peer.call("session.history", params).await;
    assert_eq!(json!(exported), history["messages"]);
    let keys: Vec<&String> = exported[0].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["id", "seq", "role", "content", "at"]);
    assert_eq!(exported[0]["content"], "plain");
}

#[tokio::test]
async fn what_is_sent_in_a_row_is_kept_in_that_order() {
    let house = House::start();
    for (key, surface) in [("chat:ws", Surface::Ws), ("chat:unix", Surface::Unix)] {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        peer.call("session.create", json!({ "sessionKey": key }))
            .await;
        let mut ids = Vec::new();
        for n in 1..=500 {
            let params = json!({ "sessionKey": key, "content": n.to_string() });
            ids.push(peer.post("session.send", params).await);
        }
        for (n, id) in (1_u64..).zip(ids) {
            assert_eq!(peer.answer(&id).await["payload"]["seq"], n);
        }
    }
}

#[tokio::test]
async fn large_messages_come_in_pages_that_fit_a_frame() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    peer.call("session.create", json!({ "sessionKey": "chat:heavy" }))
        .await;
    // Together over a frame of 8 MiB.
    let heavy = "h".repeat(2_300_000);
    for _ in 0..4 {
        let params = json!({ "sessionKey": "chat:heavy", "content": heavy });
        peer.call("session.send", params).await;
    }
    for (method, cursor, order) in [
        ("session.history", "before", [4, 3, 2, 1]),
        ("session.export", "after", [1, 2, 3, 4]),
    ] {
        let mut seen = Vec::new();
        let mut params = json!({ "sessionKey": "chat:heavy", "limit": 500 });
        loop {
            let page = peer.call(method, params.clone()).await;
            let mut page_of = sequence(&page);
            if method == "session.history" {
                page_of.reverse();
            }
            assert!(!page_of.is_empty());
            seen.extend(page_of);
            match page["next"].as_u64() {
                Some(next) => params[cursor] = json!(next),
                None => break,
            }
        }
        assert_eq!(seen, order, "{method}");
    }
    // Events of that size are delivered and replayed.
    let mut back = Peer::on(Surface::Unix, &house, &house.token()).await;
    back.subscribe_since(&["session.message"], 0).await;
    for _ in 0..4 {
        let event = back.event().await;
        assert_eq!(event["payload"]["content"], heavy);
    }
}
