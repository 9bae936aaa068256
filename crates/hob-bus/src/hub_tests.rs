//! Who leaves is forgotten everywhere.

use crate::bus::Bus;
use crate::filter::Filter;
use crate::hub::Hub;
use crate::party::Party;
use crate::peer::{Closed, Peer};
use crate::pump::{Command, Reply, Subscription};
use bytes::Bytes;
use hob_kit::tasks::Tasks;
use hob_wire::Scopes;
use std::sync::{Arc, Weak};
use std::time::Duration;

fn peer() -> Peer {
    Peer {
        name: "guest".into(),
        surface: "ws",
        principal: "guest".into(),
        scopes: Scopes::owner(),
    }
}

fn subscription(party: &Arc<Party>) -> Command {
    Command::Subscribe(Subscription {
        party: Arc::clone(party),
        filters: vec![Filter {
            pattern: "*".into(),
            session: None,
            after: 0,
        }],
        since: None,
        reply: Reply::Nobody,
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
async fn subscribe(hub: &Hub, party: &Arc<Party>) {
    let sent = hub.pump.send(subscription(party)).await;
    sent.expect("running");
    until(|| !party.filters.load().is_empty()).await;
}

/// Waits until nothing in the bus holds the party.
async fn forgotten(party: Weak<Party>) {
    until(|| party.strong_count() == 0).await;
}

fn hub() -> Arc<Hub> {
    Bus::in_memory(&Tasks::new()).0
}

#[tokio::test]
async fn a_party_that_left_is_forgotten() {
    let hub = hub();
    let party = hub.connect(peer()).expect("room");
    subscribe(&hub, &party).await;
    let (link, outlet) = crate::link::join(&hub, &party);
    let register = br#"{"type":"req","id":"1","method":"gateway.register","params":{"service":"a","methods":["a.b"]}}"#;
    link.receive(Bytes::from_static(register)).await;
    let call = br#"{"type":"req","id":"2","method":"a.b"}"#;
    link.receive(Bytes::from_static(call)).await;
    let left = Arc::downgrade(&party);
    drop((link, outlet, party));
    forgotten(left).await;
    assert_eq!(hub.counters().pending_requests, 0);
}

#[tokio::test]
async fn a_party_that_left_before_its_subscription_came_is_forgotten() {
    let hub = hub();
    let party = hub.connect(peer()).expect("room");
    hub.close(&party, Closed::Normal);
    hub.pump.send(subscription(&party)).await.expect("running");
    let left = Arc::downgrade(&party);
    drop(party);
    forgotten(left).await;
}

#[tokio::test]
async fn parties_that_left_a_busy_pump_are_found() {
    let hub = hub();
    let party = hub.connect(peer()).expect("room");
    subscribe(&hub, &party).await;
    // The pump has no turn before the queue is full.
    while hub.pump.emit(crate::event::NewEvent {
        source: "s".into(),
        topic: "t".into(),
        session: None,
        payload: None,
    }) {}
    hub.close(&party, Closed::Normal);
    let left = Arc::downgrade(&party);
    drop(party);
    forgotten(left).await;
}
