//! Delivery of events: audience, order and sequence numbers.

use crate::fixture::{TestBus, TestPeer, code};
use hob_bus::Room;
use hob_wire::rooms::{log, session};
use hob_wire::{Scope, Scopes};
use serde_json::{Value, json};

/// A service that emits `mill.ground` (logged) and `mill.dust` (volatile).
async fn mill(fixture: &TestBus) -> TestPeer {
    let mut wire = fixture.owner();
    let params = json!({
        "service": "mill", "events": ["mill.ground", "mill.dust"], "volatile": ["mill.dust"],
    });
    wire.call("gateway.register", params)
        .await
        .expect("registered");
    wire
}

async fn emit(wire: &TestPeer, topic: &str, payload: Value) {
    wire.send(json!({ "type": "event", "event": topic, "payload": payload }))
        .await;
}

#[tokio::test]
async fn an_event_goes_once_to_each_subscriber_and_to_nobody_else() {
    let fixture = TestBus::new();
    let mut mill = mill(&fixture).await;
    let mut named = fixture.reader();
    named.subscribe(&["mill.ground"]).await;
    let mut wild = fixture.reader();
    wild.subscribe(&["mill.*", "mill.ground", "*"]).await;
    let mut other = fixture.reader();
    other.subscribe(&["mill.dust", "milling.*"]).await;
    let mut none = fixture.reader();
    emit(&mill, "mill.ground", json!({ "kilos": 3 })).await;
    for wire in [&mut named, &mut wild] {
        let event = wire.event().await;
        assert_eq!(event["source"], "mill");
        assert_eq!(event["event"], "mill.ground");
        assert_eq!(event["payload"], json!({ "kilos": 3 }));
        assert_eq!((&event["seq"], &event["prev"]), (&json!(1), &Value::Null));
        assert_eq!(event.get("sub"), None);
    }
    // The pump has passed the event on when it has passed on the next one.
    emit(&mill, "mill.dust", Value::Null).await;
    assert_eq!(other.event().await["event"], "mill.dust");
    assert_eq!(wild.event().await["event"], "mill.dust");
    for wire in [&mut named, &mut wild, &mut other, &mut none, &mut mill] {
        assert!(wire.is_silent().await);
    }
}

#[tokio::test]
async fn volatile_events_are_numbered_after_the_last_logged_one() {
    let fixture = TestBus::new();
    let mill = mill(&fixture).await;
    let mut wire = fixture.reader();
    wire.subscribe(&["mill.*"]).await;
    let mut seen = Vec::new();
    for topic in [
        "mill.dust",
        "mill.dust",
        "mill.ground",
        "mill.dust",
        "mill.ground",
    ] {
        emit(&mill, topic, Value::Null).await;
        let event = wire.event().await;
        seen.push((
            event["seq"].clone(),
            event.get("sub").cloned(),
            event.get("prev").cloned(),
        ));
    }
    let volatile = |seq: u64, sub: u64| (json!(seq), Some(json!(sub)), None);
    assert_eq!(
        seen,
        [
            // `service.connected` of the mill itself was the first after 0.
            volatile(0, 2),
            volatile(0, 3),
            (json!(1), None, Some(Value::Null)),
            volatile(1, 1),
            (json!(2), None, Some(json!(1))),
        ]
    );
}

