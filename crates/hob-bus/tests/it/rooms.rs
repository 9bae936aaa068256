//! Built-in services, each tested alone on an in-memory bus.

use crate::fixture::{TestBus, TestPeer, code, until};
use bytes::Bytes;
use hob_bus::{Bus, BusLimits, PeerIdentity, Room, SessionTag};
use hob_kit::tasks::TaskGroup;
use hob_wire::rooms::{config, daemon, gateway, log, session};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn settings() -> Room {
    Room::new("config")
        .method::<config::Get, _, _>(|_, params| async move {
            match params.key.as_deref() {
                Some("panic") => panic!("as asked"),
                Some("fail") => Err(WireError::new(ErrorCode::NotFound, "no such key")),
                _ => Ok(config::ConfigGetResult { settings: vec![] }),
            }
        })
        .method::<config::Set, _, _>(|call, params| async move {
            let whole = format!("{}/{}/{}", call.caller, call.surface, call.scopes);
            Ok(config::ConfigChange {
                key: params.key,
                value: json!(whole),
                applied: config::ApplyStatus::Now,
            })
        })
}

fn get(key: Option<&str>) -> config::ConfigGetParams {
    config::ConfigGetParams {
        key: key.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_room_answers_typed_calls() {
    let bus = Bus::in_memory(&TaskGroup::new());
    bus.serve(settings()).expect("served");
    let caller = bus.caller("test");
    let found = caller.call::<config::Get>(&get(None)).await.expect("found");
    assert!(found.settings.is_empty());
    let failed = caller.call::<config::Get>(&get(Some("fail"))).await;
    assert_eq!(failed.expect_err("failed").code, ErrorCode::NotFound);
    let none = caller
        .call::<daemon::Status>(&daemon::DaemonStatusParams {})
        .await;
    assert_eq!(none.expect_err("nobody").code, ErrorCode::NoHandler);
}

#[tokio::test]
async fn a_room_answers_a_connection_with_the_same_bytes() {
    let fixture = TestBus::new();
    fixture.bus.serve(settings()).expect("served");
    let mut wire = fixture.owner();
    assert_eq!(
        wire.call("config.get", json!({})).await,
        Ok(json!({ "settings": [] }))
    );
    wire.send(json!({ "type": "req", "id": "bare", "method": "config.get" }))
        .await;
    assert_eq!(code(&wire.answer_to("bare").await), "OK");
    let refused = wire.call("config.get", json!({ "color": 1 })).await;
    assert_eq!(code(&refused), "INVALID_PARAMS");
}

#[tokio::test]
async fn a_call_carries_who_asked() {
    let fixture = TestBus::new();
    fixture.bus.serve(settings()).expect("served");
    let mut wire = fixture.owner();
    let params = json!({ "key": "a", "value": 1 });
    let changed = wire.call("config.set", params.clone()).await.expect("set");
    assert_eq!(changed["value"], "owner/ws/admin");
    let caller = fixture.bus.caller("cron");
    let body = Bytes::from(params.to_string());
    let raw = caller.call_raw("config.set", Some(body), Some("t1")).await;
    let raw = raw.expect("set").expect("a payload");
    assert!(
        std::str::from_utf8(&raw)
            .expect("text")
            .contains("cron/house/admin")
    );
    let traced = gateway::GatewayTraceParams {
        trace: Some("t1".into()),
    };
    let traced = caller
        .call::<gateway::Trace>(&traced)
        .await
        .expect("traced");
    assert_eq!(traced.spans[0].caller, "cron");
}

#[tokio::test]
async fn a_request_made_for_a_peer_has_its_scopes() {
    let bus = Bus::in_memory(&TaskGroup::new());
    bus.serve(settings()).expect("served");
    let caller = bus
        .caller_as(PeerIdentity {
            name: "page".into(),
            surface: "http",
            principal: "page".into(),
            scopes: Scopes::rank(Scope::Read),
        })
        .expect("room");
    caller
        .call::<config::Get>(&get(None))
        .await
        .expect("may read");
    let params = config::ConfigSetParams {
        key: "a".into(),
        value: json!(1),
    };
    let refused = caller.call::<config::Set>(&params).await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::Forbidden);
    bus.close_principal("page");
    let refused = caller.call::<config::Get>(&get(None)).await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::Unauthorized);
}

