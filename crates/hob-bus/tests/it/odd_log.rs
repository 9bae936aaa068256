//! Logs that are ahead of what they published, have holes, or cannot be read for a while.

use crate::fixture::{TestPeer, code};
use bytes::Bytes;
use hob_bus::{BoxFuture, Bus, BusLimits, BusParts, CloseReason, EventLog, LogBounds, LoggedEvent};
use hob_bus::{NewEvent, PeerIdentity, Publisher, publisher};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_kit::tasks::TaskGroup;
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A log whose test decides what it holds, says and publishes.
#[derive(Default)]
struct OddLog {
    rows: Mutex<Vec<LoggedEvent>>,
    last: AtomicU64,
    /// Readings that still fail.
    failures: AtomicU64,
    readings: AtomicU64,
}

impl OddLog {
    fn commit(&self, seq: u64) {
        self.rows.lock().expect("held").push(event(seq));
        self.last.store(seq, Ordering::SeqCst);
    }
}

impl EventLog for OddLog {
    fn bounds(&self) -> LogBounds {
        let last = self.last.load(Ordering::SeqCst);
        let rows = self.rows.lock().expect("held");
        let first = rows.first().map_or(last + 1, |event| event.seq);
        LogBounds { first, last }
    }

    fn id(&self) -> Arc<str> {
        "odd".into()
    }

    fn shared_until(&self, _: &str) -> Option<u64> {
        Some(u64::MAX)
    }

    fn page(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LoggedEvent>, WireError>> {
        Box::pin(async move {
            self.readings.fetch_add(1, Ordering::SeqCst);
            let fewer = |left: u64| left.checked_sub(1);
            let failing = self
                .failures
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
            if failing.is_ok() {
                return Err(WireError::new(
                    ErrorCode::ServiceUnavailable,
                    "a bad sector",
                ));
            }
            let rows = self.rows.lock().expect("held");
            let page = rows.iter().filter(|event| event.seq > after).take(limit);
            Ok(page.cloned().collect())
        })
    }

    fn append(&self, _: NewEvent) -> BoxFuture<'_, Result<u64, WireError>> {
        Box::pin(async { Err(WireError::new(ErrorCode::Overloaded, "The disk is full.")) })
    }
}

fn event(seq: u64) -> LoggedEvent {
    LoggedEvent {
        seq,
        source: "test".into(),
        topic: "a.x".into(),
        session: None,
        payload: Some(Bytes::from(seq.to_string())),
    }
}

fn bus(log: &Arc<OddLog>) -> (Bus, Publisher) {
    let (publisher, inbox) = publisher();
    let bus = Bus::new(BusParts {
        log: log.clone(),
        inbox,
        clock: Clock::manual(0),
        randomness: Randomness::seeded(1),
        tasks: TaskGroup::new(),
        limits: BusLimits::default(),
        version: "test".into(),
    });
    (bus, publisher)
}

fn reader(bus: &Bus) -> TestPeer {
    let peer = PeerIdentity {
        name: "reader".into(),
        surface: "ws",
        principal: "reader".into(),
        scopes: Scopes::rank(Scope::Read).with_service("mill"),
    };
    let (link, outlet) = bus.connect(peer).expect("room");
    TestPeer::new(link, outlet)
}

/// As the store does it: from a thread of its own.
async fn publish(publisher: &Publisher, seqs: &[u64]) {
    let publisher = publisher.clone();
    let batch = seqs.iter().map(|seq| event(*seq)).collect();
    tokio::task::spawn_blocking(move || publisher.publish(batch))
        .await
        .expect("published");
}

async fn expect(wire: &mut TestPeer, seq: u64, prev: u64) {
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(seq), &json!(prev)));
}

#[tokio::test]
async fn what_was_read_before_it_was_published_does_not_come_twice() {
    let log = Arc::new(OddLog::default());
    (1..=3).for_each(|seq| log.commit(seq));
    let (bus, publisher) = bus(&log);
    // Committed, and on its way to the bus.
    (4..=5).for_each(|seq| log.commit(seq));
    let mut wire = reader(&bus);
    let began = wire
        .call(
            "gateway.subscribe",
            json!({ "events": ["a.*"], "since": 0 }),
        )
        .await;
    assert_eq!(began, Ok(json!({ "seq": 5, "logId": "odd" })));
    for seq in 1..=5 {
        expect(&mut wire, seq, seq - 1).await;
    }
    publish(&publisher, &[4, 5]).await;
    log.commit(6);
    publish(&publisher, &[6]).await;
    expect(&mut wire, 6, 5).await;
    assert!(wire.is_silent().await);
}

#[tokio::test]
async fn a_subscription_begins_after_what_was_committed_before_it() {
    let log = Arc::new(OddLog::default());
    let (bus, publisher) = bus(&log);
    log.commit(1);
    let mut wire = reader(&bus);
    assert_eq!(wire.subscribe(&["a.*"]).await, 1);
    publish(&publisher, &[1]).await;
    log.commit(2);
    publish(&publisher, &[2]).await;
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(2), &Value::Null));
}

#[tokio::test]
async fn numbers_that_were_never_used_hold_nobody_up() {
    let log = Arc::new(OddLog::default());
    for seq in [1, 2, 5] {
        log.commit(seq);
    }
    log.last.store(9, Ordering::SeqCst);
    let (bus, publisher) = bus(&log);
    let mut wire = reader(&bus);
    let params = json!({ "events": ["a.*"], "since": 1 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    expect(&mut wire, 2, 1).await;
    expect(&mut wire, 5, 2).await;
    log.commit(12);
    publish(&publisher, &[12]).await;
    expect(&mut wire, 12, 5).await;
    let readings = log.readings.load(Ordering::SeqCst);
    assert!(
        readings <= 3,
        "it does not look again and again: {readings}"
    );
}

#[tokio::test]
async fn a_log_that_fails_for_a_while_is_read_again() {
    let log = Arc::new(OddLog::default());
    (1..=3).for_each(|seq| log.commit(seq));
    log.failures.store(2, Ordering::SeqCst);
    let (bus, _publisher) = bus(&log);
    let mut wire = reader(&bus);
    let params = json!({ "events": ["a.*"], "since": 0 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    for seq in 1..=3 {
        expect(&mut wire, seq, seq - 1).await;
    }
}

#[tokio::test]
async fn a_log_that_stays_unreadable_ends_the_link_with_what_it_misses() {
    let log = Arc::new(OddLog::default());
    (1..=3).for_each(|seq| log.commit(seq));
    log.failures.store(u64::MAX, Ordering::SeqCst);
    let (bus, _publisher) = bus(&log);
    let mut wire = reader(&bus);
    let params = json!({ "events": ["a.*"], "since": 1 });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    assert_eq!(wire.closed().await, CloseReason::Slow);
    let last = wire.rest().await.pop().expect("a last word");
    assert_eq!(
        last["payload"],
        json!({ "from": 2, "to": 3, "reason": "unreadable" })
    );
}

#[tokio::test]
async fn an_event_that_cannot_be_logged_is_refused() {
    let log = Arc::new(OddLog::default());
    let (bus, _publisher) = bus(&log);
    let mut wire = reader(&bus);
    let params = json!({ "service": "mill", "events": ["mill.ground"] });
    wire.call("gateway.register", params)
        .await
        .expect("registered");
    wire.send(json!({ "type": "event", "event": "mill.ground" }))
        .await;
    assert_eq!(code(&wire.answer_to("unknown").await), "OVERLOADED");
}
