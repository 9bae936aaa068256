//! AgentLoop's dialect, with a fake agent and fake services.

mod agents;
mod attach;
mod services;
mod speech;

use crate::fake_agent::Agent;
use crate::house::{House, Socket, exchange};
use futures_util::SinkExt;
use serde_json::{Value, json};
use services::Services;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

async fn open_house() -> (House, String) {
    let config = "listen.agentloop = \"127.0.0.1:0\"\ndialect.agentloop.speech = \"\"";
    let house = House::with(config, Some("127.0.0.1:0")).await.unwrap();
    let listeners = house.gateway.listeners();
    let found = listeners
        .iter()
        .find_map(|line| line.strip_prefix("agentloop "));
    let address = found.expect("it is opened").to_owned();
    (house, address)
}

async fn with_token(house: &House, token: &str) -> Socket {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    Socket::open(&house.host(), "/agentloop", &headers)
        .await
        .unwrap()
}

async fn command(socket: &mut Socket, kind: &str, payload: Value) {
    socket
        .send(&json!({ "type": kind, "payload": payload }))
        .await;
}

/// Everything up to the first event that is like this.
async fn until(socket: &mut Socket, like: &Value) -> Vec<Value> {
    let like = like.as_object().unwrap();
    let mut events = Vec::new();
    loop {
        let event = socket.next().await;
        let found = like.iter().all(|(key, value)| event[key] == *value);
        events.push(event);
        if found {
            return events;
        }
    }
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

fn ready(session: &str) -> Value {
    json!({ "type": "session.status", "sessionId": session, "status": "idle", "detail": "Ready" })
}

/// An error, and then a sign of life.
async fn refused(socket: &mut Socket) -> String {
    let event = socket.next().await;
    assert_eq!(event["type"], "error", "{event}");
    command(socket, "agent.list", json!({})).await;
    assert_eq!(socket.next().await["type"], "agent.list");
    event["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_answer_comes_in_their_order() {
    let (house, address) = open_house().await;
    let agent = Agent::move_in(&house);
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    command(&mut socket, "session.create", json!({})).await;
    let created = socket.next().await;
    assert_eq!(created["type"], "session.created");
    let id = created["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(
        socket.next().await,
        json!({ "type": "session.status", "sessionId": id, "status": "idle", "detail": "Session ready" })
    );
    let message = json!({ "sessionId": id, "content": "Hi" });
    command(&mut socket, "session.send", message).await;
    let events = until(&mut socket, &ready(&id)).await;
    assert_eq!(
        types(&events),
        [
            "router.decision",
            "session.status",
            "session.status",
            "assistant.token",
            "assistant.message",
            "session.status"
        ]
    );
    assert_eq!(events[0]["routingMode"], "auto");
    assert_eq!(events[0]["agent"], "chat.quick");
    assert_eq!(events[0]["toolsAllowed"], json!([]));
    assert!(events[0]["reason"].is_string() && events[0]["durationMs"].is_u64());
    assert_eq!(
        (&events[1]["status"], &events[2]["status"]),
        (&json!("thinking"), &json!("streaming"))
    );
    assert_eq!(events[3]["token"], "Hello there");
    assert_eq!(events[4]["content"], "Hello there");
    assert!(events[4]["messageId"].is_string());
    assert_eq!(socket.next().await["type"], "perf.metric");
    let asked = agent.runs.lock().unwrap().last().unwrap().clone();
    assert_eq!(
        (asked.session_key, asked.task),
        (id.clone(), "Hi".to_owned())
    );
    assert_eq!((asked.tools, asked.ceiling), (Some(Vec::new()), None));
    // It is a session like any other.
    let seen = house
        .rpc(&house.owner(), "session.get", &json!({ "sessionKey": id }))
        .await;
    assert_eq!(seen.json()["id"], id);
    house.stop().await;
}

#[tokio::test]
async fn a_session_is_made_by_its_first_message_and_never_wiped() {
    let (house, address) = open_house().await;
    Agent::move_in(&house);
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let chosen = "0C0FFEE0-1111-4222-8333-444455556666";
    for id in [chosen, "my session"] {
        command(
            &mut socket,
            "session.send",
            json!({ "sessionId": id, "content": "Hi" }),
        )
        .await;
        let events = until(&mut socket, &ready(id)).await;
        assert!(events.iter().all(|event| event["sessionId"] == id));
        assert_eq!(socket.next().await["type"], "perf.metric");
        let before = house
            .rpc(&house.owner(), "session.get", &json!({ "sessionKey": id }))
            .await;
        command(&mut socket, "session.create", json!({ "sessionId": id })).await;
        assert_eq!(
            socket.next().await,
            json!({ "type": "session.created", "sessionId": id })
        );
        assert_eq!(socket.next().await["detail"], "Session ready");
        let after = house
            .rpc(&house.owner(), "session.get", &json!({ "sessionKey": id }))
            .await;
        assert_eq!(before.json(), after.json());
    }
    house.stop().await;
}

#[tokio::test]
async fn a_session_is_answered_as_it_was_configured() {
    let (house, address) = open_house().await;
    let agent = Agent::move_in(&house);
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let configure = json!({
        "sessionId": "s", "routingMode": "pinned", "agent": "tool.use", "sessionPrompt": "Be kind.",
    });
    command(&mut socket, "session.configure", configure).await;
    let status = socket.next().await;
    assert_eq!(
        (&status["status"], &status["detail"]),
        (&json!("idle"), &json!("Configured (pinned: tool.use)"))
    );
    // Another client, and a later one: it is kept with the session.
    drop(socket);
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    command(
        &mut socket,
        "session.send",
        json!({ "sessionId": "s", "content": "Hi" }),
    )
    .await;
    let events = until(&mut socket, &ready("s")).await;
    assert_eq!(events[0]["routingMode"], "pinned");
    assert_eq!(events[0]["toolsAllowed"], json!(["time"]));
    let asked = agent.runs.lock().unwrap().last().unwrap().clone();
    assert!(asked.system.unwrap().ends_with("Be kind."));
    assert_eq!(asked.tools.unwrap(), ["time"]);
    assert_eq!(socket.next().await["type"], "perf.metric");

    let unknown = json!({ "sessionId": "s", "agent": "code.wreck" });
    command(&mut socket, "session.configure", unknown).await;
    assert!(refused(&mut socket).await.contains("code.wreck"));
    house.stop().await;
}

#[tokio::test]
async fn what_is_not_understood_is_answered_and_the_connection_lives() {
    let (house, address) = open_house().await;
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let deep = "[".repeat(100_000);
    for garbage in ["", "[", "null", "{}", "\"text\"", "{\"type\": 7}", &deep] {
        socket.send_text(garbage).await;
        refused(&mut socket).await;
    }
    socket
        .inner
        .send(Message::binary(b"{}".to_vec()))
        .await
        .unwrap();
    assert!(refused(&mut socket).await.contains("binary"));
    command(&mut socket, "token.list", json!({})).await;
    assert!(refused(&mut socket).await.contains("token.list"));
    command(&mut socket, "session.send", json!({ "sessionId": "s" })).await;
    assert!(refused(&mut socket).await.contains("content"));
    command(
        &mut socket,
        "session.cancel",
        json!({ "sessionId": "nobody" }),
    )
    .await;
    assert!(refused(&mut socket).await.contains("nobody"));
    // Nobody here answers for agents and services.
    command(
        &mut socket,
        "session.send",
        json!({ "sessionId": "s", "content": "x" }),
    )
    .await;
    let events = until(&mut socket, &ready("s")).await;
    assert!(types(&events).contains(&"error"));
    command(&mut socket, "service.start", json!({ "name": "mlx" })).await;
    refused(&mut socket).await;
    house.stop().await;
}

#[tokio::test]
async fn a_frame_beyond_the_bound_ends_the_socket_alone() {
    let (house, address) = open_house().await;
    let mut other = Socket::open(&address, "/", &[]).await.unwrap();
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let huge = "x".repeat(hob_wire::limits::FRAME_BYTES_MAX + 1);
    // The other side may close before it has read everything.
    let _ = socket.inner.send(Message::text(huge)).await;
    let closed = socket.closed().await;
    assert!(closed.is_none_or(|frame| frame.code == CloseCode::Size));
    command(&mut other, "agent.list", json!({})).await;
    assert_eq!(other.next().await["agents"].as_array().unwrap().len(), 5);
    house.stop().await;
}

#[tokio::test]
async fn the_path_needs_a_token_and_the_listener_a_neighbour() {
    let (house, address) = open_house().await;
    let host = house.host();
    let open =
        async |headers: &[(&str, &str)]| Socket::open(&host, "/agentloop", headers).await.err();
    assert_eq!(open(&[]).await, Some(401));
    assert_eq!(
        open(&[("Authorization", "Bearer hob_wrong")]).await,
        Some(401)
    );
    let owner = format!("Bearer {}", house.owner());
    assert_eq!(
        open(&[("Authorization", &owner), ("Origin", "http://evil.test")]).await,
        Some(403)
    );
    assert_eq!(open(&[("Authorization", &owner)]).await, None);

    let open = async |headers: &[(&str, &str)]| Socket::open(&address, "/", headers).await.err();
    assert_eq!(open(&[("Origin", "http://evil.test")]).await, Some(403));
    assert_eq!(open(&[("Origin", "null")]).await, Some(403));
    assert_eq!(open(&[("Host", "evil.test")]).await, Some(403));
    assert_eq!(
        open(&[("Origin", &format!("http://{address}"))]).await,
        None
    );
    let get = async |path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        exchange(&address, head.as_bytes()).await
    };
    let banner = get("/").await;
    assert_eq!(banner.status, 200);
    assert!(banner.text().contains("AgentLoop"));
    for path in [
        "/ws",
        "/agentloop",
        "/metrics",
        "/api/openapi.json",
        "/v1/models",
    ] {
        assert_eq!(get(path).await.status, 404, "{path}");
    }
    house.stop().await;
}

#[tokio::test]
async fn a_token_reaches_as_far_as_its_scope() {
    let (house, _) = open_house().await;
    let agent = Agent::move_in(&house);
    let services = Services::move_in(&house);
    let (_, token) = house.token("chat", None).await;
    let mut socket = with_token(&house, &token).await;
    assert_eq!(socket.next().await["service"]["name"], "llm");
    command(
        &mut socket,
        "session.send",
        json!({ "sessionId": "s", "content": "what time is it" }),
    )
    .await;
    until(&mut socket, &json!({ "type": "perf.metric" })).await;
    let asked = agent.runs.lock().unwrap().last().unwrap().clone();
    assert_eq!(asked.ceiling, Some(hob_wire::rooms::tool::Tier::Read));
    command(&mut socket, "service.start", json!({ "name": "tts" })).await;
    assert!(refused(&mut socket).await.contains("control"));
    assert!(services.started.lock().unwrap().is_empty());

    let (_, reader) = house.token("read", None).await;
    let mut socket = with_token(&house, &reader).await;
    assert_eq!(socket.next().await["service"]["name"], "llm");
    command(&mut socket, "session.create", json!({})).await;
    assert!(refused(&mut socket).await.contains("chat"));
    house.stop().await;
}

#[tokio::test]
async fn a_revoked_token_ends_its_socket() {
    let (house, _) = open_house().await;
    let (id, token) = house.token("chat", None).await;
    let mut socket = with_token(&house, &token).await;
    command(&mut socket, "agent.list", json!({})).await;
    socket.next().await;
    let revoked = house
        .rpc(&house.owner(), "token.revoke", &json!({ "token": id }))
        .await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    assert_eq!(socket.closed().await.unwrap().code, CloseCode::Policy);
    house.stop().await;
}

#[tokio::test]
async fn pictures_are_read_for_those_who_may_act_here() {
    let (house, address) = open_house().await;
    let agent = Agent::move_in(&house);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let picture = path("a.png", PNG);
    let send =
        |path: &std::path::Path| json!({ "sessionId": "s", "content": "See", "images": [path] });
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    command(&mut socket, "session.send", send(&picture)).await;
    until(&mut socket, &json!({ "type": "perf.metric" })).await;
    let asked = agent.runs.lock().unwrap().last().unwrap().clone();
    assert_eq!(asked.images[0].mime_type, "image/png");

    command(&mut socket, "session.send", send(&path("key", b"secret"))).await;
    let events = until(&mut socket, &ready("s")).await;
    assert!(
        events[0]["error"]
            .as_str()
            .unwrap()
            .contains("not a picture")
    );
    let (_, token) = house.token("chat", None).await;
    let mut socket = with_token(&house, &token).await;
    command(&mut socket, "session.send", send(&picture)).await;
    let events = until(&mut socket, &ready("s")).await;
    assert!(events[0]["error"].as_str().unwrap().contains("control"));
    assert_eq!(agent.runs.lock().unwrap().len(), 1);
    house.stop().await;
}

#[tokio::test]
async fn every_client_hears_of_services_by_the_name_it_uses() {
    let (house, address) = open_house().await;
    let services = Services::move_in(&house);
    let mut one = Socket::open(&address, "/", &[]).await.unwrap();
    let told = one.next().await;
    assert_eq!(told["type"], "service.status");
    assert_eq!(
        (&told["service"]["name"], &told["service"]["status"]),
        (&json!("llm"), &json!("error"))
    );
    assert_eq!(told["service"]["lastExitCode"], 3);
    let mut two = with_token(&house, &house.owner()).await;
    two.next().await;

    command(&mut one, "service.status", json!({ "name": "kokomo" })).await;
    let told = one.next().await;
    assert_eq!(
        told["service"],
        json!({ "name": "kokomo", "status": "stopped" })
    );
    command(&mut one, "service.start", json!({ "name": "kokomo" })).await;
    let started = json!({ "type": "service.status", "service": { "name": "kokomo", "status": "running", "pid": 7 } });
    until(&mut one, &started).await;
    let started = json!({ "type": "service.status", "service": { "name": "tts", "status": "running", "pid": 7 } });
    until(&mut two, &started).await;
    services.print("a line");
    let line = |name: &str| json!({ "type": "service.log", "name": name, "stream": "stdout", "line": "a line" });
    until(&mut one, &line("kokomo")).await;
    until(&mut two, &line("tts")).await;
    command(&mut two, "service.status", json!({})).await;
    let told = [two.next().await, two.next().await];
    assert_eq!(
        (&told[0]["service"]["name"], &told[1]["service"]["name"]),
        (&json!("llm"), &json!("tts"))
    );
    assert_eq!(*services.started.lock().unwrap(), ["kokomo"]);
    house.stop().await;
}

#[tokio::test]
async fn events_of_a_session_go_to_the_client_that_asked() {
    let (house, address) = open_house().await;
    Agent::move_in(&house);
    let mut one = Socket::open(&address, "/", &[]).await.unwrap();
    let mut two = Socket::open(&address, "/", &[]).await.unwrap();
    command(&mut two, "session.create", json!({ "sessionId": "s" })).await;
    until(&mut two, &json!({ "detail": "Session ready" })).await;
    command(
        &mut one,
        "session.send",
        json!({ "sessionId": "s", "content": "x" }),
    )
    .await;
    until(&mut one, &json!({ "type": "perf.metric" })).await;
    command(&mut two, "agent.list", json!({})).await;
    assert_eq!(two.next().await["type"], "agent.list");
    house.stop().await;
}

#[tokio::test]
async fn a_file_says_where_the_listener_is_while_it_is() {
    let (house, address) = open_house().await;
    let path = house.home.run().join("agentloop.json");
    let told: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        format!("{}:{}", told["host"].as_str().unwrap(), told["port"]),
        address
    );
    assert_eq!(told["pid"], std::process::id());
    assert!(told["startedAt"].as_u64().unwrap() > 1_700_000_000_000);
    let root = house.stop().await;
    assert!(!path.exists());

    let elsewhere = root.path().join("elsewhere").join("engine.json");
    let config = format!(
        "dialect.agentloop.speech = \"\"\nlisten.agentloop_port = \"0\"\nlisten.agentloop_state_file = {elsewhere:?}"
    );
    let house = House::with(&config, Some("127.0.0.1:0")).await.unwrap();
    assert!(elsewhere.exists());
    assert!(
        house
            .gateway
            .listeners()
            .iter()
            .any(|line| line.starts_with("agentloop 127.0.0.1:"))
    );
    house.stop().await;
}