#[tokio::test]
async fn params_from_outside_must_be_one_json_value() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let caller = fixture.bus.caller("rest");
    for body in [r#"{},"id":"forged""#, "{", "", "\u{0}", "[1] [2]"] {
        let refused = caller
            .call_raw("echo.say", Some(Bytes::from(body)), None)
            .await;
        assert_eq!(
            refused.expect_err("refused").code,
            ErrorCode::ParseError,
            "{body}"
        );
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let refused = caller
        .call_raw("echo.say", Some(Bytes::from(deep)), None)
        .await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::ParseError);
    assert!(service.is_silent().await);
}

#[tokio::test]
async fn a_panic_fails_its_own_request_only() {
    let bus = Bus::in_memory(&TaskGroup::new());
    bus.serve(settings()).expect("served");
    let caller = bus.caller("test");
    for _ in 0..3 {
        let failed = caller.call::<config::Get>(&get(Some("panic"))).await;
        assert_eq!(failed.expect_err("failed").code, ErrorCode::Internal);
        caller
            .call::<config::Get>(&get(None))
            .await
            .expect("goes on");
    }
    assert_eq!(bus.counters().handler_panics_total, 3);
}

#[tokio::test]
async fn concurrency_is_bounded_and_the_rest_waits_or_is_refused() {
    let limits = BusLimits {
        outbox_frames_max: 4,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 10);
    let at_work = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let open = Arc::new(AtomicBool::new(false));
    let (working, peak, gate) = (at_work.clone(), most.clone(), open.clone());
    let room = Room::new("daemon")
        .concurrency(2)
        .method::<config::Get, _, _>(move |_, _| {
            let (working, peak, gate) = (working.clone(), peak.clone(), gate.clone());
            async move {
                peak.fetch_max(working.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                until(|| gate.load(Ordering::SeqCst)).await;
                working.fetch_sub(1, Ordering::SeqCst);
                Ok(config::ConfigGetResult { settings: vec![] })
            }
        });
    fixture.bus.serve(room).expect("served");
    let mut wires: Vec<TestPeer> = (0..6).map(|_| fixture.owner()).collect();
    for (before, wire) in wires.iter_mut().enumerate() {
        wire.ask("config.get", json!({})).await;
        until(|| at_work.load(Ordering::SeqCst) == (before + 1).min(2)).await;
    }
    let mut wire = fixture.owner();
    assert_eq!(
        code(&wire.call("config.get", json!({})).await),
        "OVERLOADED"
    );
    open.store(true, Ordering::SeqCst);
    for wire in &mut wires {
        assert_eq!(code(&wire.answer_to("q1").await), "OK");
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_room_hears_events_in_order_and_a_panic_stops_nothing() {
    let fixture = TestBus::new();
    let received = Arc::new(Mutex::new(Vec::new()));
    let (typed, raw) = (received.clone(), received.clone());
    let room = Room::new("daemon")
        .on::<log::LogLine, _, _>(move |notice, line| {
            let typed = typed.clone();
            async move {
                assert_eq!(&*notice.topic, "log.line");
                assert!(line.message != "panic", "as asked");
                typed.lock().expect("held").push(line.message);
            }
        })
        .subscribe("a.*", move |notice| {
            let raw = raw.clone();
            async move {
                let payload = notice.payload.expect("a payload");
                let text = String::from_utf8(payload.to_vec()).expect("text");
                raw.lock().expect("held").push(text);
            }
        });
    fixture.bus.serve(room).expect("served");
    let line = |message: &str| log::LogRecord {
        at: 0,
        level: "info".into(),
        target: String::new(),
        message: message.into(),
    };
    let emitter = fixture.bus.emitter("log");
    emitter.emit::<log::LogLine>(None, &line("one"));
    emitter.emit::<log::LogLine>(None, &line("panic"));
    emitter.emit::<log::LogLine>(None, &line("two"));
    for n in 1..=3 {
        fixture.append("a.x", None, json!(n)).await;
    }
    until(|| received.lock().expect("held").len() == 5).await;
    let received = received.lock().expect("held").clone();
    let of = |wanted: &[&str]| -> Vec<String> {
        received
            .iter()
            .filter(|it| wanted.contains(&it.as_str()))
            .cloned()
            .collect()
    };
    assert_eq!(of(&["one", "two"]), ["one", "two"]);
    assert_eq!(of(&["1", "2", "3"]), ["1", "2", "3"]);
    assert_eq!(fixture.bus.counters().handler_panics_total, 1);
}

#[tokio::test]
async fn a_room_too_slow_for_events_goes_on_from_the_log() {
    let limits = BusLimits {
        outbox_frames_max: 8,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 100_000);
    let received = Arc::new(Mutex::new(Vec::new()));
    let open = Arc::new(AtomicBool::new(false));
    let (notes, gate) = (received.clone(), open.clone());
    let room = Room::new("daemon").subscribe("a.*", move |notice| {
        let (notes, gate) = (notes.clone(), gate.clone());
        async move {
            until(|| gate.load(Ordering::SeqCst)).await;
            let payload = notice.payload.expect("a payload");
            let number: u64 = serde_json::from_slice(&payload).expect("a number");
            notes.lock().expect("held").push(number);
        }
    });
    fixture.bus.serve(room).expect("served");
    for n in 1..=500 {
        fixture.append("a.x", None, json!(n)).await;
    }
    open.store(true, Ordering::SeqCst);
    until(|| received.lock().expect("held").len() == 500).await;
    let received = received.lock().expect("held").clone();
    assert_eq!(received, (1..=500).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_emitted_event_carries_its_session() {
    let fixture = TestBus::new();
    fixture
        .bus
        .serve(Room::new("log").event::<log::LogLine>())
        .expect("served");
    let mut wire = fixture.owner();
    let params = json!({ "events": ["log.line"], "sessionKey": "k" });
    wire.call("gateway.subscribe", params)
        .await
        .expect("subscribed");
    let line = |message: &str| log::LogRecord {
        at: 0,
        level: "info".into(),
        target: String::new(),
        message: message.into(),
    };
    let tag = |id: &str, key: &str| {
        Some(SessionTag {
            id: id.into(),
            key: Some(key.into()),
        })
    };
    let emitter = fixture.bus.emitter("log");
    emitter.emit::<log::LogLine>(None, &line("none"));
    emitter.emit::<log::LogLine>(tag("1", "other"), &line("other"));
    emitter.emit::<log::LogLine>(tag("2", "k"), &line("mine"));
    assert_eq!(wire.event().await["payload"]["message"], "mine");
}

#[tokio::test]
async fn rooms_are_not_served_twice() {
    let bus = Bus::in_memory(&TaskGroup::new());
    bus.serve(settings()).expect("served");
    let again = bus.serve(settings()).expect_err("taken");
    assert_eq!(again.code, ErrorCode::RegisterFailed);
    let other = Room::new("other").method::<config::Get, _, _>(|_, _| async {
        Ok(config::ConfigGetResult { settings: vec![] })
    });
    assert!(bus.serve(other).is_err());
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_nothing_behind() {
    let fixture = TestBus::new();
    let mut service = fixture.service("sleepy", &["sleepy.work"]).await;
    let caller = fixture.bus.caller("test");
    let call = caller.call_raw("sleepy.work", None, None);
    assert!(
        tokio::time::timeout(Duration::from_millis(20), call)
            .await
            .is_err()
    );
    let request = service.request().await;
    service.reply(&request, json!(1)).await;
    assert_eq!(fixture.bus.counters().pending_requests, 0);
    let mut wire = fixture.owner();
    let seen = wire.call("gateway.inspect", json!({})).await.expect("seen");
    let names = |seen: &serde_json::Value| {
        let connections = seen["connections"].as_array().expect("a list").clone();
        connections
            .iter()
            .map(|it| it["name"].clone())
            .collect::<Vec<_>>()
    };
    assert!(names(&seen).contains(&json!("test")));
    drop(caller);
    let seen = wire.call("gateway.inspect", json!({})).await.expect("seen");
    assert!(!names(&seen).contains(&json!("test")));
}

#[tokio::test]
async fn rooms_call_each_other() {
    let bus = Bus::in_memory(&TaskGroup::new());
    bus.serve(settings()).expect("served");
    let inner = bus.caller("sessions");
    let room = Room::new("sessions").method::<session::Delete, _, _>(move |_, _| {
        let inner = inner.clone();
        async move {
            inner.call::<config::Get>(&get(Some("fail"))).await?;
            unreachable!("the error travels")
        }
    });
    bus.serve(room).expect("served");
    let params = session::SessionDeleteParams {
        session_key: "k".into(),
    };
    let failed = bus.caller("test").call::<session::Delete>(&params).await;
    assert_eq!(failed.expect_err("failed").code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_are_taken_up_in_the_order_they_came() {
    let fixture = TestBus::new();
    let begun: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&begun);
    let room = Room::new("config").method::<config::Get, _, _>(move |_, params| {
        let noted = Arc::clone(&noted);
        async move {
            let key = params.key.unwrap_or_default();
            // Every second one is slow to begin, and would be overtaken if it could be.
            if key.ends_with(['0', '2', '4', '6', '8']) {
                std::thread::sleep(Duration::from_micros(200));
            }
            noted.lock().expect("no panic").push(key);
            tokio::task::yield_now().await;
            Ok(config::ConfigGetResult { settings: vec![] })
        }
    });
    fixture.bus.serve(room).expect("served");
    let mut wire = fixture.owner();
    let sent: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    let mut ids = Vec::new();
    for key in &sent {
        ids.push(wire.ask("config.get", json!({ "key": key })).await);
    }
    for id in ids {
        wire.answer_to(&id).await.expect("answered");
    }
    assert_eq!(*begun.lock().expect("no panic"), sent);
}

/// A room whose answers wait until they are let go, and which notes who gave up.
fn patient(go: &Arc<tokio::sync::Notify>, abandoned: &Arc<AtomicUsize>) -> Room {
    let (go, abandoned) = (Arc::clone(go), Arc::clone(abandoned));
    Room::new("config").method::<config::Get, _, _>(move |call, _| {
        let (go, abandoned) = (Arc::clone(&go), Arc::clone(&abandoned));
        async move {
            tokio::select! {
                () = go.notified() => {}
                () = call.abandoned.cancelled() => {
                    abandoned.fetch_add(1, Ordering::SeqCst);
                }
            }
            Ok(config::ConfigGetResult { settings: vec![] })
        }
    })
}

#[tokio::test]
async fn a_room_may_take_as_long_as_it_needs() {
    let fixture = TestBus::new();
    let (go, abandoned) = (Arc::default(), Arc::default());
    fixture.bus.serve(patient(&go, &abandoned)).expect("served");
    fixture.bus.limits().set_request_timeout_ms(50);
    let mut wire = fixture.owner();
    let id = wire.ask("config.get", json!({})).await;
    until(|| fixture.bus.counters().pending_requests == 1).await;
    fixture.clock.advance(86_400_000);
    // Two rounds of the sweeper.
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(wire.is_silent().await, "no timeout");
    go.notify_one();
    assert_eq!(code(&wire.answer_to(&id).await), "OK");
}

#[tokio::test]
async fn a_handler_is_told_when_nobody_waits_any_more() {
    let fixture = TestBus::new();
    let (go, abandoned): (Arc<tokio::sync::Notify>, Arc<AtomicUsize>) = Default::default();
    fixture.bus.serve(patient(&go, &abandoned)).expect("served");
    let waiting = || fixture.bus.counters().pending_requests;
    let told = || abandoned.load(Ordering::SeqCst);
    // A connection that closes.
    let mut wire = fixture.owner();
    wire.ask("config.get", json!({})).await;
    until(|| waiting() == 1).await;
    drop(wire);
    until(|| told() == 1 && waiting() == 0).await;
    // A call inside the house that is dropped, beside one that is not.
    let caller = fixture.bus.caller("test");
    let params = get(None);
    {
        let kept = caller.call::<config::Get>(&params);
        let dropped = caller.call::<config::Get>(&params);
        tokio::pin!(kept);
        {
            tokio::pin!(dropped);
            tokio::select! {
                biased;
                _ = &mut kept => panic!("waits"),
                _ = &mut dropped => panic!("waits"),
                () = until(|| waiting() == 2) => {}
            }
        }
        until(|| told() == 2 && waiting() == 1).await;
        go.notify_one();
        kept.await.expect("is answered");
    }
    // A caller that acts for a peer and is dropped with its call.
    let peer = PeerIdentity {
        name: "page".into(),
        surface: "http",
        principal: "page".into(),
        scopes: Scopes::owner(),
    };
    let page = fixture.bus.caller_as(peer).expect("room");
    tokio::select! {
        _ = page.call::<config::Get>(&params) => panic!("waits"),
        () = until(|| waiting() == 1) => {}
    }
    drop(page);
    until(|| told() == 3 && waiting() == 0).await;
}
