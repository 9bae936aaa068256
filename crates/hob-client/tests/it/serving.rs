//! Services: requests are answered, panics are contained, and the registration is renewed.

use crate::fake::{Daemon, Peer, soon};
use hob_client::{Client, ClientError, DaemonTarget, ServiceDefinition, ServiceHandle};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};

fn weather() -> ServiceDefinition {
    ServiceDefinition::new("weather", "1.0")
        .method("weather.now", async |_, params: Value| {
            Ok::<_, WireError>(json!({ "place": params["place"], "degrees": 21 }))
        })
        .method("weather.fail", async |_, (): ()| {
            let error = WireError::new(ErrorCode::NotFound, "No such place.");
            Err::<Value, _>(error)
        })
        .method(
            "weather.panic",
            async |_, (): ()| -> Result<Value, WireError> { panic!("on purpose") },
        )
        .logged_event("weather.changed")
        .volatile_event("weather.gust")
}

async fn registered(daemon: &Daemon) -> Peer {
    let mut peer = daemon.accept().await;
    let (id, params) = peer.expect("gateway.register").await;
    let methods = ["weather.now", "weather.fail", "weather.panic"];
    assert_eq!(params["service"], "weather");
    assert_eq!(params["methods"], json!(methods));
    assert_eq!(params["events"], json!(["weather.changed", "weather.gust"]));
    assert_eq!(params["volatile"], json!(["weather.gust"]));
    let table = json!({ "services": ["weather"], "methods": methods, "events": [] });
    peer.answer(&id, &table).await;
    peer
}

/// A daemon, the client with its own connection for calls, and the service with its connection.
async fn serving() -> (Daemon, (Client, Peer), ServiceHandle, Peer) {
    let daemon = Daemon::start();
    let (client, calls) = tokio::join!(
        Client::connect(DaemonTarget::home(daemon.home())),
        daemon.accept()
    );
    let client = client.expect("connects");
    let (serving, peer) = tokio::join!(client.serve(weather()), registered(&daemon));
    (daemon, (client, calls), serving.expect("registers"), peer)
}

async fn ask(peer: &mut Peer, id: &str, method: &str, params: &Value) -> Value {
    let mut frame = json!({ "type": "req", "id": id, "target": "", "method": method });
    if !params.is_null() {
        frame["params"] = params.clone();
    }
    peer.write(&frame).await;
    let answer = peer.next().await.expect("an answer");
    assert_eq!(answer["id"], id);
    answer
}

#[tokio::test]
async fn requests_are_answered_and_a_panic_fails_only_its_own() {
    let (_daemon, _client, serving, mut peer) = serving().await;
    assert_eq!(serving.table().services, ["weather"]);
    let answer = ask(&mut peer, "1", "weather.now", &json!({ "place": "Bath" })).await;
    assert_eq!(answer["payload"], json!({ "place": "Bath", "degrees": 21 }));
    let answer = ask(&mut peer, "2", "weather.panic", &Value::Null).await;
    assert_eq!(answer["error"]["code"], "INTERNAL");
    let answer = ask(&mut peer, "3", "weather.fail", &Value::Null).await;
    assert_eq!(
        answer["error"],
        json!({ "code": "NOT_FOUND", "message": "No such place." })
    );
    let answer = ask(&mut peer, "4", "weather.never", &Value::Null).await;
    assert_eq!(answer["error"]["code"], "NO_HANDLER");
    let answer = ask(&mut peer, "5", "weather.fail", &json!([1])).await;
    assert_eq!(answer["error"]["code"], "INVALID_PARAMS");
    let answer = ask(&mut peer, "6", "weather.now", &json!({})).await;
    assert_eq!(answer["ok"], true);
}

#[tokio::test]
async fn a_lost_connection_is_registered_again() {
    let (daemon, _client, serving, peer) = serving().await;
    drop(peer);
    let mut peer = registered(&daemon).await;
    let answer = ask(&mut peer, "1", "weather.now", &json!({ "place": "Rome" })).await;
    assert_eq!(answer["payload"]["place"], "Rome");
    drop(serving);
    assert_eq!(peer.next().await, None, "dropping it ends it");
}

#[tokio::test]
async fn a_name_taken_meanwhile_ends_the_service_with_the_reason() {
    let (daemon, _client, serving, peer) = serving().await;
    drop(peer);
    let mut peer = daemon.accept().await;
    let (id, _) = peer.expect("gateway.register").await;
    peer.refuse(&id, "REGISTER_FAILED", "Another program is weather.")
        .await;
    let ended = soon(serving.wait_for_failure()).await;
    assert_eq!(ended.code(), Some(ErrorCode::RegisterFailed));
}

#[tokio::test]
async fn events_are_emitted_in_order_and_only_declared_ones() {
    let (_daemon, _client, serving, mut peer) = serving().await;
    for degrees in [1, 2, 3] {
        let payload = json!({ "degrees": degrees });
        serving
            .emit("weather.changed", &payload)
            .await
            .expect("declared");
    }
    let undeclared = serving.emit("weather.other", &json!({})).await;
    assert!(matches!(undeclared, Err(ClientError::BadTarget { .. })));
    soon(serving.finish()).await;
    for degrees in [1, 2, 3] {
        let frame = peer.next().await.expect("an event");
        assert_eq!(frame["event"], "weather.changed");
        assert_eq!(frame["payload"]["degrees"], degrees);
    }
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn more_requests_than_handlers_are_told_to_come_back() {
    let daemon = Daemon::start();
    let (client, _calls) = tokio::join!(
        Client::connect(DaemonTarget::home(daemon.home())),
        daemon.accept()
    );
    let client = client.expect("connects");
    let (open, gate) = tokio::sync::watch::channel(false);
    let service =
        ServiceDefinition::new("slow", "1")
            .concurrency(1)
            .method("slow.work", move |_, (): ()| {
                let mut gate = gate.clone();
                async move {
                    drop(gate.wait_for(|open| *open).await);
                    Ok::<_, WireError>("done")
                }
            });
    let accept = async {
        let mut peer = daemon.accept().await;
        let (id, _) = peer.expect("gateway.register").await;
        peer.answer(&id, &json!({ "services": [], "methods": [], "events": [] }))
            .await;
        peer
    };
    let (serving, mut peer) = tokio::join!(client.serve(service), accept);
    let _serving = serving.expect("registers");
    peer.write(&json!({ "type": "req", "id": "1", "method": "slow.work" }))
        .await;
    let refused = ask(&mut peer, "2", "slow.work", &Value::Null).await;
    assert_eq!(refused["error"]["code"], "OVERLOADED");
    assert_eq!(refused["error"]["retryable"], true);
    open.send_replace(true);
    let answer = peer.next().await.expect("an answer");
    assert_eq!(
        (&answer["id"], &answer["payload"]),
        (&json!("1"), &json!("done"))
    );
}
