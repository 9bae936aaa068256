//! Topics: who is sent what, in which order, and how the order can be checked.

use super::wire::{Peer, SURFACES, Surface, number, text};
use crate::support::House;
use serde_json::{Value, json};

/// A service that emits `mill.ground` (logged), `mill.note` (logged) and `mill.dust` (volatile).
async fn mill(house: &House) -> Peer {
    let mut service = Peer::owner(house).await;
    let params = json!({
        "service": "mill",
        "events": ["mill.ground", "mill.note", "mill.dust"],
        "volatile": ["mill.dust"],
    });
    service.call("gateway.register", params).await;
    service
}

#[tokio::test]
async fn an_event_reaches_every_subscriber_once_and_nobody_else() {
    let house = House::start();
    let mut mill = mill(&house).await;
    let mut named = Peer::on(Surface::Ws, &house, &house.token()).await;
    named.subscribe(&["mill.ground"]).await;
    let mut wild = Peer::on(Surface::Unix, &house, &house.token()).await;
    wild.subscribe(&["mill.*", "mill.ground", "*"]).await;
    let mut other = Peer::on(Surface::Ws, &house, &house.token()).await;
    other.subscribe(&["mill.note", "session.*"]).await;
    let mut none = Peer::on(Surface::Unix, &house, &house.token()).await;
    let mut service = Peer::owner(&house).await;
    let params = json!({ "service": "baker", "subscriptions": ["mill.ground"] });
    service.call("gateway.register", params).await;
    mill.emit("mill.ground", json!({ "kilos": 3 })).await;
    for subscriber in [&mut named, &mut wild, &mut service] {
        let event = subscriber.event_of("mill.ground").await;
        assert_eq!(event["source"], "mill");
        assert_eq!(event["payload"], json!({ "kilos": 3 }));
        let rest = subscriber.settled().await;
        let again = rest
            .iter()
            .filter(|frame| frame["event"] == "mill.ground")
            .count();
        assert_eq!(again, 0, "delivered once");
    }
    other.assert_silent().await;
    none.assert_silent().await;
    mill.assert_silent().await;
}

#[tokio::test]
async fn wildcards_match_what_stands_below_them() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    let topics = [
        "walk.delta",
        "walk.tool.started",
        "walking.late",
        "run.walk",
    ];
    let params = json!({ "service": "runner", "events": topics });
    service.call("gateway.register", params).await;
    for (pattern, expected) in [
        ("walk.*", &["walk.delta", "walk.tool.started"][..]),
        ("walk.delta", &["walk.delta"]),
        ("walk.tool.*", &["walk.tool.started"]),
    ] {
        let mut subscriber = Peer::owner(&house).await;
        subscriber.subscribe(&[pattern]).await;
        for topic in topics {
            service.emit(topic, Value::Null).await;
        }
        service.settled().await;
        for topic in expected {
            assert_eq!(
                text(&subscriber.event().await, "event"),
                *topic,
                "{pattern}"
            );
        }
        subscriber.assert_silent().await;
    }
}

#[tokio::test]
async fn a_session_filter_takes_key_and_id() {
    let house = House::start();
    let mut writer = Peer::owner(&house).await;
    let mine = writer
        .call("session.create", json!({ "sessionKey": "chat:mine" }))
        .await;
    writer
        .call("session.create", json!({ "sessionKey": "chat:other" }))
        .await;
    for filter in ["chat:mine", &text(&mine, "id")] {
        for surface in SURFACES {
            let mut subscriber = Peer::on(surface, &house, &house.token()).await;
            let params = json!({ "events": ["session.*"], "sessionKey": filter });
            subscriber.call("gateway.subscribe", params).await;
            for (key, content) in [
                ("chat:other", "no"),
                ("chat:mine", "yes"),
                ("chat:other", "no"),
            ] {
                let params = json!({ "sessionKey": key, "content": content });
                writer.call("session.send", params).await;
            }
            let event = subscriber.event().await;
            assert_eq!(event["payload"]["sessionKey"], "chat:mine");
            assert_eq!(event["payload"]["content"], "yes");
            subscriber.assert_silent().await;
        }
    }
}

