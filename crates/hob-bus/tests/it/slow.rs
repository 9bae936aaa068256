//! A slow reader affects no other, and gets a gap for the events it missed.

use crate::fixture::{TestBus, until};
use hob_bus::{BusLimits, CloseReason, SessionTag};
use hob_wire::block::{BlockChange, BlockKind, BlockOp};
use hob_wire::rooms::session::{SessionBlock, SessionBlockPayload};
use serde_json::{Value, json};

fn small() -> BusLimits {
    BusLimits {
        outbox_frames_max: 16,
        ..Default::default()
    }
}

#[tokio::test]
async fn logged_events_that_do_not_fit_end_in_a_gap_and_a_close() {
    let fixture = TestBus::with(small(), 1_000);
    let mut sleeper = fixture.reader();
    sleeper.subscribe(&["a.*"]).await;
    let mut awake = fixture.reader();
    awake.subscribe(&["a.*"]).await;
    for n in 1..=40 {
        fixture.append("a.x", None, json!(n)).await;
        assert_eq!(awake.event().await["seq"], n);
    }
    assert_eq!(sleeper.closed().await, CloseReason::Slow);
    let frames = sleeper.rest().await;
    let (gap, events) = frames.split_last().expect("frames");
    let seen: Vec<u64> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(seen, (1..=16).collect::<Vec<_>>());
    assert_eq!(gap["event"], "gateway.gap");
    assert_eq!(
        gap["payload"],
        json!({ "from": 17, "to": 17, "reason": "slow" })
    );
    assert_eq!(fixture.bus.counters().slow_closed_total, 1);
    // It comes back and misses nothing.
    let mut back = fixture.reader();
    let params = json!({ "events": ["a.*"], "since": 16 });
    back.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    for expected in 17..=40 {
        assert_eq!(back.event().await["seq"], expected);
    }
}

#[tokio::test]
async fn bytes_count_too() {
    let limits = BusLimits {
        outbox_bytes_max: 10_000,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 1_000);
    let mut sleeper = fixture.reader();
    sleeper.subscribe(&["a.*"]).await;
    for _ in 0..4 {
        fixture.append("a.x", None, json!("x".repeat(3_000))).await;
    }
    assert_eq!(sleeper.closed().await, CloseReason::Slow);
    assert_eq!(sleeper.rest().await.len(), 3 + 1);
}

#[tokio::test]
async fn volatile_events_are_coalesced_by_topic_and_session() {
    let fixture = TestBus::with(small(), 1_000);
    let mut sleeper = fixture.reader();
    sleeper.subscribe(&["mill.*"]).await;
    let mut mill = fixture.owner();
    let params = json!({
        "service": "mill", "events": ["mill.dust", "mill.ground"], "volatile": ["mill.dust"],
    });
    mill.call("gateway.register", params)
        .await
        .expect("registered");
    for n in 0..100 {
        let payload = json!({ "n": n, "sessionKey": if n % 2 == 0 { "even" } else { "odd" } });
        mill.send(json!({ "type": "event", "event": "mill.dust", "payload": payload }))
            .await;
    }
    until(|| fixture.bus.counters().coalesced_total == 100 - 8).await;
    // There is room for what must not be lost.
    mill.send(json!({ "type": "event", "event": "mill.ground" }))
        .await;
    let mut numbers = Vec::new();
    loop {
        let event = sleeper.event().await;
        if event["event"] == "mill.ground" {
            break;
        }
        numbers.push(event["payload"]["n"].as_u64().expect("a number"));
    }
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 98, 99]);
    assert_eq!(fixture.bus.counters().slow_closed_total, 0);
    assert!(sleeper.is_silent().await);
}

#[tokio::test]
async fn volatile_events_without_room_are_left_out() {
    let fixture = TestBus::with(small(), 1_000);
    let mut sleeper = fixture.reader();
    sleeper.subscribe(&["*"]).await;
    for n in 1..=16 {
        fixture.append("a.x", None, json!(n)).await;
    }
    let _mill = fixture.service("mill", &[]).await;
    until(|| fixture.bus.counters().coalesced_total == 1).await;
    for expected in 1..=16 {
        assert_eq!(sleeper.event().await["seq"], expected);
    }
    assert!(sleeper.is_silent().await);
}

