//! `since`: past events from the log, then new ones, in one unbroken chain.

use crate::fixture::{TestBus, code};
use hob_bus::BusLimits;
use serde_json::{Value, json};

#[tokio::test]
async fn the_past_comes_first_and_the_present_follows() {
    let fixture = TestBus::new();
    for n in 1..=5_000 {
        fixture
            .append(if n % 2 == 0 { "even.n" } else { "odd.n" }, None, json!(n))
            .await;
    }
    let mut wire = fixture.reader();
    let params = json!({ "events": ["even.*"], "since": 4 });
    let began = wire.call("gateway.subscribe", params).await;
    assert_eq!(began, Ok(json!({ "seq": 5_000, "logId": "memory" })));
    fixture.append("even.n", None, json!(5_001)).await;
    let mut prev = 4;
    for expected in (6..=5_000).step_by(2).chain([5_001]) {
        let event = wire.event().await;
        assert_eq!(event["seq"], expected);
        assert_eq!(event["payload"], expected);
        assert_eq!(event["prev"], prev);
        prev = expected;
    }
    assert!(wire.is_silent().await);
}

#[tokio::test]
async fn since_the_last_event_there_is_no_past() {
    let fixture = TestBus::new();
    fixture.append("a.x", None, json!(1)).await;
    let mut wire = fixture.reader();
    let params = json!({ "events": ["*"], "since": 1 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    fixture.append("a.x", None, json!(2)).await;
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(2), &json!(1)));
}

#[tokio::test]
async fn a_cursor_ahead_of_the_log_is_told_a_gap() {
    let fixture = TestBus::new();
    fixture.append("a.x", None, json!(1)).await;
    let mut wire = fixture.reader();
    let params = json!({ "events": ["*"], "since": 2 });
    let began = wire.call("gateway.subscribe", params).await;
    assert_eq!(began.expect("subscribed")["seq"], 1);
    let gap = wire.event().await;
    assert_eq!(gap["event"], "gateway.gap");
    let all = json!({ "from": 1, "to": 1, "reason": "otherLog" });
    assert_eq!(gap["payload"], all);
    fixture.append("a.x", None, json!(2)).await;
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(2), &json!(1)));
}

#[tokio::test]
async fn a_cursor_of_another_log_is_told_a_gap_and_then_what_is_new() {
    let fixture = TestBus::new();
    for n in 1..=5 {
        fixture.append("a.x", None, json!(n)).await;
    }
    let mut wire = fixture.reader();
    // The number alone would fit.
    let params = json!({ "events": ["*"], "since": 3, "logId": "another" });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    let gap = wire.event().await;
    let all = json!({ "from": 1, "to": 5, "reason": "otherLog" });
    assert_eq!(gap["payload"], all);
    fixture.append("a.x", None, json!(6)).await;
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(6), &json!(5)));

    let mut wire = fixture.reader();
    let params = json!({ "events": ["*"], "since": 5, "logId": "memory" });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(6), &json!(5)));
}

#[tokio::test]
async fn since_needs_a_connection_without_subscriptions() {
    let fixture = TestBus::new();
    fixture.append("a.x", None, json!(1)).await;
    let mut wire = fixture.reader();
    wire.subscribe(&["a.*"]).await;
    let params = json!({ "events": ["b.*"], "since": 0 });
    let refused = wire.call("gateway.subscribe", params.clone()).await;
    assert_eq!(code(&refused), "CONFLICT");
    wire.call("gateway.unsubscribe", json!({}))
        .await
        .expect("unsubscribed");
    let params = json!({ "events": ["a.*"], "since": 0 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(1), &json!(0)));
}