#[tokio::test]
async fn a_session_filter_reads_the_tag_of_outside_events() {
    let house = House::start();
    let mut mill = mill(&house).await;
    let mut subscriber = Peer::owner(&house).await;
    let params = json!({ "events": ["mill.*"], "sessionKey": "chat:mine" });
    subscriber.call("gateway.subscribe", params).await;
    mill.emit("mill.ground", json!({ "sessionKey": "chat:other" }))
        .await;
    mill.emit(
        "mill.ground",
        json!({ "deep": { "sessionKey": "chat:mine" } }),
    )
    .await;
    mill.emit("mill.ground", Value::Null).await;
    mill.emit("mill.ground", json!({ "sessionKey": "chat:mine", "n": 1 }))
        .await;
    mill.emit("mill.dust", json!({ "sessionId": "chat:mine", "n": 2 }))
        .await;
    mill.settled().await;
    assert_eq!(subscriber.event().await["payload"]["n"], 1);
    assert_eq!(subscriber.event().await["payload"]["n"], 2);
    subscriber.assert_silent().await;
}

#[tokio::test]
async fn prev_chains_over_what_matched_this_connection() {
    let house = House::start();
    let mut mill = mill(&house).await;
    let mut all = Peer::on(Surface::Ws, &house, &house.token()).await;
    all.subscribe(&["mill.*"]).await;
    let mut notes = Peer::on(Surface::Unix, &house, &house.token()).await;
    let began = notes.subscribe(&["mill.note"]).await;
    for topic in [
        "mill.note",
        "mill.ground",
        "mill.ground",
        "mill.note",
        "mill.ground",
        "mill.note",
    ] {
        mill.emit(topic, json!({ "topic": topic })).await;
    }
    let mut chain = Vec::new();
    for _ in 0..6 {
        chain.push(all.event().await);
    }
    let numbers: Vec<u64> = chain.iter().map(|event| number(event, "seq")).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(numbers[0] > began);
    assert_eq!(
        chain[0].get("prev"),
        Some(&Value::Null),
        "the first has no former one"
    );
    for pair in chain.windows(2) {
        assert_eq!(pair[1]["prev"], pair[0]["seq"]);
    }
    let mut former = Value::Null;
    for at in [0, 3, 5] {
        let event = notes.event().await;
        assert_eq!(
            event["seq"], chain[at]["seq"],
            "one event has one number for everyone"
        );
        assert_eq!(event["prev"], former);
        assert!(event.get("sub").is_none());
        former = event["seq"].clone();
    }
}

#[tokio::test]
async fn volatile_events_stand_between_logged_ones() {
    let house = House::start();
    let mut mill = mill(&house).await;
    for surface in SURFACES {
        let mut subscriber = Peer::on(surface, &house, &house.token()).await;
        subscriber.subscribe(&["mill.*"]).await;
        for topic in [
            "mill.ground",
            "mill.dust",
            "mill.dust",
            "mill.ground",
            "mill.dust",
        ] {
            mill.emit(topic, Value::Null).await;
            // One at a time: volatile events may overtake logged ones that wait for the disk.
            mill.settled().await;
            subscriber_saw(&mut subscriber, topic).await;
        }
    }
}

/// Takes the next event and checks its numbers against its kind.
async fn subscriber_saw(subscriber: &mut Peer, topic: &str) {
    let event = subscriber.event().await;
    assert_eq!(event["event"], topic);
    assert!(event["seq"].is_u64(), "{event}");
    if topic == "mill.dust" {
        assert!(event["sub"].as_u64() >= Some(1), "{event}");
        assert!(event.get("prev").is_none(), "{event}");
    } else {
        assert!(event.get("sub").is_none(), "{event}");
        assert!(event.get("prev").is_some(), "{event}");
    }
}

