//! Nothing logged is lost or repeated for a subscriber that comes back with its cursor, whatever
//! ended the daemon in between.

use super::wire::{DEADLINE, Peer, SURFACES, Surface, number, text};
use crate::support::House;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn since_replays_what_was_logged_after_it() {
    let house = House::start();
    let mut writer = Peer::owner(&house).await;
    writer
        .call("session.create", json!({ "sessionKey": "chat:replay" }))
        .await;
    let mut live = Peer::owner(&house).await;
    live.subscribe(&["session.message"]).await;
    send_numbered(&mut writer, "chat:replay", 0..20).await;
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.push(live.event().await);
    }
    for surface in SURFACES {
        for at in [0, 7, 19] {
            let cursor = number(&seen[at], "seq");
            let mut back = Peer::on(surface, &house, &house.token()).await;
            let last = back.subscribe_since(&["session.message"], cursor).await;
            assert_eq!(last, number(&seen[19], "seq"));
            let mut former = cursor;
            for expected in &seen[at + 1..] {
                let event = back.event().await;
                assert_eq!(event["prev"], former, "the first after a cursor follows it");
                assert_eq!(event["seq"], expected["seq"]);
                assert_eq!(event["payload"], expected["payload"], "rebuilt as it was");
                former = number(&event, "seq");
            }
            back.assert_silent().await;
        }
    }
}

#[tokio::test]
async fn since_joins_replay_and_live_without_a_seam() {
    let house = House::start();
    let mut writer = Peer::owner(&house).await;
    writer
        .call("session.create", json!({ "sessionKey": "chat:seam" }))
        .await;
    send_numbered(&mut writer, "chat:seam", 0..300).await;
    let mut back = Peer::on(Surface::Unix, &house, &house.token()).await;
    let params = json!({ "events": ["session.*"], "since": 0 });
    let id = back.post("gateway.subscribe", params).await;
    // More is written while the replay runs.
    send_numbered(&mut writer, "chat:seam", 300..400).await;
    assert_eq!(back.answer(&id).await["ok"], true);
    let created = back.event().await;
    assert_eq!(created["event"], "session.created");
    assert_eq!(created["prev"], 0, "the first after a cursor follows it");
    let mut former = number(&created, "seq");
    for n in 0..400 {
        let event = back.event().await;
        assert_eq!(event["payload"]["content"], n.to_string());
        assert_eq!(event["prev"], former);
        former = number(&event, "seq");
    }
    back.assert_silent().await;
}

#[tokio::test]
async fn a_subscriber_resumes_after_an_orderly_restart() {
    resumes_across(|house| {
        assert!(house.terminate().success());
    })
    .await;
}

#[tokio::test]
async fn a_subscriber_resumes_after_the_daemon_was_killed() {
    resumes_across(House::kill).await;
}

/// Writes, stops the daemon in the middle of a burst, and compares what a resuming subscriber saw
/// in all with what was acknowledged.
async fn resumes_across(stop: impl Fn(&mut House)) {
    let mut house = House::start();
    let mut cursor = 0;
    let mut seen: Vec<Value> = Vec::new();
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let mut writer = Peer::owner(&house).await;
        writer
            .call("session.create", json!({ "sessionKey": "chat:cut" }))
            .await;
        let mut subscriber = Peer::on(Surface::Unix, &house, &house.token()).await;
        let began = subscriber.subscribe_since(&["session.*"], cursor).await;
        assert!(began >= cursor, "numbers survive a restart");
        for n in 0..10 {
            let content = format!("{round}:{n}");
            let params = json!({ "sessionKey": "chat:cut", "content": content });
            writer.call("session.send", params).await;
            acknowledged.push(content);
        }
        // Some in flight without acknowledgement: each may be there or not, but never twice.
        for n in 10..20 {
            let params = json!({ "sessionKey": "chat:cut", "content": format!("{round}:{n}") });
            writer.post("session.send", params).await;
        }
        for _ in 0..=round {
            take(&mut subscriber, &mut seen, &mut cursor).await;
        }
        stop(&mut house);
        house.start_daemon();
    }
    let mut last = Peer::owner(&house).await;
    let end = last.subscribe_since(&["session.*"], cursor).await;
    while cursor < end {
        take(&mut last, &mut seen, &mut cursor).await;
    }
    last.assert_silent().await;
    assert_saw_everything_once(&mut last, &seen, &acknowledged).await;
}

/// Takes one event, checks that it follows the cursor, and moves it.
async fn take(subscriber: &mut Peer, seen: &mut Vec<Value>, cursor: &mut u64) {
    let event = subscriber.event().await;
    assert_eq!(event["prev"], *cursor, "the chain is unbroken: {event}");
    *cursor = number(&event, "seq");
    seen.push(event);
}