#[tokio::test]
async fn what_left_the_log_is_a_gap_that_comes_first() {
    let fixture = TestBus::with(BusLimits::default(), 10);
    for n in 1..=100 {
        fixture.append("a.x", None, json!(n)).await;
    }
    // The pump's own memory must not hide that the log forgot.
    let fixture = fixture.reopen();
    let mut wire = fixture.reader();
    let params = json!({ "events": ["a.*"], "since": 5 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    let gap = wire.event().await;
    assert_eq!(gap["event"], "gateway.gap");
    assert_eq!(gap["source"], "gateway");
    assert_eq!(
        gap["payload"],
        json!({ "from": 6, "to": 90, "reason": "expired" })
    );
    let mut prev = 90;
    for expected in 91..=100 {
        let event = wire.event().await;
        assert_eq!(
            (&event["seq"], &event["prev"]),
            (&json!(expected), &json!(prev))
        );
        prev = expected;
    }
    let mut whole = fixture.reader();
    let params = json!({ "events": ["a.*"], "since": 90 });
    whole
        .call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    assert_eq!(whole.event().await["prev"], 90);
}

#[tokio::test]
async fn an_empty_log_that_once_had_events_is_all_gap() {
    let fixture = TestBus::with(BusLimits::default(), 0);
    for n in 1..=3 {
        fixture.append("a.x", None, json!(n)).await;
    }
    let fixture = fixture.reopen();
    let mut wire = fixture.reader();
    let params = json!({ "events": ["a.*"], "since": 1 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    let gap = json!({ "from": 2, "to": 3, "reason": "expired" });
    assert_eq!(wire.event().await["payload"], gap);
    fixture.append("a.x", None, json!(4)).await;
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(4), &json!(3)));
}

#[tokio::test]
async fn a_slow_reader_catches_up_at_its_own_pace() {
    let limits = BusLimits {
        outbox_frames_max: 8,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 100_000);
    for n in 1..=1_000 {
        fixture.append("a.x", None, json!(n)).await;
    }
    let mut wire = fixture.reader();
    wire.ask(
        "gateway.subscribe",
        json!({ "events": ["a.*"], "since": 0 }),
    )
    .await;
    // Nothing is read yet: these events are in the past by the time they are.
    for n in 1_001..=2_000 {
        fixture.append("a.x", None, json!(n)).await;
    }
    for expected in 1..=2_000 {
        let event = wire.event().await;
        assert_eq!(
            (&event["seq"], &event["prev"]),
            (&json!(expected), &json!(expected - 1))
        );
    }
    assert_eq!(fixture.bus.counters().slow_closed_total, 0);
}

#[tokio::test]
async fn subscribing_to_more_while_catching_up_begins_now() {
    let limits = BusLimits {
        outbox_frames_max: 8,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 100_000);
    for n in 1..=100 {
        fixture
            .append(if n % 2 == 0 { "a.x" } else { "b.x" }, None, json!(n))
            .await;
    }
    let mut wire = fixture.reader();
    wire.ask(
        "gateway.subscribe",
        json!({ "events": ["a.*"], "since": 0 }),
    )
    .await;
    let began = wire.subscribe(&["b.*"]).await;
    assert_eq!(began, 100);
    fixture.append("b.x", None, json!(101)).await;
    fixture.append("a.x", None, json!(102)).await;
    let mut prev = Value::from(0);
    for expected in (2..=100).step_by(2).chain([101, 102]) {
        let event = wire.event().await;
        assert_eq!(event["seq"], expected);
        assert_eq!(event["prev"], prev);
        prev = event["seq"].clone();
    }
    assert!(wire.is_silent().await);
}

#[tokio::test]
async fn unsubscribing_ends_a_catch_up_at_once() {
    let limits = BusLimits {
        outbox_frames_max: 8,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 100_000);
    for n in 1..=100 {
        fixture.append("a.x", None, json!(n)).await;
    }
    let mut wire = fixture.reader();
    wire.call(
        "gateway.subscribe",
        json!({ "events": ["a.*"], "since": 0 }),
    )
    .await
    .expect("subscribed");
    wire.event().await;
    wire.call("gateway.unsubscribe", json!({}))
        .await
        .expect("unsubscribed");
    // Whatever came before the answer is read; nothing comes after it.
    wire.is_silent().await;
    assert!(wire.is_silent().await);
    let params = json!({ "events": ["a.*"], "since": 98 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    assert_eq!(wire.event().await["seq"], 99);
    assert_eq!(wire.event().await["seq"], 100);
    assert!(wire.is_silent().await);
}

#[tokio::test]
async fn nothing_volatile_is_shown_while_catching_up() {
    let limits = BusLimits {
        outbox_frames_max: 8,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 100_000);
    for n in 1..=50 {
        fixture.append("a.x", None, json!(n)).await;
    }
    let mut wire = fixture.reader();
    let params = json!({ "events": ["*"], "since": 0 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    let _mill = fixture.service("mill", &[]).await;
    for expected in 1..=50 {
        assert_eq!(wire.event().await["seq"], expected);
    }
    // It attaches some time after the last event; from then on it is shown all.
    let shown = loop {
        let bakery = fixture.service("bakery", &[]).await;
        drop(bakery);
        if let Some(event) = wire.poll_event().await {
            break event;
        }
    };
    assert_eq!(shown["payload"]["service"], "bakery");
}
