//! The methods `gateway.*`.

use crate::fixture::{TestBus, code};
use hob_bus::{CloseReason, Room};
use hob_wire::rooms::{config, session};
use hob_wire::{Scope, Scopes};
use serde_json::{Value, json};

fn room() -> Room {
    Room::new("config")
        .method::<config::Get, _, _>(|_, _| async {
            Ok(config::ConfigGetResult { settings: vec![] })
        })
        .event::<config::ConfigChanged>()
        .subscribe("session.*", |_| async {})
}

#[tokio::test]
async fn describe_tells_schemas_limits_and_codes() {
    let fixture = TestBus::new();
    fixture.bus.serve(room()).expect("served");
    let mut mill = fixture.owner();
    let params = json!({ "service": "mill", "methods": ["mill.grind"], "events": ["mill.ground", "mill.dust"], "volatile": ["mill.dust"] });
    mill.call("gateway.register", params)
        .await
        .expect("registered");
    let mut wire = fixture.reader();
    let described = wire
        .call("gateway.describe", json!({}))
        .await
        .expect("described");
    assert_eq!(
        (&described["protocol"], &described["version"]),
        (&json!(1), &json!("test"))
    );
    assert_eq!(described["limits"]["frameBytesMax"], 8 * 1024 * 1024);
    assert_eq!(described["limits"]["requestTimeoutMs"], 300_000);
    assert_eq!(
        described["errors"].as_array().map(Vec::len),
        Some(hob_wire::ErrorCode::ALL.len())
    );
    let find = |list: &str, field: &str, name: &str| {
        let items = described[list].as_array().expect("a list");
        let found = items.iter().find(|it| it[field] == name);
        found
            .unwrap_or_else(|| panic!("{name} is described"))
            .clone()
    };
    let get = find("methods", "name", "config.get");
    assert_eq!(
        (&get["scope"], &get["effect"]),
        (&json!("read"), &json!("pure"))
    );
    assert!(get["params"]["properties"]["key"].is_object(), "{get}");
    let grind = find("methods", "name", "mill.grind");
    assert_eq!((grind.get("scope"), grind.get("params")), (None, None));
    assert_eq!(
        find("events", "topic", "mill.dust")["durability"],
        "volatile"
    );
    assert_eq!(
        find("events", "topic", "mill.ground")["durability"],
        "logged"
    );
    assert!(find("events", "topic", "config.changed")["payload"].is_object());
    assert_eq!(
        find("methods", "name", "gateway.describe")["service"],
        "gateway"
    );

    let one = wire
        .call("gateway.describe", json!({ "method": "config.get" }))
        .await;
    let one = one.expect("described");
    assert_eq!(one["methods"].as_array().map(Vec::len), Some(1));
    let none = wire
        .call("gateway.describe", json!({ "method": "no.such" }))
        .await;
    assert_eq!(code(&none), "NOT_FOUND");
}

#[tokio::test]
async fn inspect_shows_services_and_connections() {
    let fixture = TestBus::new();
    fixture.bus.serve(room()).expect("served");
    let mut mill = fixture.owner();
    let params = json!({ "service": "mill", "version": "3", "methods": ["mill.grind"], "subscriptions": ["a.*"] });
    mill.call("gateway.register", params)
        .await
        .expect("registered");
    let mut wire = fixture.owner();
    wire.ask("mill.grind", json!({})).await;
    let mut reader = fixture.reader();
    reader.subscribe(&["b.x", "b.*"]).await;
    let seen = reader
        .call("gateway.inspect", json!({}))
        .await
        .expect("seen");
    let services = seen["services"].as_array().expect("a list");
    let service = |name: &str| {
        services
            .iter()
            .find(|it| it["name"] == name)
            .expect("listed")
    };
    assert_eq!(service("config")["builtin"], true);
    assert_eq!(service("config")["subscriptions"], json!(["session.*"]));
    assert_eq!(service("mill")["builtin"], false);
    assert_eq!(service("mill")["version"], "3");
    assert_eq!(service("mill")["pendingRequests"], 1);
    assert_eq!(service("mill")["subscriptions"], json!(["a.*"]));
    let connections = seen["connections"].as_array().expect("a list");
    let names: Vec<&Value> = connections.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["reader", "owner", "mill"]);
    assert_eq!(connections[0]["subscriptions"], json!(["b.*", "b.x"]));
    assert_eq!(connections[0]["scopes"], json!(["read"]));
    assert_eq!(connections[0]["surface"], "ws");
    assert_eq!(connections[0]["connectedAt"], 1_000_000);
}

#[tokio::test]
async fn stats_count() {
    let fixture = TestBus::new();
    let _mill = fixture.service("mill", &["mill.grind"]).await;
    let mut wire = fixture.owner();
    fixture.append("a.x", None, json!(1)).await;
    wire.subscribe(&["*"]).await;
    wire.call("no.such", json!({})).await.expect_err("refused");
    wire.ask("mill.grind", json!({})).await;
    fixture.clock.advance(42);
    let stats = wire
        .call("gateway.stats", json!({}))
        .await
        .expect("counted");
    assert_eq!(stats["uptime"], 42);
    assert_eq!(stats["services"], 2);
    assert_eq!(stats["connections"], 2);
    assert_eq!(stats["pendingRequests"], 1);
    assert_eq!(stats["seq"], 1);
    assert_eq!(stats["requestsTotal"], 5);
    assert_eq!(stats["errorsTotal"], 1);
    assert_eq!(stats["eventsTotal"], 2);
}

#[tokio::test]
async fn auth_on_an_open_link_tells_who_it_is() {
    let fixture = TestBus::new();
    let mut wire = fixture.peer("me", Scopes::rank(Scope::Chat).with_service("mill"));
    let who = wire
        .call("gateway.auth", json!({ "token": "anything" }))
        .await;
    assert_eq!(
        who,
        Ok(json!({ "name": "me", "scopes": ["chat", "service:mill"], "protocol": 1 }))
    );
}

#[tokio::test]
async fn a_revoked_credential_loses_its_links_and_what_waits_there() {
    let fixture = TestBus::new();
    let mut revoked = fixture.peer("leaver", Scopes::rank(Scope::Read));
    revoked.subscribe(&["*"]).await;
    fixture.append("a.x", None, json!("secret")).await;
    let mut other = fixture.reader();
    fixture.bus.close_principal("leaver");
    assert_eq!(revoked.closed().await, CloseReason::Revoked);
    assert!(revoked.rest().await.is_empty());
    let asked = fixture.bus.counters().requests_total;
    revoked
        .send(json!({ "type": "req", "id": "1", "method": "gateway.stats" }))
        .await;
    assert_eq!(fixture.bus.counters().connections, 1);
    assert_eq!(
        fixture.bus.counters().requests_total,
        asked,
        "not even looked at"
    );
    assert_eq!(code(&other.call("gateway.stats", json!({})).await), "OK");
}

#[tokio::test]
async fn a_house_without_a_room_still_guards_its_events() {
    let fixture = TestBus::new();
    // A bare daemon replays what a whole one logged: `log.line` needs `control` all the same.
    let mut reader = fixture.reader();
    reader.subscribe(&["*"]).await;
    fixture.append("log.line", None, json!({})).await;
    fixture.append("session.created", None, json!({})).await;
    assert_eq!(reader.event().await["event"], "session.created");
    assert_eq!(session::EVENTS[0].topic, "session.created");
}