#[tokio::test]
async fn a_payload_no_frame_can_hold_is_a_gap_and_the_link_goes_on() {
    let fixture = TestBus::new();
    let mut wire = fixture.reader();
    wire.subscribe(&["a.*"]).await;
    let huge = json!("x".repeat(hob_wire::limits::FRAME_BYTES_MAX));
    fixture.append("a.x", None, json!(1)).await;
    fixture.append("a.x", None, huge).await;
    fixture.append("a.x", None, json!(3)).await;
    assert_eq!(wire.event().await["seq"], 1);
    let gap = json!({ "from": 2, "to": 2, "reason": "tooLarge" });
    assert_eq!(wire.event().await["payload"], gap);
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(3), &json!(2)));
    assert_eq!(event["payload"], Value::from(3));
}

#[tokio::test]
async fn params_and_answers_no_frame_can_hold_are_refused() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let huge = json!("x".repeat(hob_wire::limits::FRAME_BYTES_MAX - 200));
    let refused = caller.call("echo.say", huge.clone()).await;
    assert_eq!(refused.expect_err("refused")["code"], "INVALID_PARAMS");
    let id = caller.ask("echo.say", json!({})).await;
    let request = service.request().await;
    service.reply(&request, huge).await;
    let failed = caller.answer_to(&id).await;
    assert_eq!(failed.expect_err("failed")["code"], "METHOD_ERROR");
}

/// Emits a change of a block to the followers of the session `a`.
fn change(fixture: &TestBus, block: &str, position: u64) -> bool {
    let id = "0190a000-0000-7000-8000-000000000001";
    let payload = SessionBlockPayload {
        session_key: "a".to_owned(),
        session_id: id.parse().expect("an id"),
        change: BlockChange {
            position,
            op: BlockOp::Delta,
            id: block.to_owned(),
            revision: 1,
            kind: BlockKind::Text,
            run_id: None,
            offset: 0,
            text: String::new(),
            before: None,
            details: None,
            settled: None,
        },
    };
    let tag = SessionTag {
        id: id.into(),
        key: Some("a".into()),
    };
    let emitter = fixture.bus.emitter("sessions");
    emitter.emit_to_followers::<SessionBlock>(tag, block.into(), &payload)
}

fn positions(frames: &[Value]) -> Vec<u64> {
    let changes = frames
        .iter()
        .filter(|frame| frame["event"] == "session.block");
    let position = |frame: &Value| frame["payload"]["position"].as_u64();
    changes.filter_map(position).collect()
}

#[tokio::test]
async fn a_slow_follower_keeps_the_last_change_of_a_block_and_others_get_all() {
    let fixture = TestBus::with(small(), 1_000);
    let mut sleeper = fixture.reader();
    sleeper.subscribe(&["session.block"]).await;
    let mut awake = fixture.reader();
    awake.subscribe(&["session.block"]).await;
    let mut watcher = fixture.reader();
    watcher.subscribe(&["session.*", "*"]).await;
    for position in 1..=100 {
        assert!(change(&fixture, "text", position));
        assert_eq!(awake.event().await["payload"]["position"], position);
    }
    let mut held = Vec::new();
    while held.last() != Some(&100) {
        held.extend(positions(&[sleeper.event().await]));
    }
    assert!(held.len() <= 16, "{held:?}");
    assert!(watcher.is_silent().await, "a wildcard does not follow");
}

#[tokio::test]
async fn a_follower_whose_outbox_is_full_is_told_and_closed() {
    let fixture = TestBus::with(small(), 1_000);
    let mut sleeper = fixture.reader();
    sleeper.subscribe(&["session.block"]).await;
    for position in 1..=40 {
        change(&fixture, &format!("block {position}"), position);
    }
    assert_eq!(sleeper.closed().await, CloseReason::Slow);
    let frames = sleeper.rest().await;
    assert_eq!(positions(&frames), (1..=16).collect::<Vec<_>>());
    let gap = frames.last().expect("frames");
    assert_eq!(gap["event"], "gateway.gap");
    assert_eq!(gap["payload"]["reason"], "slow");
}
