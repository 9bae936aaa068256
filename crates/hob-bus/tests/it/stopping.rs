//! Graceful shutdown: no new requests, pending ones first, every caller answered.

use crate::fixture::{TestBus, TestPeer, code};
use hob_bus::{CloseReason, PeerIdentity, Room};
use hob_wire::rooms::config;
use hob_wire::{ErrorCode, Scopes};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Waits until the bus refuses what is new.
async fn refusing(fixture: &TestBus) {
    loop {
        let peer = PeerIdentity {
            name: "late".into(),
            surface: "ws",
            principal: "late".into(),
            scopes: Scopes::owner(),
        };
        match fixture.bus.connect(peer) {
            Err(error) => return assert_eq!(error.code, ErrorCode::ServiceUnavailable),
            Ok(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn draining_answers_what_is_under_way_and_refuses_the_rest() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let under_way = caller.ask("echo.say", json!({})).await;
    let request = service.request().await;
    let work = async {
        refusing(&fixture).await;
        let late = caller.call("echo.say", json!({})).await;
        assert_eq!(code(&late), "SERVICE_UNAVAILABLE");
        service.reply(&request, json!("in time")).await;
        assert_eq!(caller.answer_to(&under_way).await, Ok(json!("in time")));
        assert_eq!(caller.closed().await, CloseReason::ShuttingDown);
        assert_eq!(service.closed().await, CloseReason::ShuttingDown);
    };
    let (drained, ()) = tokio::join!(fixture.bus.drain(Duration::from_secs(40)), work);
    assert!(drained);
    assert_eq!(fixture.bus.counters().connections, 0);
}

#[tokio::test]
async fn callers_of_a_silent_service_are_told_before_they_are_closed() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let id = caller.ask("echo.say", json!({})).await;
    let work = async {
        let answer = caller.answer_to(&id).await;
        assert_eq!(code(&answer), "SERVICE_UNAVAILABLE");
        assert_eq!(caller.closed().await, CloseReason::ShuttingDown);
        assert_eq!(service.closed().await, CloseReason::ShuttingDown);
    };
    let (drained, ()) = tokio::join!(fixture.bus.drain(Duration::from_secs(2)), work);
    assert!(drained);
}

#[tokio::test]
async fn a_peer_that_reads_nothing_does_not_hold_the_stop() {
    let fixture = TestBus::new();
    let mut sleeper: TestPeer = fixture.owner();
    sleeper.ask("gateway.stats", json!({})).await;
    assert!(!fixture.bus.drain(Duration::from_millis(200)).await);
    assert_eq!(sleeper.closed().await, CloseReason::ShuttingDown);
    assert_eq!(sleeper.rest().await.len(), 1);
}

#[tokio::test]
async fn rooms_serve_each_other_until_their_tasks_stop() {
    let fixture = TestBus::new();
    let go = Arc::new(Notify::new());
    let waits = Arc::clone(&go);
    let room = Room::new("config").method::<config::Get, _, _>(move |_, params| {
        let waits = Arc::clone(&waits);
        async move {
            if params.key.is_some() {
                waits.notified().await;
            }
            Ok(config::ConfigGetResult { settings: vec![] })
        }
    });
    fixture.bus.serve(room).expect("served");
    let inside = fixture.bus.caller("another room");
    let slow = config::ConfigGetParams {
        key: Some("slow".to_owned()),
    };
    let mut outside = fixture.owner();
    let asked = outside.ask("config.get", json!({ "key": "slow" })).await;
    let told = async {
        let answer = outside.answer_to(&asked).await;
        assert_eq!(code(&answer), "SERVICE_UNAVAILABLE");
        assert_eq!(outside.closed().await, CloseReason::ShuttingDown);
    };
    let stop = async {
        fixture.bus.drain(Duration::from_millis(400)).await;
        // What is asked now is answered too.
        let quick = config::ConfigGetParams { key: None };
        let quick = inside.call::<config::Get>(&quick).await;
        quick.expect("the rooms go on");
        go.notify_waiters();
    };
    let (answer, (), ()) = tokio::join!(inside.call::<config::Get>(&slow), told, stop);
    answer.expect("no answer is made of the stop");
    // At the very end nobody is left hanging.
    let (answer, ()) = tokio::join!(inside.call::<config::Get>(&slow), async {
        tokio::task::yield_now().await;
        fixture.tasks.stop();
    });
    assert_eq!(
        answer.expect_err("nobody serves").code,
        ErrorCode::ServiceUnavailable
    );
}
