//! Registration rules, and services that reconnect.

use crate::fixture::{TestBus, code};
use hob_bus::{CloseReason, Room};
use hob_wire::rooms::{gateway, session};
use hob_wire::{Scope, Scopes};
use serde_json::{Value, json};

#[tokio::test]
async fn a_registration_answers_the_routing_table() {
    let fixture = TestBus::new();
    let mut wire = fixture.owner();
    let params = json!({
        "service": "mill", "version": "2", "methods": ["mill.grind"],
        "events": ["mill.ground", "mill.dust"], "volatile": ["mill.dust"],
    });
    let table = wire
        .call("gateway.register", params)
        .await
        .expect("registered");
    let holds = |list: &str, name: &str| {
        let list = table[list].as_array().expect("a list");
        list.iter().any(|it| it == name)
    };
    assert!(holds("services", "mill") && holds("services", "gateway"));
    assert!(holds("methods", "mill.grind") && holds("methods", "gateway.stats"));
    assert!(holds("events", "mill.dust") && holds("events", "service.connected"));
}

#[tokio::test]
async fn built_in_names_are_never_given_away() {
    let fixture = TestBus::new();
    let room = Room::new("sessions")
        .method::<session::Get, _, _>(|_, _| async { unreachable!("never called") })
        .event::<session::SessionMessage>();
    fixture.bus.serve(room).expect("served");
    let mut thief = fixture.owner();
    for params in [
        json!({ "service": "gateway" }),
        json!({ "service": "sessions" }),
        json!({ "service": "thief", "methods": ["session.get"] }),
        json!({ "service": "thief", "methods": ["gateway.new"] }),
        json!({ "service": "thief", "events": ["session.message"] }),
        json!({ "service": "thief", "events": ["gateway.gap"] }),
        json!({ "service": "thief", "events": ["service.connected"] }),
    ] {
        let refused = thief.call("gateway.register", params.clone()).await;
        assert_eq!(code(&refused), "REGISTER_FAILED", "{params}");
    }
    // What no room serves is free: a bare daemon gives any name.
    let free = json!({ "service": "config", "methods": ["config.get"] });
    assert_eq!(code(&thief.call("gateway.register", free).await), "OK");
}

#[tokio::test]
async fn a_method_of_another_live_service_is_refused_and_its_owner_named() {
    let fixture = TestBus::new();
    let first = fixture.service("mill", &["mill.grind"]).await;
    let mut second = fixture.owner();
    let params = json!({ "service": "other", "methods": ["mill.grind"] });
    let refused = second.call("gateway.register", params.clone()).await;
    assert_eq!(code(&refused), "REGISTER_FAILED");
    let message = refused.expect_err("refused")["message"].to_string();
    assert!(message.contains("'mill'"), "{message}");
    drop(first);
    assert_eq!(code(&second.call("gateway.register", params).await), "OK");
}

#[tokio::test]
async fn the_same_credential_takes_its_service_back() {
    let fixture = TestBus::new();
    let mut old = fixture.service("mill", &["mill.grind", "mill.stop"]).await;
    let mut caller = fixture.owner();
    let waiting = caller.ask("mill.grind", json!({})).await;
    old.request().await;
    let mut new = fixture.service("mill", &["mill.grind"]).await;
    assert_eq!(
        code(&caller.answer_to(&waiting).await),
        "SERVICE_UNAVAILABLE"
    );
    assert_eq!(old.closed().await, CloseReason::Replaced);
    let id = caller.ask("mill.grind", json!({})).await;
    let request = new.request().await;
    new.reply(&request, json!("new")).await;
    assert_eq!(caller.answer_to(&id).await, Ok(json!("new")));
    assert_eq!(
        code(&caller.call("mill.stop", json!({})).await),
        "NO_HANDLER"
    );
    // The old connection's end takes nothing from the new one.
    drop(old);
    let id = caller.ask("mill.grind", json!({})).await;
    let request = new.request().await;
    new.reply(&request, json!(2)).await;
    assert_eq!(caller.answer_to(&id).await, Ok(json!(2)));
}

