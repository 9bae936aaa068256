//! A closed endpoint is removed from all state.

use crate::bus::Bus;
use crate::endpoint::Endpoint;
use crate::event_filter::EventFilter;
use crate::event_pump::{PumpCommand, SubscribeReply, SubscribeRequest};
use crate::hub::Hub;
use crate::peer::{CloseReason, PeerIdentity};
use bytes::Bytes;
use hob_kit::tasks::TaskGroup;
use hob_wire::Scopes;
use std::sync::{Arc, Weak};
use std::time::Duration;

fn peer() -> PeerIdentity {
    PeerIdentity {
        name: "guest".into(),
        surface: "ws",
        principal: "guest".into(),
        scopes: Scopes::owner(),
    }
}

fn subscription(endpoint: &Arc<Endpoint>) -> PumpCommand {
    PumpCommand::Subscribe(SubscribeRequest {
        endpoint: Arc::clone(endpoint),
        filters: vec![EventFilter {
            pattern: "*".into(),
            session: None,
            after: 0,
        }],
        since: None,
        reply: SubscribeReply::Nobody,
    })
}

async fn until(done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let within = Duration::from_secs(30);
    tokio::time::timeout(within, wait).await.expect("in time");
}

/// Subscribes, and waits until the pump has seen to it.
async fn subscribe(hub: &Hub, endpoint: &Arc<Endpoint>) {
    let sent = hub.pump.send(subscription(endpoint)).await;
    sent.expect("running");
    until(|| !endpoint.filters.load().is_empty()).await;
}

/// Waits until nothing in the bus holds the endpoint.
async fn forgotten(endpoint: Weak<Endpoint>) {
    until(|| endpoint.strong_count() == 0).await;
}

fn hub() -> Arc<Hub> {
    Bus::in_memory(&TaskGroup::new()).0
}

#[tokio::test]
async fn a_party_that_left_is_forgotten() {
    let hub = hub();
    let endpoint = hub.connect(peer()).expect("room");
    subscribe(&hub, &endpoint).await;
    let (link, outlet) = crate::link::open(&hub, &endpoint);
    let register = br#"{"type":"req","id":"1","method":"gateway.register","params":{"service":"a","methods":["a.b"]}}"#;
    link.receive(Bytes::from_static(register)).await;
    let call = br#"{"type":"req","id":"2","method":"a.b"}"#;
    link.receive(Bytes::from_static(call)).await;
    let left = Arc::downgrade(&endpoint);
    drop((link, outlet, endpoint));
    forgotten(left).await;
    assert_eq!(hub.counters().pending_requests, 0);
}

#[tokio::test]
async fn a_party_that_left_before_its_subscription_came_is_forgotten() {
    let hub = hub();
    let endpoint = hub.connect(peer()).expect("room");
    hub.close(&endpoint, CloseReason::Normal);
    hub.pump
        .send(subscription(&endpoint))
        .await
        .expect("running");
    let left = Arc::downgrade(&endpoint);
    drop(endpoint);
    forgotten(left).await;
}

#[tokio::test]
async fn parties_that_left_a_busy_pump_are_found() {
    let hub = hub();
    let endpoint = hub.connect(peer()).expect("room");
    subscribe(&hub, &endpoint).await;
    // The pump has no turn before the queue is full.
    let event = || {
        crate::event::VolatileEvent::new(crate::event::NewEvent {
            source: "s".into(),
            topic: "t".into(),
            session: None,
            payload: None,
        })
    };
    while hub.pump.emit(event()) {}
    hub.close(&endpoint, CloseReason::Normal);
    let left = Arc::downgrade(&endpoint);
    drop(endpoint);
    forgotten(left).await;
}
