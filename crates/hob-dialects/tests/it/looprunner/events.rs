//! The event stream: order, reconnecting, slow and vanished readers.

use crate::house::{House, PATIENCE};
use crate::looprunner::house;
use crate::looprunner::loops::{Loops, blank};
use crate::looprunner::stream::{Stream, kinds};
use hob_wire::rooms::loops::{LoopDeleted, LoopDeletedPayload};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

async fn open(house: &House, path: &str, more: &[&str]) -> Stream {
    let bearer = format!("Authorization: Bearer {}", house.owner());
    let mut lines = vec![bearer.as_str()];
    lines.extend(more);
    Stream::open(&house.host(), path, &lines).await.unwrap()
}

async fn opened() -> (House, Arc<Loops>) {
    let (house, loops) = house().await;
    let made = blank("default");
    loops
        .known
        .lock()
        .unwrap()
        .insert("default".to_owned(), made);
    (house, loops)
}

#[tokio::test]
async fn what_happens_is_told_in_order_after_the_first_message() {
    let (house, loops) = opened().await;
    let mut stream = open(&house, "/api/events", &[]).await;
    assert_eq!(
        stream.head.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(stream.head.header("cache-control"), Some("no-store"));
    assert_eq!(stream.head.header("access-control-allow-origin"), None);
    let first = stream.next().await.unwrap();
    assert_eq!(first.kind(), "connected");
    assert_eq!(first.data["state"]["history"], json!([]));
    assert_eq!(first.data["config"]["interval"], 5000);
    loops.iterate("other", 1).await;
    let begun = loops.iterate("default", 1).await;
    let told = stream.until("state").await;
    assert_eq!(kinds(&told), ["iteration", "prompt", "response", "state"]);
    let ids: Vec<_> = told.iter().map(|message| message.id.unwrap()).collect();
    assert_eq!(ids, (begun..begun + 4).collect::<Vec<_>>());
    assert!(first.id.unwrap() < begun);
    let state = &told[3].data["state"];
    assert_eq!(state["lastOutput"], "response 1");
    assert_eq!(state["sessionID"], "loop:default:1");
    assert!(state.get("history").is_none());
    // What is volatile moves nobody's place.
    loops.monitored("default", "load 0.1");
    let monitor = stream.next().await.unwrap();
    assert_eq!(
        (monitor.id, monitor.data),
        (None, json!({ "type": "monitor", "output": "load 0.1" }))
    );
    loops
        .known
        .lock()
        .unwrap()
        .get_mut("default")
        .unwrap()
        .working
        .text = "w".to_owned();
    let changed = loops.configured("default").await;
    let config = stream.next().await.unwrap();
    assert_eq!((config.id, config.kind()), (Some(changed), "config"));
    assert_eq!(config.data["config"]["working"], "w");
    loops.failed("default", "No model.").await;
    assert_eq!(stream.next().await.unwrap().data["message"], "No model.");
    loops.stopped("default", 1).await;
    assert_eq!(
        stream.next().await.unwrap().data,
        json!({ "type": "stopped" })
    );
    house.stop().await;
    assert_eq!(stream.next().await, None, "it ends with the house");
}

#[tokio::test]
async fn coming_back_has_no_hole_and_nothing_twice() {
    let (house, loops) = opened().await;
    let mut stream = open(&house, "/api/events", &[]).await;
    stream.next().await.unwrap();
    loops.iterate("default", 1).await;
    let seen = stream.until("response").await;
    let last = seen.last().unwrap().id.unwrap();
    drop(stream);
    loops.iterate("default", 2).await;
    loops.iterate("other", 1).await;
    let line = format!("Last-Event-ID: {last}");
    let mut stream = open(&house, "/api/events", &[&line]).await;
    let first = stream.next().await.unwrap();
    assert_eq!((first.kind(), first.id), ("connected", Some(last)));
    loops.iterate("default", 3).await;
    let mut told = Vec::new();
    for _ in 0..9 {
        told.push(stream.next().await.unwrap());
    }
    let iteration = ["iteration", "prompt", "response", "state"];
    let expected: Vec<_> = [&["state"][..], &iteration, &iteration].concat();
    assert_eq!(kinds(&told), expected);
    let ids: Vec<_> = told.iter().map(|message| message.id.unwrap()).collect();
    assert!(
        ids[0] == last + 1 && ids.is_sorted_by(|a, b| a < b),
        "{ids:?}"
    );
    // Whoever left right after the first message comes back to the same place.
    let line = format!("Last-Event-ID: {}", first.id.unwrap());
    let mut again = open(&house, "/api/events", &[&line]).await;
    again.next().await.unwrap();
    assert_eq!(again.next().await.unwrap(), told[0]);
    house.stop().await;
}

#[tokio::test]
async fn a_place_that_is_not_ours_begins_anew() {
    let (house, loops) = opened().await;
    for place in ["999999", "abc", "-1", "", "18446744073709551615"] {
        let line = format!("Last-Event-ID: {place}");
        let mut stream = open(&house, "/api/events", &[&line]).await;
        let first = stream.next().await.unwrap();
        assert_eq!(first.kind(), "connected");
        let begun = loops.iterate("default", 1).await;
        assert!(first.id.unwrap() < begun, "{place}");
        assert_eq!(stream.next().await.unwrap().id, Some(begun), "{place}");
    }
    house.stop().await;
}

#[tokio::test]
async fn every_loop_has_its_own_stream_which_ends_with_it() {
    let (house, loops) = opened().await;
    let bearer = format!("Authorization: Bearer {}", house.owner());
    let missing = Stream::open(&house.host(), "/api/loops/other/events", &[&bearer]).await;
    assert_eq!(missing.err().unwrap().status, 404);
    loops
        .known
        .lock()
        .unwrap()
        .insert("other".to_owned(), blank("other"));
    let mut stream = open(&house, "/api/loops/other/events", &[]).await;
    stream.next().await.unwrap();
    loops.iterate("default", 7).await;
    loops.iterate("other", 1).await;
    let told = stream.until("state").await;
    assert_eq!(told[0].data["iteration"], 1);
    let payload = LoopDeletedPayload {
        name: "other".to_owned(),
    };
    loops.tell::<LoopDeleted>(&payload).await;
    let last = stream.next().await.unwrap();
    assert_eq!(last.kind(), "error");
    assert!(last.data["message"].as_str().unwrap().contains("deleted"));
    assert_eq!(stream.next().await, None);
    house.stop().await;
}

#[tokio::test]
async fn a_silent_stream_shows_signs_of_life() {
    let (house, loops) = opened().await;
    house.set("gateway.ping_interval = \"100ms\"");
    let mut stream = open(&house, "/api/events", &[]).await;
    stream.next().await.unwrap();
    // What happens to others is no sign.
    loops.iterate("other", 1).await;
    for _ in 0..2 {
        assert_eq!(stream.block().await.as_deref(), Some(": keep-alive"));
    }
    house.stop().await;
}

#[tokio::test]
async fn a_reader_that_leaves_is_noticed() {
    let (house, _loops) = opened().await;
    let before = house.bus.counters().connections;
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut stream = open(&house, "/api/events", &[]).await;
        stream.next().await.unwrap();
        streams.push(stream);
    }
    assert!(house.bus.counters().connections >= before + 5);
    drop(streams);
    let deadline = Instant::now() + PATIENCE;
    while house.bus.counters().connections > before {
        assert!(Instant::now() < deadline, "they linger");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    house.stop().await;
}

#[tokio::test]
async fn a_token_that_is_revoked_ends_its_stream() {
    let (house, _loops) = opened().await;
    let (id, token) = house.token("read", None).await;
    let bearer = format!("Authorization: Bearer {token}");
    let mut stream = Stream::open(&house.host(), "/api/events", &[&bearer])
        .await
        .unwrap();
    stream.next().await.unwrap();
    let revoked = house
        .rpc(&house.owner(), "token.revoke", &json!({ "token": id }))
        .await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    assert_eq!(stream.next().await, None);
    house.stop().await;
}

/// It reads nothing while far more than any buffer holds is told. Then its line is closed; what it
/// had been sent is whole, and it comes back for the rest.
#[tokio::test]
async fn a_reader_that_is_too_slow_is_closed_and_misses_nothing() {
    const EVENTS: u64 = 600;
    let (house, loops) = opened().await;
    let mut stream = open(&house, "/api/events", &[]).await;
    let first = stream.next().await.unwrap();
    let long = "x".repeat(100_000);
    for number in 0..EVENTS {
        loops.failed("default", &format!("{number} {long}")).await;
    }
    let deadline = Instant::now() + PATIENCE;
    while house.bus.counters().slow_closed_total == 0 {
        assert!(Instant::now() < deadline, "it is buffered without end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut last = first.id.unwrap();
    let mut told = 0;
    loop {
        while let Some(message) = stream.next().await {
            if message.kind() == "connected" {
                continue;
            }
            let text = message.data["message"].as_str().unwrap();
            assert!(
                text.starts_with(&format!("{told} x")),
                "{}",
                &text[..9.min(text.len())]
            );
            told += 1;
            last = message.id.unwrap();
            if told == EVENTS {
                break;
            }
        }
        if told == EVENTS {
            break;
        }
        let line = format!("Last-Event-ID: {last}");
        stream = open(&house, "/api/events", &[&line]).await;
    }
    let mut rest = [0; 1];
    let more = tokio::time::timeout(Duration::from_millis(50), stream.inner.read(&mut rest));
    assert!(more.await.is_err(), "nothing is told twice");
    house.stop().await;
}