#[tokio::test]
async fn connections_without_methods_share_a_name() {
    let fixture = TestBus::new();
    let mut watcher = fixture.owner();
    watcher.subscribe(&["service.*"]).await;
    let mut first = fixture.service("cli", &[]).await;
    let mut second = fixture.service("cli", &[]).await;
    let mut server = fixture.service("cli", &["cli.show"]).await;
    let id = second.ask("cli.show", json!({})).await;
    let request = server.request().await;
    server.reply(&request, json!("shown")).await;
    assert_eq!(second.answer_to(&id).await, Ok(json!("shown")));
    assert!(first.is_silent().await);
    let table = first.call("gateway.inspect", json!({})).await;
    let services = table.expect("inspected")["services"].clone();
    let named = services.as_array().expect("a list").iter();
    assert_eq!(named.filter(|it| it["name"] == "cli").count(), 3);
    // The service is there as long as its methods are, or else as one connection.
    drop(first);
    drop(server);
    assert_eq!(
        code(&second.call("cli.show", json!({})).await),
        "NO_HANDLER"
    );
    drop(second);
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(watcher.event().await["event"].clone());
    }
    let (came, left) = (json!("service.connected"), json!("service.disconnected"));
    assert_eq!(told, [came.clone(), came, left.clone(), left]);
    assert!(watcher.is_silent().await);
}

#[tokio::test]
async fn a_shared_name_belongs_to_its_credential() {
    let fixture = TestBus::new();
    let _mute = fixture.service("cli", &[]).await;
    let mut thief = fixture.peer("thief", Scopes::none().with_service("cli"));
    let refused = thief
        .call("gateway.register", json!({ "service": "cli" }))
        .await;
    assert_eq!(code(&refused), "REGISTER_FAILED");
}

#[tokio::test]
async fn registering_again_under_a_shared_name_keeps_the_others() {
    let fixture = TestBus::new();
    let mut other = fixture.service("cli", &[]).await;
    let mut service = fixture.service("cli", &["cli.show"]).await;
    let params = json!({ "service": "shop", "methods": ["cli.show"] });
    service
        .call("gateway.register", params)
        .await
        .expect("registered");
    let id = other.ask("cli.show", json!({})).await;
    let request = service.request().await;
    assert_eq!(request["target"], "shop");
    service.reply(&request, json!(1)).await;
    assert_eq!(other.answer_to(&id).await, Ok(json!(1)));
    let table = other
        .call("gateway.register", json!({ "service": "cli" }))
        .await
        .expect("registered");
    assert_eq!(table["services"], json!(["cli", "gateway", "shop"]));
}

#[tokio::test]
async fn another_credential_does_not() {
    let fixture = TestBus::new();
    let mut mill = fixture.service("mill", &["mill.grind"]).await;
    let mut thief = fixture.peer("thief", Scopes::none().with_service("mill"));
    let params = json!({ "service": "mill", "methods": ["mill.grind"] });
    let refused = thief.call("gateway.register", params).await;
    assert_eq!(code(&refused), "REGISTER_FAILED");
    assert!(mill.is_silent().await);
}

#[tokio::test]
async fn registering_again_on_a_connection_replaces_what_it_offered() {
    let fixture = TestBus::new();
    let mut service = fixture.service("mill", &["mill.grind", "mill.stop"]).await;
    let mut watcher = fixture.owner();
    watcher.subscribe(&["service.*"]).await;
    let params = json!({ "service": "bakery", "methods": ["mill.stop", "bakery.bake"] });
    let table = service
        .call("gateway.register", params)
        .await
        .expect("registered");
    let services = table["services"].as_array().expect("a list");
    assert!(!services.contains(&json!("mill")), "{table}");
    for (topic, name) in [
        ("service.disconnected", "mill"),
        ("service.connected", "bakery"),
    ] {
        let event = watcher.event().await;
        assert_eq!(
            (&event["event"], &event["payload"]["service"]),
            (&json!(topic), &json!(name))
        );
    }
    assert_eq!(
        code(&watcher.call("mill.grind", json!({})).await),
        "NO_HANDLER"
    );
    let id = watcher.ask("mill.stop", json!({})).await;
    let request = service.request().await;
    assert_eq!(request["target"], "bakery");
    service.reply(&request, Value::Null).await;
    watcher.answer_to(&id).await.expect("answered");
}