async fn assert_saw_everything_once(peer: &mut Peer, seen: &[Value], acknowledged: &[String]) {
    let messages: Vec<String> = seen
        .iter()
        .filter(|event| event["event"] == "session.message")
        .map(|event| text(&event["payload"], "content"))
        .collect();
    for content in acknowledged {
        let times = messages.iter().filter(|seen| *seen == content).count();
        assert_eq!(times, 1, "{content} in {messages:?}");
    }
    // The events tell exactly what the session holds, in its order.
    let params = json!({ "sessionKey": "chat:cut", "limit": 500 });
    let history = peer.call("session.export", params).await;
    let held = history["messages"].as_array().expect("a list");
    let held: Vec<String> = held
        .iter()
        .map(|message| text(message, "content"))
        .collect();
    assert_eq!(messages, held);
}

#[tokio::test]
async fn outside_events_are_logged_with_their_payload() {
    let mut house = House::start();
    let mut service = Peer::owner(&house).await;
    let register = json!({ "service": "mill", "events": ["mill.ground"] });
    service.call("gateway.register", register).await;
    let began = service.subscribe(&["mill.*"]).await;
    let payload = json!({ "kilos": 3, "note": "line\nbreak", "deep": [[{}]] });
    service.emit("mill.ground", payload.clone()).await;
    // Once it was fanned out it is on disk.
    service.event().await;
    house.kill();
    house.start_daemon();
    let mut back = Peer::owner(&house).await;
    back.subscribe_since(&["mill.*"], began).await;
    let event = back.event().await;
    assert_eq!(event["source"], "mill");
    assert_eq!(event["payload"], payload);
}

#[tokio::test]
async fn since_needs_a_connection_without_subscriptions() {
    let house = House::start();
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        peer.subscribe(&["session.*"]).await;
        let params = json!({ "events": ["config.*"], "since": 0 });
        peer.refused("CONFLICT", "gateway.subscribe", params.clone())
            .await;
        peer.call("gateway.unsubscribe", json!({})).await;
        peer.call("gateway.subscribe", params).await;
    }
}

async fn send_numbered(writer: &mut Peer, key: &str, numbers: std::ops::Range<u32>) {
    let mut ids = Vec::new();
    for n in numbers {
        let params = json!({ "sessionKey": key, "content": n.to_string() });
        ids.push(writer.post("session.send", params).await);
    }
    for id in ids {
        assert_eq!(writer.answer(&id).await["ok"], true);
    }
}

#[tokio::test]
async fn a_cursor_older_than_the_log_is_told_its_gap() {
    let mut house = House::start();
    let mut writer = Peer::owner(&house).await;
    writer
        .call("session.create", json!({ "sessionKey": "chat:old" }))
        .await;
    send_numbered(&mut writer, "chat:old", 0..60).await;
    assert!(house.terminate().success());
    // From the next start on the log keeps the newest ten.
    let config = "[store]\nevents_max = 10\n";
    std::fs::write(house.home().join("config.toml"), config).expect("it is writable");
    house.start_daemon();
    wait_for_trim(&house).await;
    let mut back = Vec::new();
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        assert_eq!(peer.subscribe_since(&["session.message"], 3).await, 61);
        let gap = peer.event().await;
        assert_eq!(gap["event"], "gateway.gap", "the gap comes first");
        assert_eq!(
            gap["payload"],
            json!({ "from": 4, "to": 51, "reason": "expired" })
        );
        for seq in 52_u64..=61 {
            let event = peer.event().await;
            assert_eq!(
                (number(&event, "seq"), number(&event, "prev")),
                (seq, seq - 1)
            );
        }
        back.push(peer);
    }
    // The connections go on with what happens now.
    let mut writer = Peer::owner(&house).await;
    send_numbered(&mut writer, "chat:old", 60..61).await;
    for peer in &mut back {
        assert_eq!(peer.event().await["prev"], 61);
    }
    // A cursor the log still reaches misses nothing.
    let mut near = Peer::owner(&house).await;
    near.subscribe_since(&["session.*"], 60).await;
    assert_eq!(near.event().await["seq"], 61);
    // One from the future belongs to another log, of which this one knows nothing.
    let mut ahead = Peer::owner(&house).await;
    ahead.subscribe_since(&["session.*"], 1_000_000).await;
    let gap = ahead.event().await;
    assert_eq!(gap["event"], "gateway.gap", "{gap}");
    assert_eq!(gap["payload"]["reason"], "otherLog", "{gap}");
}

/// Waits until the log keeps no more than it should: events up to 51 are gone.
async fn wait_for_trim(house: &House) {
    let trimmed = async {
        loop {
            let mut peer = Peer::owner(house).await;
            peer.subscribe_since(&["session.*"], 3).await;
            let first = peer.event().await;
            if first["event"] == "gateway.gap" && first["payload"]["to"] == 51 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(DEADLINE, trimmed)
        .await
        .expect("the log is trimmed");
}