#[tokio::test]
async fn one_chain_runs_over_all_subscriptions_of_a_connection() {
    let fixture = TestBus::new();
    let mut wire = fixture.reader();
    wire.subscribe(&["a.*"]).await;
    fixture.append("a.x", None, json!(1)).await;
    assert_eq!(wire.event().await["prev"], Value::Null);
    fixture.append("b.x", None, json!(2)).await;
    assert!(wire.is_silent().await);
    wire.subscribe(&["b.x"]).await;
    fixture.append("b.x", None, json!(3)).await;
    fixture.append("a.x", None, json!(4)).await;
    let chain = [wire.event().await, wire.event().await];
    assert_eq!(
        (&chain[0]["seq"], &chain[0]["prev"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(
        (&chain[1]["seq"], &chain[1]["prev"]),
        (&json!(4), &json!(3))
    );
    let left = wire
        .call("gateway.unsubscribe", json!({ "events": ["a.*"] }))
        .await;
    assert_eq!(left, Ok(json!({ "remaining": ["b.x"] })));
    fixture.append("a.x", None, json!(5)).await;
    fixture.append("b.x", None, json!(6)).await;
    let event = wire.event().await;
    assert_eq!((&event["seq"], &event["prev"]), (&json!(6), &json!(4)));
    let left = wire.call("gateway.unsubscribe", json!({})).await;
    assert_eq!(left, Ok(json!({ "remaining": [] })));
    fixture.append("b.x", None, json!(7)).await;
    assert!(wire.is_silent().await);
}

#[tokio::test]
async fn a_session_filter_goes_by_id_and_by_key() {
    let fixture = TestBus::new();
    let mut by_id = fixture.reader();
    let mut by_key = fixture.reader();
    for (wire, filter) in [(&mut by_id, "s1"), (&mut by_key, "key-s1")] {
        let params = json!({ "events": ["chat.*"], "sessionKey": filter });
        wire.call("gateway.subscribe", params)
            .await
            .expect("subscribed");
    }
    fixture.append("chat.said", Some("s2"), json!("no")).await;
    fixture.append("chat.said", None, json!("no")).await;
    fixture.append("chat.said", Some("s1"), json!("yes")).await;
    for wire in [&mut by_id, &mut by_key] {
        assert_eq!(wire.event().await["payload"], "yes");
    }
}

#[tokio::test]
async fn an_outside_event_names_its_session_in_its_payload() {
    let fixture = TestBus::new();
    let mill = mill(&fixture).await;
    let mut wire = fixture.reader();
    let params = json!({ "events": ["mill.*"], "sessionKey": "mine" });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    for payload in [
        json!({ "sessionKey": "other" }),
        json!({ "deep": { "sessionKey": "mine" } }),
        json!({ "sessionKey": ["mine"] }),
        json!(["mine"]),
        json!("mine"),
        Value::Null,
        json!({ "sessionKey": "mine", "n": 1 }),
        json!({ "sessionId": "mine", "sessionKey": "other", "n": 2 }),
    ] {
        emit(&mill, "mill.dust", payload).await;
    }
    assert_eq!(wire.event().await["payload"]["n"], 1);
    assert_eq!(wire.event().await["payload"]["n"], 2);
}

#[tokio::test]
async fn only_a_service_emits_and_only_what_it_declared() {
    let fixture = TestBus::new();
    let mut wire = fixture.reader();
    wire.subscribe(&["mill.*", "session.*"]).await;
    let mut mill = mill(&fixture).await;
    let mut stranger = fixture.owner();
    for (wire, topics) in [
        (&mut stranger, ["mill.ground", "session.message"]),
        (&mut mill, ["mill.invented", "session.message"]),
    ] {
        for topic in topics {
            emit(wire, topic, json!("forged")).await;
            assert_eq!(code(&wire.answer_to("unknown").await), "FORBIDDEN");
        }
    }
    let lie = json!({ "type": "event", "source": "sessions", "event": "mill.ground", "seq": 99, "prev": 98 });
    mill.send(lie).await;
    let event = wire.event().await;
    assert_eq!(
        (&event["source"], &event["seq"]),
        (&json!("mill"), &json!(1))
    );
}

#[tokio::test]
async fn a_bus_of_outside_services_relays_what_nobody_declared() {
    let fixture = TestBus::new();
    let room = Room::new("sessions").event::<session::SessionMessage>();
    fixture.bus.serve(room).expect("served");
    fixture.bus.relay_undeclared_events();
    let mut wire = fixture.reader();
    wire.subscribe(&["*"]).await;
    let mut mill = mill(&fixture).await;
    wire.event().await;
    emit(&mill, "phone.rang", json!(1)).await;
    let event = wire.event().await;
    assert_eq!(
        (&event["source"], &event["payload"]),
        (&json!("mill"), &json!(1))
    );
    // Not logged: nobody said that it must be kept.
    assert!(event["sub"].is_u64(), "{event}");
    let mut limited = fixture.peer(
        "limited",
        Scopes::rank(Scope::Control).with_service("limited"),
    );
    emit(&limited, "phone.rang", json!("forged")).await;
    assert_eq!(code(&limited.answer_to("unknown").await), "FORBIDDEN");
    for topic in [
        "session.message",
        "gateway.gap",
        "service.connected",
        "phone.*",
    ] {
        emit(&mill, topic, json!("forged")).await;
        assert_eq!(
            code(&mill.answer_to("unknown").await),
            "FORBIDDEN",
            "{topic}"
        );
    }
    assert!(wire.is_silent().await);
}

#[tokio::test]
async fn events_are_shown_by_scope() {
    let fixture = TestBus::new();
    let room = Room::new("log").event::<log::LogLine>();
    fixture.bus.serve(room).expect("served");
    let room = Room::new("sessions").event::<session::SessionMessage>();
    fixture.bus.serve(room).expect("served");
    let mut reader = fixture.reader();
    let refused = reader
        .call("gateway.subscribe", json!({ "events": ["log.line"] }))
        .await;
    assert_eq!(code(&refused), "FORBIDDEN");
    let message = refused.expect_err("refused")["message"].to_string();
    assert!(message.contains("'control'"), "{message}");
    reader.subscribe(&["*", "log.*"]).await;
    let mut controller = fixture.peer("controller", Scopes::rank(Scope::Control));
    controller.subscribe(&["log.line"]).await;
    let line = log::LogRecord {
        at: 1,
        level: "info".into(),
        target: "test".into(),
        message: "hello".into(),
    };
    fixture.bus.emitter("log").emit::<log::LogLine>(None, &line);
    assert_eq!(controller.event().await["source"], "log");
    fixture.append("session.message", None, json!({})).await;
    assert_eq!(reader.event().await["event"], "session.message");
    // A token of a service of that name has no way to the built-in's events.
    let mut service = fixture.peer("session", Scopes::none().with_service("session"));
    let refused = service
        .call(
            "gateway.subscribe",
            json!({ "events": ["session.message"] }),
        )
        .await;
    assert_eq!(code(&refused), "FORBIDDEN");
    service.subscribe(&["session.*"]).await;
    fixture.append("session.message", None, json!({})).await;
    fixture.append("session.outside", None, json!({})).await;
    assert_eq!(service.event().await["event"], "session.outside");
}

#[tokio::test]
async fn services_are_seen_to_come_and_go() {
    let fixture = TestBus::new();
    let mut wire = fixture.reader();
    wire.subscribe(&["service.*"]).await;
    let mill = mill(&fixture).await;
    drop(mill);
    for topic in ["service.connected", "service.disconnected"] {
        let event = wire.event().await;
        assert_eq!(event["event"], topic);
        assert_eq!(event["source"], "gateway");
        assert_eq!(event["payload"], json!({ "service": "mill" }));
        assert!(event["sub"].is_u64());
    }
}

#[tokio::test]
async fn malformed_subscriptions_are_refused() {
    let fixture = TestBus::new();
    let mut wire = fixture.reader();
    let many: Vec<String> = (0..257).map(|n| format!("a.{n}")).collect();
    for events in [
        json!([]),
        json!([""]),
        json!(["a*"]),
        json!(["*.a"]),
        json!(["a.**"]),
        json!(["a b"]),
        json!(many),
    ] {
        let refused = wire
            .call("gateway.subscribe", json!({ "events": events }))
            .await;
        assert_eq!(code(&refused), "INVALID_PARAMS", "{events}");
    }
    wire.subscribe(&many[..256].iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    wire.subscribe(&["a.1", "a.2"]).await;
    let refused = wire
        .call("gateway.subscribe", json!({ "events": ["one.more"] }))
        .await;
    assert_eq!(code(&refused), "OVERLOADED");
}

#[tokio::test]
async fn a_registration_subscribes_and_the_next_replaces_that() {
    let fixture = TestBus::new();
    let mut wire = fixture.owner();
    wire.subscribe(&["kept.x"]).await;
    let params = json!({ "service": "mill", "subscriptions": ["first.x"] });
    wire.call("gateway.register", params)
        .await
        .expect("registered");
    fixture.append("first.x", None, json!(1)).await;
    assert_eq!(wire.event().await["event"], "first.x");
    let params = json!({ "service": "mill", "subscriptions": ["second.x"] });
    wire.call("gateway.register", params)
        .await
        .expect("registered");
    for topic in ["first.x", "second.x", "kept.x"] {
        fixture.append(topic, None, json!(2)).await;
    }
    assert_eq!(wire.event().await["event"], "second.x");
    assert_eq!(wire.event().await["event"], "kept.x");
}

#[tokio::test]
async fn events_of_one_service_keep_their_order_whatever_their_kind() {
    let fixture = TestBus::new();
    let mill = mill(&fixture).await;
    let mut wire = fixture.reader();
    wire.subscribe(&["mill.*"]).await;
    let order = [
        "mill.dust",
        "mill.ground",
        "mill.dust",
        "mill.dust",
        "mill.ground",
        "mill.ground",
        "mill.dust",
    ];
    // All of them before the pump has its first turn.
    for topic in order {
        emit(&mill, topic, Value::Null).await;
    }
    for topic in order {
        assert_eq!(wire.event().await["event"], topic);
    }
}