#[tokio::test]
async fn a_service_credential_is_held_to_its_prefix() {
    let fixture = TestBus::new();
    let mut wire = fixture.peer("mill", Scopes::none().with_service("mill"));
    for (params, expected) in [
        (json!({ "service": "other" }), "FORBIDDEN"),
        (
            json!({ "service": "mill", "methods": ["other.grind"] }),
            "REGISTER_FAILED",
        ),
        (
            json!({ "service": "mill", "methods": ["millstone.grind"] }),
            "REGISTER_FAILED",
        ),
        (
            json!({ "service": "mill", "events": ["other.ground"] }),
            "REGISTER_FAILED",
        ),
        (
            json!({ "service": "mill", "subscriptions": ["other.*"] }),
            "FORBIDDEN",
        ),
        (
            json!({ "service": "mill", "subscriptions": ["*"] }),
            "FORBIDDEN",
        ),
        (
            json!({ "service": "mill", "subscriptions": ["session.message"] }),
            "FORBIDDEN",
        ),
        (
            json!({ "service": "mill", "methods": ["mill.grind"], "events": ["mill.ground"], "subscriptions": ["mill.*"] }),
            "OK",
        ),
    ] {
        let outcome = wire.call("gateway.register", params.clone()).await;
        assert_eq!(code(&outcome), expected, "{params}");
    }
    for method in ["gateway.stats", "gateway.inspect", "mill.grind"] {
        assert_eq!(
            code(&wire.call(method, json!({})).await),
            "FORBIDDEN",
            "{method}"
        );
    }
    // It sees its own events, and others' only if it may also read.
    wire.send(json!({ "type": "event", "event": "mill.ground", "payload": 1 }))
        .await;
    assert_eq!(wire.event().await["event"], "mill.ground");
    let mut reading = fixture.peer("reading", Scopes::rank(Scope::Read).with_service("mill2"));
    assert_eq!(reading.subscribe(&["*"]).await, 1);
}

#[tokio::test]
async fn a_reader_registers_nothing() {
    let fixture = TestBus::new();
    let mut wire = fixture.peer("control", Scopes::rank(Scope::Control));
    let refused = wire
        .call("gateway.register", json!({ "service": "mill" }))
        .await;
    assert_eq!(code(&refused), "FORBIDDEN");
}

#[tokio::test]
async fn malformed_registrations_are_refused() {
    let fixture = TestBus::new();
    let mut wire = fixture.owner();
    let many: Vec<String> = (0..1_025).map(|n| format!("mill.m{n}")).collect();
    for (params, expected) in [
        (json!({ "service": "no dots." }), "REGISTER_FAILED"),
        (json!({ "service": "" }), "REGISTER_FAILED"),
        (
            json!({ "service": "mill", "methods": many }),
            "REGISTER_FAILED",
        ),
        (
            json!({ "service": "mill", "methods": ["mill.*"] }),
            "REGISTER_FAILED",
        ),
        (
            json!({ "service": "mill", "events": ["mill event"] }),
            "REGISTER_FAILED",
        ),
        (
            json!({ "service": "mill", "volatile": ["mill.dust"] }),
            "REGISTER_FAILED",
        ),
        (
            json!({ "service": "mill", "subscriptions": ["a.*.b"] }),
            "INVALID_PARAMS",
        ),
        (
            json!({ "service": "mill", "color": "red" }),
            "INVALID_PARAMS",
        ),
        (json!({}), "INVALID_PARAMS"),
    ] {
        let refused = wire.call("gateway.register", params.clone()).await;
        assert_eq!(code(&refused), expected, "{params}");
    }
}

#[tokio::test]
async fn a_request_only_surface_can_neither_serve_nor_subscribe() {
    let fixture = TestBus::new();
    let caller = fixture.bus.caller("test");
    let params = gateway::GatewayRegisterParams {
        service: "mill".into(),
        ..Default::default()
    };
    let refused = caller.call::<gateway::Register>(&params).await;
    assert_eq!(
        refused.expect_err("refused").code.as_str(),
        "INVALID_PARAMS"
    );
    let params = gateway::GatewaySubscribeParams {
        events: vec!["*".into()],
        ..Default::default()
    };
    let refused = caller.call::<gateway::Subscribe>(&params).await;
    assert_eq!(
        refused.expect_err("refused").code.as_str(),
        "INVALID_PARAMS"
    );
}
