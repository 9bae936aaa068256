//! Frames that are not of a room: registrations, outside services and their events, targets, limits.

use super::{client, connect, house_with, model};
use crate::conformance::wire::{Peer, number, outcome, texts};
use serde_json::{Value, json};

const FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;

fn registration(service: &str, methods: &[&str], events: &[&str]) -> Value {
    json!({
        "service": service, "version": "1.0.0", "methods": methods, "events": events,
        "subscriptions": [],
    })
}

async fn ask_target(peer: &mut Peer, target: &str, method: &str, params: Value) -> Value {
    let id = format!("to-{target}");
    peer.send(json!({
        "type": "req", "id": id, "target": target, "method": method, "params": params,
    }))
    .await;
    peer.answer(&id).await
}

#[tokio::test]
async fn the_method_alone_decides_who_answers() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut peer = connect(&house).await;
    // As its own clients write them, and as no service is called.
    for target in ["sessions", "session", "nobody", ""] {
        let listed = ask_target(&mut peer, target, "session.list", json!({})).await;
        assert_eq!(outcome(&listed), Ok(json!([])), "{target}");
        let stats = ask_target(&mut peer, target, "gateway.stats", json!({})).await;
        assert_eq!(stats["ok"], true, "{target}: {stats}");
        let missing = ask_target(&mut peer, target, "nobody.home", json!({})).await;
        assert_eq!(missing["error"]["code"], "NO_HANDLER", "{target}");
    }
    // Also without params.
    peer.send(json!({ "type": "req", "id": "bare", "target": "tools", "method": "tool.list" }))
        .await;
    assert!(peer.answer("bare").await["payload"].is_array());
}

#[tokio::test]
async fn a_channel_service_is_called_and_heard() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut channel = connect(&house).await;
    let methods = ["channel.send", "channel.status", "channel.list"];
    let events = ["message.received", "channel.connected"];
    let table = ask_target(
        &mut channel,
        "gateway",
        "gateway.register",
        registration("channel", &methods, &events),
    )
    .await;
    let table = outcome(&table).expect("registered");
    for (list, name) in [
        ("services", "channel"),
        ("methods", "channel.send"),
        ("methods", "agent.run"),
        ("events", "message.received"),
    ] {
        assert!(texts(&table, list).contains(&name.to_owned()), "{name}");
    }
    let mut cli = client(&house, "cli", &["message.received"]).await;
    let params = json!({ "channel": "telegram", "userId": "1", "text": "hi" });
    let waiting = cli.post("channel.send", params.clone()).await;
    let request = channel.request().await;
    assert_eq!(request["params"], params);
    channel.reply(&request, json!({ "sent": true })).await;
    assert_eq!(
        cli.answer(&waiting).await["payload"],
        json!({ "sent": true })
    );
    // Its error reaches the caller as it is.
    let waiting = cli
        .post("channel.status", json!({ "channel": "fax" }))
        .await;
    let request = channel.request().await;
    let error = json!({ "code": "METHOD_ERROR", "message": "No adapter for channel: fax" });
    channel.fail(&request, error.clone()).await;
    assert_eq!(cli.answer(&waiting).await["error"], error);
    channel
        .emit(
            "message.received",
            json!({ "sessionKey": "telegram:1", "content": "hi" }),
        )
        .await;
    let event = cli.event_of("message.received").await;
    assert_eq!(
        (&event["source"], &event["payload"]["content"]),
        (&json!("channel"), &json!("hi"))
    );
}

#[tokio::test]
async fn an_outside_event_waits_for_no_commit_unless_it_is_durable() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut mill = connect(&house).await;
    let mut params = registration("mill", &[], &["mill.dust", "mill.ground"]);
    params["durable"] = json!(["mill.ground"]);
    mill.call("gateway.register", params).await;
    let mut cli = client(&house, "cli", &["mill.dust", "mill.ground"]).await;
    let before = number(&cli.call("gateway.stats", json!({})).await, "seq");
    for n in 0..3 {
        mill.emit("mill.dust", json!({ "n": n })).await;
        let event = cli.event_of("mill.dust").await;
        assert_eq!(event["payload"]["n"], n);
        assert!(
            event["sub"].is_u64() && event.get("prev").is_none(),
            "{event}"
        );
    }
    let after = number(&cli.call("gateway.stats", json!({})).await, "seq");
    assert_eq!(after, before, "nothing was logged");
    mill.emit("mill.ground", json!({})).await;
    let event = cli.event_of("mill.ground").await;
    assert_eq!(event["seq"], before + 1);
    assert!(event.get("sub").is_none(), "{event}");
}