#[tokio::test]
async fn volatile_events_count_up_after_the_last_logged_one() {
    let house = House::start();
    let mut mill = mill(&house).await;
    let mut subscriber = Peer::owner(&house).await;
    subscriber.subscribe(&["mill.*"]).await;
    let mut last_logged = 0;
    for round in 0..2 {
        mill.emit("mill.ground", json!(round)).await;
        let logged = number(&subscriber.event_of("mill.ground").await, "seq");
        assert!(logged > last_logged);
        last_logged = logged;
        let mut last_sub = 0;
        for _ in 0..3 {
            mill.emit("mill.dust", Value::Null).await;
            let event = subscriber.event_of("mill.dust").await;
            assert_eq!(number(&event, "seq"), logged);
            // Volatile events of others take numbers too, so only growth is sure.
            assert!(number(&event, "sub") > last_sub, "{event}");
            last_sub = number(&event, "sub");
        }
    }
}

#[tokio::test]
async fn the_subscribe_answer_comes_before_the_first_event() {
    let house = House::start();
    let mut writer = Peer::owner(&house).await;
    writer
        .call("session.create", json!({ "sessionKey": "chat:order" }))
        .await;
    for surface in SURFACES {
        let mut subscriber = Peer::on(surface, &house, &house.token()).await;
        let id = subscriber
            .post("gateway.subscribe", json!({ "events": ["*"], "since": 0 }))
            .await;
        let first = subscriber.frame().await;
        assert_eq!(first["type"], "res", "{first}");
        assert_eq!(first["id"], id);
        assert!(first["payload"]["seq"].is_u64());
        assert_eq!(subscriber.frame().await["type"], "event");
    }
}

#[tokio::test]
async fn unsubscribing_ends_the_named_patterns_or_all() {
    let house = House::start();
    let mut mill = mill(&house).await;
    let mut subscriber = Peer::owner(&house).await;
    subscriber.subscribe(&["mill.ground", "mill.note"]).await;
    let left = subscriber
        .call("gateway.unsubscribe", json!({ "events": ["mill.ground"] }))
        .await;
    assert_eq!(left["remaining"], json!(["mill.note"]));
    mill.emit("mill.ground", Value::Null).await;
    mill.emit("mill.note", Value::Null).await;
    assert_eq!(subscriber.event().await["event"], "mill.note");
    let left = subscriber.call("gateway.unsubscribe", json!({})).await;
    assert_eq!(left["remaining"], json!([]));
    mill.emit("mill.note", Value::Null).await;
    mill.settled().await;
    subscriber.assert_silent().await;
}

#[tokio::test]
async fn only_a_service_emits_and_only_what_it_declared() {
    let house = House::start();
    let mut subscriber = Peer::owner(&house).await;
    subscriber.subscribe(&["*"]).await;
    let mut mill = mill(&house).await;
    let mut stranger = Peer::on(Surface::Unix, &house, &house.token()).await;
    for (peer, topics) in [
        (&mut stranger, ["mill.ground", "session.message"]),
        (&mut mill, ["mill.invented", "session.message"]),
    ] {
        for topic in topics {
            peer.emit(topic, json!({ "forged": true })).await;
            let refusal = peer.answer("unknown").await;
            assert_eq!(refusal["error"]["code"], "FORBIDDEN", "{topic}: {refusal}");
        }
    }
    // What an emitter calls itself or numbers is not believed.
    let lie = json!({
        "type": "event", "source": "sessions", "event": "mill.ground",
        "seq": 999_999_999, "prev": 3, "payload": { "forged": false },
    });
    mill.send(lie).await;
    let event = subscriber.event_of("mill.ground").await;
    assert_eq!(event["source"], "mill");
    assert_ne!(event["seq"], 999_999_999);
    let forged = subscriber.settled().await;
    let forged: Vec<_> = forged
        .iter()
        .filter(|f| f["payload"]["forged"] == true)
        .collect();
    assert!(forged.is_empty(), "{forged:?}");
}
