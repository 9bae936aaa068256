//! Peers that are there and yet not: half-open, or too slow for what they asked for. They cost
//! nobody else anything.

use super::wire::{Peer, Surface, number, ws_request};
use crate::support::House;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpSocket;

const MEBIBYTE: usize = 1024 * 1024;
/// Well over what the outbox (16 MiB) and the kernel's buffers take together.
const BURST: usize = 40;

#[tokio::test]
async fn a_peer_that_does_not_pong_is_closed() {
    let house = House::builder()
        .env("HOB_GATEWAY_PING_INTERVAL", "500ms")
        .start();
    let mut watcher = Peer::owner(&house).await;
    watcher.subscribe(&["service.disconnected"]).await;
    // Nobody reads this one from here on, so nobody answers its pings.
    let mut half_open = Peer::owner(&house).await;
    half_open.register("ghost", &["ghost.boo"]).await;
    let gone = watcher.event_of("service.disconnected").await;
    assert_eq!(gone["payload"]["service"], "ghost");
    watcher.refused("NO_HANDLER", "ghost.boo", json!({})).await;
    // The watcher outlived several intervals because it answers.
    watcher.settled().await;
}

#[tokio::test]
async fn a_peer_that_pongs_is_kept_however_quiet() {
    let house = House::builder()
        .env("HOB_GATEWAY_PING_INTERVAL", "200ms")
        .start();
    let mut quiet = Peer::owner(&house).await;
    quiet.subscribe(&["session.created"]).await;
    let mut by_socket = Peer::on(Surface::Unix, &house, &house.token()).await;
    by_socket.subscribe(&["session.created"]).await;
    let waiting = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut writer = Peer::owner(&house).await;
        writer.call("session.create", json!({})).await;
    };
    let ((), event) = tokio::join!(waiting, quiet.event());
    assert_eq!(event["event"], "session.created");
    assert_eq!(by_socket.event().await["event"], "session.created");
}

/// A subscriber to `mill.*` with small kernel buffers that nobody reads.
async fn sleeper(house: &House, surface: Surface) -> Peer {
    let mut peer = match surface {
        Surface::Unix => Peer::on(surface, house, &house.token()).await,
        Surface::Ws => {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket
                .set_recv_buffer_size(256 * 1024)
                .expect("a small buffer");
            let address = house.address().parse().expect("an address");
            let stream = socket.connect(address).await.expect("the port accepts");
            let request = ws_request(house, &house.token());
            Peer::ws_over(stream, request)
                .await
                .expect("the token is good")
        }
    };
    peer.subscribe(&["mill.*"]).await;
    peer
}

async fn mill(house: &House) -> Peer {
    let mut service = Peer::owner(house).await;
    let params = json!({
        "service": "mill", "events": ["mill.ground", "mill.dust"], "volatile": ["mill.dust"],
    });
    service.call("gateway.register", params).await;
    service
}

#[tokio::test]
async fn a_slow_consumer_is_told_its_gap_and_closed_and_may_resume() {
    let house = House::start();
    let mut mill = mill(&house).await;
    let mut slow = [
        sleeper(&house, Surface::Ws).await,
        sleeper(&house, Surface::Unix).await,
    ];
    let mut awake = Peer::owner(&house).await;
    let began = awake.subscribe(&["mill.ground"]).await;
    let filling = "x".repeat(MEBIBYTE);
    let mut all = Vec::new();
    for n in 0..BURST {
        mill.emit("mill.ground", json!({ "n": n, "filling": filling }))
            .await;
        // The one that reads misses nothing, whatever the others do.
        let event = awake.event().await;
        assert_eq!(event["payload"]["n"], n);
        all.push(number(&event, "seq"));
        // What waits for a closed peer does not wait for ever, so it reads as soon as it may.
        let stats = awake.call("gateway.stats", json!({})).await;
        if number(&stats, "slowClosedTotal") == 2 {
            break;
        }
    }
    for peer in &mut slow {
        let (frames, _) = peer.until_closed().await;
        let (gap, events) = frames.split_last().expect("something came");
        assert_eq!(
            gap["event"], "gateway.gap",
            "the last frame says what is missing"
        );
        let seen: Vec<u64> = events.iter().map(|event| number(event, "seq")).collect();
        assert_eq!(seen, all[..seen.len()], "what came is whole up to the gap");
        assert!(seen.len() < all.len());
        let (from, to) = (
            number(&gap["payload"], "from"),
            number(&gap["payload"], "to"),
        );
        let last = seen.last().copied().unwrap_or(began);
        assert!(last < from && from <= all[seen.len()], "{gap} after {last}");
        assert!(to >= all[seen.len()], "{gap}");
        // With the cursor of the last event it saw it misses nothing.
        let mut back = Peer::owner(&house).await;
        back.subscribe_since(&["mill.ground"], last).await;
        for expected in &all[seen.len()..] {
            assert_eq!(number(&back.event().await, "seq"), *expected);
        }
    }
    let stats = awake.call("gateway.stats", json!({})).await;
    assert_eq!(number(&stats, "slowClosedTotal"), 2, "{stats}");
}

#[tokio::test]
async fn volatile_events_are_coalesced_for_a_slow_consumer() {
    let house = House::start();
    let mut mill = mill(&house).await;
    let mut slow = sleeper(&house, Surface::Ws).await;
    let mut awake = Peer::owner(&house).await;
    awake.subscribe(&["mill.dust"]).await;
    let filling = "x".repeat(MEBIBYTE);
    for n in 0..BURST {
        mill.emit("mill.dust", json!({ "n": n, "filling": filling }))
            .await;
        assert_eq!(awake.event().await["payload"]["n"], n);
    }
    // It is still connected, and what it gets is in order and ends with the newest.
    let mut came: Vec<Value> = slow.settled().await;
    for event in &mut came {
        event["payload"]["filling"] = Value::Null;
    }
    let numbers: Vec<u64> = came
        .iter()
        .map(|event| number(&event["payload"], "n"))
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert!(numbers.len() < BURST, "{numbers:?}");
    assert_eq!(
        numbers.last().copied(),
        Some(BURST as u64 - 1),
        "{numbers:?}"
    );
    let stats = awake.call("gateway.stats", json!({})).await;
    assert!(number(&stats, "coalescedTotal") > 0, "{stats}");
    assert_eq!(number(&stats, "slowClosedTotal"), 0, "{stats}");
}

#[tokio::test]
async fn a_caller_that_never_reads_its_answers_is_closed_alone() {
    let house = House::start();
    let mut writer = Peer::owner(&house).await;
    writer
        .call("session.create", json!({ "sessionKey": "chat:big" }))
        .await;
    for _ in 0..3 {
        let params = json!({ "sessionKey": "chat:big", "content": "x".repeat(MEBIBYTE) });
        writer.call("session.send", params).await;
    }
    let mut greedy = Peer::on(Surface::Unix, &house, &house.token()).await;
    for _ in 0..8 {
        greedy
            .post("session.history", json!({ "sessionKey": "chat:big" }))
            .await;
    }
    let closed = async {
        loop {
            let stats = writer.call("gateway.stats", json!({})).await;
            if number(&stats, "slowClosedTotal") == 1 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(super::wire::DEADLINE, closed)
        .await
        .expect("it is closed as slow");
    greedy.until_closed().await;
}
