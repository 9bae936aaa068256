//! The listeners that are opted into, and the gateway alone.

use super::http;
use super::wire::{DEADLINE, Peer, Surface, serve, texts, ws_request_to};
use crate::support::House;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The address of the listener named `surface`.
async fn listener(house: &House, surface: &str) -> String {
    let mut owner = Peer::owner(house).await;
    let status = owner.call("daemon.status", json!({})).await;
    let listeners = texts(&status, "listeners");
    let found = listeners
        .iter()
        .find_map(|line| line.strip_prefix(&format!("{surface} ")));
    found
        .unwrap_or_else(|| panic!("{surface} in {listeners:?}"))
        .to_owned()
}

#[tokio::test]
async fn the_vargos_listener_takes_old_clients_as_they_are() {
    let house = House::builder()
        .config("[listen]\nvargos = \"127.0.0.1:0\"\n")
        .start();
    let address = listener(&house, "vargos").await;
    let url = format!("ws://{address}/");
    // No token, no path: what an old service sends.
    let mut agent = Peer::ws(ws_request_to(&url))
        .await
        .expect("opting in is the grant");
    let params = json!({
        "service": "smith", "version": "1.0.0", "methods": ["smith.run"],
        "events": ["smith.delta"], "subscriptions": ["message.received"],
    });
    let table = agent.call("gateway.register", params).await;
    assert!(
        texts(&table, "methods").contains(&"smith.run".to_owned()),
        "{table}"
    );
    serve(agent, |request| json!({ "ran": request["params"]["task"] }));
    let mut client = Peer::ws(ws_request_to(&url))
        .await
        .expect("opting in is the grant");
    let ran = client.call("smith.run", json!({ "task": "dig" })).await;
    assert_eq!(ran, json!({ "ran": "dig" }));
    // A built-in name stays ours, and what rules the house is not in the dialect.
    let taken = json!({ "service": "sessions", "methods": ["session.list"] });
    client
        .refused("REGISTER_FAILED", "gateway.register", taken)
        .await;
    for method in ["token.create", "token.list", "config.set"] {
        let error = client
            .ask(method, json!({}))
            .await
            .expect_err("it must be refused");
        assert!(
            error["code"] == "FORBIDDEN" || error["code"] == "NO_HANDLER",
            "{method}: {error}"
        );
    }
    let mut request = ws_request_to(&url);
    request
        .headers_mut()
        .insert("origin", "http://evil.test".parse().expect("a header"));
    assert_eq!(Peer::ws(request).await.err(), Some(403));
    let mut request = ws_request_to(&url);
    request
        .headers_mut()
        .insert("host", "evil.test".parse().expect("a header"));
    assert_eq!(Peer::ws(request).await.err(), Some(403));
    // The main listener is as closed as ever.
    let open = Peer::ws(ws_request_to(&format!("ws://{}/", house.address()))).await;
    assert!(open.is_err());
}

#[tokio::test]
async fn the_archy_socket_speaks_its_dialect_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("archy.sock").display().to_string();
    let house = House::builder().env("ARCHY_SOCKET", &socket).start();
    assert_eq!(listener(&house, "archy").await, socket);
    let ask = async |action: &str| {
        let mut stream = UnixStream::connect(&socket).await.expect("it is open");
        let request = json!({ "action": action, "data": {} }).to_string();
        let written = stream.write_all(request.as_bytes()).await;
        written.expect("it is taken");
        let mut answer = String::new();
        let read = timeout(DEADLINE, stream.read_to_string(&mut answer)).await;
        read.expect("it is closed in time").expect("no reset");
        serde_json::from_str::<serde_json::Value>(&answer).expect("one document")
    };
    let refused =
        |why: &str| json!({ "success": false, "output": null, "error": why, "exists": null });
    for action in [
        "token.create",
        "gateway.register",
        "config_set",
        "session.list",
        "",
    ] {
        assert_eq!(ask(action).await, refused("Unknown action"), "{action}");
    }
    let missing = refused("Missing required parameter: command");
    assert_eq!(ask("execute").await, missing);
    // A frame of the wire is no request of Archy's.
    let mut stream = UnixStream::connect(&socket).await.expect("it is open");
    let frame = json!({ "type": "req", "id": "1", "target": "", "method": "gateway.stats" });
    let written = stream.write_all(frame.to_string().as_bytes()).await;
    written.expect("it is taken");
    let mut answer = String::new();
    let read = timeout(DEADLINE, stream.read_to_string(&mut answer)).await;
    read.expect("it is closed in time").expect("no reset");
    assert!(
        answer.contains("Invalid JSON: missing field `action`"),
        "{answer}"
    );
}

