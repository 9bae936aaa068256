//! The listener of a bare daemon, where all of Vargos's services are outside: a gateway as its own.

use crate::conformance::wire::{DEADLINE, Peer, ws_request_to};
use crate::support::House;
use serde_json::{Value, json};

fn bare() -> House {
    House::builder()
        .arg("--bare")
        .env("HOB_LISTEN_VARGOS", "127.0.0.1:0")
        .start()
}

/// Bare has no status service, so the address is read from the log.
fn address(house: &House) -> String {
    let log = std::fs::read_to_string(house.home().join("logs/hob.log")).expect("a log");
    let line = log.lines().find(|line| line.contains("Vargos"));
    let port = line.and_then(|line| line.split("127.0.0.1:").nth(1));
    let digits = port.unwrap_or_default().chars();
    let port: String = digits.take_while(char::is_ascii_digit).collect();
    assert!(!port.is_empty(), "{log}");
    format!("127.0.0.1:{port}")
}

async fn connect(house: &House) -> Peer {
    let url = format!("ws://{}/", address(house));
    let opened = Peer::ws(ws_request_to(&url)).await;
    opened.expect("opening it is the grant")
}

async fn register(peer: &mut Peer, service: &str, methods: &[&str], lists: [&[&str]; 2]) {
    let params = json!({
        "service": service, "version": "1.0.0", "methods": methods, "events": lists[0],
        "subscriptions": lists[1],
    });
    peer.call("gateway.register", params).await;
}

#[tokio::test]
async fn requests_and_answers_of_outside_rooms_are_not_translated() {
    let house = bare();
    let mut agent = connect(&house).await;
    let methods = ["agent.run", "session.list", "tool.execute"];
    register(&mut agent, "agent", &methods, [&["run.delta"], &[]]).await;
    let mut cli = connect(&house).await;
    register(&mut cli, "cli", &[], [&[], &["run.delta"]]).await;
    let asked =
        json!({ "sessionKey": "cli:chat", "task": "dig", "retrigger": true, "model": null });
    for (target, method) in [
        ("agent", "agent.run"),
        ("sessions", "session.list"),
        ("", "tool.execute"),
    ] {
        cli.send(json!({
            "type": "req", "id": method, "target": target, "method": method, "params": asked,
        }))
        .await;
        let request = tokio::time::timeout(DEADLINE, agent.request()).await;
        let request = request.expect("it is routed");
        assert_eq!(
            (&request["method"], &request["params"]),
            (&json!(method), &asked)
        );
        agent
            .reply(&request, json!({ "success": true, "odd": [] }))
            .await;
        let answer = cli.answer(method).await;
        assert_eq!(answer["payload"], json!({ "success": true, "odd": [] }));
    }
    agent
        .emit(
            "run.delta",
            json!({ "runId": "r", "kind": "thinking", "delta": "hm" }),
        )
        .await;
    let event = cli.event_of("run.delta").await;
    assert_eq!(event["payload"]["delta"], "hm");
}

#[tokio::test]
async fn events_are_numbered_from_one_for_each_subscriber() {
    let house = bare();
    let mut publisher = connect(&house).await;
    register(&mut publisher, "src", &[], [&["tick"], &[]]).await;
    let mut subscriber = connect(&house).await;
    register(&mut subscriber, "sink", &[], [&[], &["tick"]]).await;
    for n in 0..3 {
        publisher.emit("tick", json!({ "n": n })).await;
    }
    for n in 0..3 {
        let event = subscriber.event().await;
        assert_eq!(
            (&event["seq"], &event["payload"]["n"]),
            (&json!(n + 1), &json!(n))
        );
    }
}

#[tokio::test]
async fn undeclared_events_are_relayed() {
    let house = bare();
    let mut subscriber = connect(&house).await;
    register(&mut subscriber, "sink", &[], [&[], &["message.received"]]).await;
    let mut caller = connect(&house).await;
    register(&mut caller, "test-caller", &[], [&[], &[]]).await;
    caller.emit("message.received", json!({ "n": 1 })).await;
    let event = subscriber.event().await;
    assert_eq!(
        (&event["source"], &event["payload"]["n"]),
        (&json!("test-caller"), &json!(1))
    );
    // From a client that has not registered: by the name it gives, unless that is somebody's.
    let mut stranger = connect(&house).await;
    for (named, shown) in [
        ("phone", "phone"),
        ("test-caller", "vargos"),
        ("gateway", "vargos"),
    ] {
        stranger
            .send(json!({ "type": "event", "source": named, "event": "message.received", "payload": {} }))
            .await;
        assert_eq!(subscriber.event().await["source"], shown, "{named}");
    }
    // The bus's own events are nobody else's.
    stranger.emit("service.disconnected", Value::Null).await;
    assert_eq!(
        stranger.answer("unknown").await["error"]["code"],
        "FORBIDDEN"
    );
}

#[tokio::test]
async fn clients_of_one_name_live_side_by_side_and_a_server_takes_its_routes_back() {
    let house = bare();
    let mut old = connect(&house).await;
    register(&mut old, "echo", &["echo.ping"], [&[], &[]]).await;
    let mut first = connect(&house).await;
    register(&mut first, "cli", &[], [&[], &[]]).await;
    let pending = first.post("echo.ping", json!(1)).await;
    let mut second = connect(&house).await;
    register(&mut second, "cli", &[], [&[], &[]]).await;
    let request = old.request().await;
    old.reply(&request, json!("pong")).await;
    assert_eq!(first.answer(&pending).await["payload"], "pong");
    // Two that own methods: the newer one serves, and who waited for the older one is told.
    let pending = second.post("echo.ping", json!(2)).await;
    old.request().await;
    let mut new = connect(&house).await;
    register(&mut new, "echo", &["echo.ping"], [&[], &[]]).await;
    let answer = second.answer(&pending).await;
    assert_eq!(answer["error"]["code"], "SERVICE_UNAVAILABLE");
    let pending = first.post("echo.ping", json!(3)).await;
    let request = new.request().await;
    new.reply(&request, json!("again")).await;
    assert_eq!(first.answer(&pending).await["payload"], "again");
}