#[tokio::test]
async fn an_event_that_was_not_declared_is_refused_beside_the_rooms() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &[]).await;
    cli.emit("session.message", json!({ "forged": true })).await;
    let refusal = cli.answer("unknown").await;
    assert_eq!(refusal["error"]["code"], "FORBIDDEN");
}

#[tokio::test]
async fn two_clients_of_one_name_live_side_by_side() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut mute = connect(&house).await;
    mute.call(
        "gateway.register",
        registration("mute", &["mute.ask"], &["mute.said"]),
    )
    .await;
    let mut first = client(&house, "cli", &["mute.said"]).await;
    let pending_first = first.post("mute.ask", json!({ "of": 1 })).await;
    let mut second = client(&house, "cli", &["mute.said"]).await;
    let pending_second = second.post("mute.ask", json!({ "of": 2 })).await;
    for _ in 0..2 {
        let request = mute.request().await;
        mute.reply(&request, request["params"].clone()).await;
    }
    assert_eq!(first.answer(&pending_first).await["payload"]["of"], 1);
    assert_eq!(second.answer(&pending_second).await["payload"]["of"], 2);
    mute.emit("mute.said", json!({})).await;
    first.event_of("mute.said").await;
    second.event_of("mute.said").await;
    drop(first);
    second.settled().await;
    // One that serves the name takes nothing from those that do not.
    let mut server = connect(&house).await;
    server
        .call("gateway.register", registration("cli", &["cli.show"], &[]))
        .await;
    let pending = second.post("cli.show", json!({})).await;
    let request = server.request().await;
    server.reply(&request, json!("shown")).await;
    assert_eq!(second.answer(&pending).await["payload"], "shown");
}

#[tokio::test]
async fn a_frame_that_is_too_long_is_answered_before_the_close() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut peer = connect(&house).await;
    let filler = "x".repeat(FRAME_BYTES_MAX);
    let frame = json!({ "type": "req", "id": "1", "method": "agent.run", "params": filler });
    // hob may hang up while it is still being written.
    peer.try_send_text(&frame.to_string()).await;
    let (frames, end) = peer.until_closed().await;
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert_eq!(
        (&frames[0]["id"], &frames[0]["error"]["code"]),
        (&json!("unknown"), &json!("PARSE_ERROR"))
    );
    assert_eq!(end.0, Some(1009));
}

#[tokio::test]
async fn what_is_no_frame_is_answered() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut peer = connect(&house).await;
    let deep = format!(
        r#"{{"type":"req","id":"deep","method":"agent.run","params":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for (text, id) in [
        ("hello", "unknown"),
        (r#"{"type":"bad"}"#, "unknown"),
        (r#"["req","1","agent","agent.run"]"#, "unknown"),
        (deep.as_str(), "deep"),
    ] {
        peer.send_text(text).await;
        let answer = peer.answer(id).await;
        assert_eq!(answer["error"]["code"], "PARSE_ERROR", "{text}: {answer}");
    }
    peer.send_bytes(&[1, 2, 3]).await;
    let answer = peer.answer("unknown").await;
    assert_eq!(answer["error"]["code"], "PARSE_ERROR");
    peer.call("session.list", json!({})).await;
}

#[tokio::test]
async fn too_many_requests_at_once_are_refused_and_the_others_answered() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut peer = connect(&house).await;
    let mut ids = Vec::new();
    for n in 0..300 {
        let params = json!({ "sessionKey": format!("cli:many:{n}"), "task": "endless" });
        ids.push(peer.post("agent.run", params).await);
    }
    // A connection has at most 256 of them.
    for id in &ids[256..] {
        let answer = peer.answer(id).await;
        assert_eq!(answer["error"]["code"], "OVERLOADED", "{answer}");
    }
    let mut other = connect(&house).await;
    for n in [0, 255] {
        let of_session = json!({ "sessionKey": format!("cli:many:{n}") });
        let ended = other.call("agent.abort", of_session).await;
        assert_eq!(ended["aborted"], true, "{n}: {ended}");
        let answer = peer.answer(&ids[n]).await;
        assert_eq!(answer["payload"]["success"], false, "{answer}");
    }
    // There is room again.
    peer.call("session.list", json!({})).await;
}