#[tokio::test]
async fn without_opting_in_there_is_no_open_listener() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    let status = owner.call("daemon.status", json!({})).await;
    let listeners = texts(&status, "listeners");
    assert!(
        listeners.iter().all(|line| !line.starts_with("vargos")),
        "{listeners:?}"
    );
}

#[tokio::test]
async fn bare_leaves_every_name_but_the_gateways_to_others() {
    let house = House::builder().arg("--bare").start();
    let mut peer = Peer::owner(&house).await;
    peer.refused("NO_HANDLER", "session.list", json!({})).await;
    peer.refused(
        "REGISTER_FAILED",
        "gateway.register",
        json!({ "service": "gateway" }),
    )
    .await;
    let mut foreign = Peer::on(Surface::Unix, &house, &house.token()).await;
    let params = json!({
        "service": "sessions", "methods": ["session.create", "session.list"],
        "events": ["session.created"],
    });
    foreign.call("gateway.register", params).await;
    let mut agent = Peer::owner(&house).await;
    agent.register("agent", &["agent.run"]).await;
    peer.subscribe(&["session.*"]).await;
    foreign
        .emit("session.created", json!({ "sessionKey": "theirs" }))
        .await;
    let event = peer.event().await;
    assert_eq!(
        (&event["source"], &event["payload"]["sessionKey"]),
        (&json!("sessions"), &json!("theirs"))
    );
    serve(foreign, |request| json!({ "foreign": request["method"] }));
    let answer = peer
        .call("session.list", json!({ "anything": "goes" }))
        .await;
    assert_eq!(answer, json!({ "foreign": "session.list" }));
    let answer = http::rpc(&house, &house.token(), "session.create", "{}").await;
    assert_eq!(answer.json(), json!({ "foreign": "session.create" }));
    drop(agent);
}

#[tokio::test]
async fn bare_with_the_vargos_listener_serves_a_foreign_suite() {
    let house = House::builder()
        .arg("--bare")
        .env("HOB_LISTEN_VARGOS", "127.0.0.1:0")
        .start();
    let state = house.home().join("run/daemon.json");
    assert!(state.exists());
    let mut owner = Peer::owner(&house).await;
    // Bare has no status service, so the address is read from the log.
    let address = match owner.ask("daemon.status", json!({})).await {
        Ok(status) => {
            let lines = texts(&status, "listeners");
            lines
                .iter()
                .find_map(|line| line.strip_prefix("vargos "))
                .map(str::to_owned)
        }
        Err(_) => None,
    };
    let address = address.unwrap_or_else(|| vargos_from_log(&house));
    let url = format!("ws://{address}/");
    let mut sessions = Peer::ws(ws_request_to(&url))
        .await
        .expect("opting in is the grant");
    sessions.register("sessions", &["session.list"]).await;
    let mut caller = Peer::ws(ws_request_to(&url))
        .await
        .expect("opting in is the grant");
    let id = caller.post("session.list", json!({})).await;
    let seen = tokio::time::timeout(DEADLINE, sessions.request())
        .await
        .expect("it is routed");
    sessions.reply(&seen, json!([])).await;
    assert_eq!(caller.answer(&id).await["payload"], json!([]));
}

/// The address of the Vargos listener, as the daemon's log tells it.
fn vargos_from_log(house: &House) -> String {
    let log = std::fs::read_to_string(house.home().join("logs/hob.log")).expect("a log");
    let line = log.lines().find(|line| line.contains("Vargos"));
    let port = line.and_then(|line| line.split("127.0.0.1:").nth(1));
    let port: String = port
        .unwrap_or_default()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    assert!(!port.is_empty(), "{log}");
    format!("127.0.0.1:{port}")
}
