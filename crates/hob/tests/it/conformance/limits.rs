//! Every bound of the wire, met just below and refused just above; whoever goes over harms only
//! itself.

use super::http;
use super::wire::{DEADLINE, Peer, SURFACES, Surface, request, ws_request, ws_request_bare};
use crate::support::House;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;
const UNAUTHENTICATED_BYTES_MAX: usize = 64 * 1024;
const JSON_DEPTH_MAX: usize = 128;
const NAME_BYTES_MAX: usize = 256;
const PENDING_REQUESTS_MAX: usize = 1_024;
const SUBSCRIPTIONS_MAX: usize = 256;
const REGISTRATIONS_MAX: usize = 1_024;
const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
const METADATA_BYTES_MAX: usize = 64 * 1024;

/// A request to `method` of exactly `length` bytes.
fn request_of(length: usize, id: &str, method: &str) -> String {
    let head = format!(r#"{{"type":"req","id":"{id}","method":"{method}","params":""#);
    let filling = length - head.len() - 2;
    format!("{head}{}\"}}", "x".repeat(filling))
}

/// A request whose arrays and objects nest exactly `depth` deep, the frame itself being the first.
fn request_deep(depth: usize, id: &str, method: &str) -> String {
    let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
    format!(r#"{{"type":"req","id":"{id}","method":"{method}","params":{open}{close}}}"#)
}

#[tokio::test]
async fn the_limits_are_told() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    let described = peer.call("gateway.describe", json!({})).await;
    let limits = described["limits"].as_object().expect("limits by name");
    for bound in [
        FRAME_BYTES_MAX,
        UNAUTHENTICATED_BYTES_MAX,
        JSON_DEPTH_MAX,
        NAME_BYTES_MAX,
        20_000,
    ] {
        assert!(
            limits.values().any(|value| value == bound),
            "{bound} in {limits:?}"
        );
    }
}

#[tokio::test]
async fn a_frame_of_eight_mebibytes_is_taken_and_not_a_byte_more() {
    let house = House::start();
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        peer.send_text(&request_of(FRAME_BYTES_MAX, "full", "nobody.home"))
            .await;
        assert_eq!(
            peer.answer("full").await["error"]["code"],
            "NO_HANDLER",
            "{surface:?}"
        );
        peer.try_send_text(&request_of(FRAME_BYTES_MAX + 1, "over", "nobody.home"))
            .await;
        assert_refused(&mut peer).await;
        Peer::on(surface, &house, &house.token())
            .await
            .settled()
            .await;
    }
    // An HTTP body has the same bound.
    let below = format!("\"{}\"", "x".repeat(FRAME_BYTES_MAX - 1_024));
    let answer = http::rpc(&house, &house.token(), "nobody.home", &below).await;
    assert_eq!(answer.status, 404, "{:?}", answer.headers);
    let above = format!("\"{}\"", "x".repeat(FRAME_BYTES_MAX));
    let answer = http::rpc(&house, &house.token(), "nobody.home", &above).await;
    assert!([400, 413].contains(&answer.status), "{}", answer.status);
}

/// What came is an error that says why, or the end of the connection, or both.
async fn assert_refused(peer: &mut Peer) {
    if let Ok(text) = peer.arrival().await {
        let frame: Value = serde_json::from_str(&text).expect("frames are JSON");
        assert_eq!(frame["error"]["code"], "PARSE_ERROR", "{frame}");
    }
}

#[tokio::test]
async fn a_frame_just_below_the_bound_is_routed_whole() {
    let house = House::start();
    for (service_surface, caller_surface) in
        [(Surface::Ws, Surface::Unix), (Surface::Unix, Surface::Ws)]
    {
        let mut service = Peer::on(service_surface, &house, &house.token()).await;
        service.register("big", &["big.load"]).await;
        let mut caller = Peer::on(caller_surface, &house, &house.token()).await;
        // Names in the new envelope may be longer, and longer still when they are escaped.
        let frame = request_of(FRAME_BYTES_MAX - 8 * 1_024, "big", "big.load");
        caller.send_text(&frame).await;
        let seen = service.request().await;
        let params = seen["params"].as_str().expect("a string");
        assert!(params.len() > FRAME_BYTES_MAX - 9 * 1_024);
        service.reply(&seen, seen["params"].clone()).await;
        assert_eq!(caller.answer("big").await["payload"], seen["params"]);
        // What fits the caller's envelope but not the service's is refused, not lost.
        let full = request_of(FRAME_BYTES_MAX, "full", "big.load");
        caller.send_text(&full).await;
        let refusal = caller.answer("full").await;
        assert_eq!(refusal["error"]["code"], "INVALID_PARAMS", "{refusal}");
    }
}

#[tokio::test]
async fn nesting_is_bounded() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("deep", &["deep.dive"]).await;
    for surface in SURFACES {
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        caller
            .send_text(&request_deep(JSON_DEPTH_MAX, "ok", "deep.dive"))
            .await;
        let seen = service.arrival().await.expect("it is routed");
        assert!(seen.contains(&"[".repeat(JSON_DEPTH_MAX - 1)), "{seen}");
        for depth in [JSON_DEPTH_MAX + 1, 100_000] {
            caller
                .send_text(&request_deep(depth, "deeper", "deep.dive"))
                .await;
            let refusal = caller.frame().await;
            assert_eq!(refusal["error"]["code"], "PARSE_ERROR", "{refusal}");
        }
        // Brackets in a text are no nesting.
        let flat = json!("[".repeat(1_000)).to_string();
        caller
            .send_text(&format!(
                r#"{{"type":"req","id":"flat","method":"deep.dive","params":{flat}}}"#
            ))
            .await;
        assert!(
            service
                .arrival()
                .await
                .expect("it is routed")
                .contains(&flat)
        );
    }
    // A body is a part of the frame it becomes.
    for (depth, status) in [(JSON_DEPTH_MAX - 1, 404), (JSON_DEPTH_MAX, 400), (200, 400)] {
        let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let answer = http::rpc(&house, &house.token(), "nobody.home", &body).await;
        assert_eq!(answer.status, status, "{depth}: {answer:?}");
    }
}

#[tokio::test]
async fn names_are_bounded() {
    let house = House::start();
    let longest = "n".repeat(NAME_BYTES_MAX);
    let longer = "n".repeat(NAME_BYTES_MAX + 1);
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        peer.refused("NO_HANDLER", &longest, json!({})).await;
        peer.refused("PARSE_ERROR", &longer, json!({})).await;
        peer.send(request(&longest, "gateway.stats", json!({})))
            .await;
        assert_eq!(peer.answer(&longest).await["ok"], true);
        for (field, value) in [("id", &longer), ("target", &longer), ("trace", &longer)] {
            let mut frame = request("named", "gateway.stats", json!({}));
            frame[field] = json!(value);
            peer.send(frame).await;
            assert_eq!(
                peer.frame().await["error"]["code"],
                "PARSE_ERROR",
                "{field}"
            );
        }
        let empty = json!({ "type": "req", "id": "", "method": "gateway.stats" });
        peer.send(empty).await;
        assert_eq!(peer.frame().await["error"]["code"], "PARSE_ERROR");
    }
    let mut peer = Peer::owner(&house).await;
    for params in [
        json!({ "service": longer }),
        json!({ "service": "" }),
        json!({ "service": "two words" }),
        json!({ "service": "dotted.name" }),
        json!({ "service": "long", "methods": [longer] }),
        json!({ "service": "long", "events": [longer] }),
        json!({ "service": "long", "methods": [""] }),
    ] {
        let error = peer.ask("gateway.register", params.clone()).await;
        let code = error.expect_err("it must be refused")["code"].clone();
        assert!(
            code == "REGISTER_FAILED" || code == "INVALID_PARAMS",
            "{params}: {code}"
        );
    }
    peer.call("session.create", json!({ "sessionKey": longest }))
        .await;
    peer.refused(
        "INVALID_PARAMS",
        "session.create",
        json!({ "sessionKey": longer }),
    )
    .await;
}

#[tokio::test]
async fn lists_are_bounded() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    let patterns: Vec<String> = (0..SUBSCRIPTIONS_MAX)
        .map(|n| format!("topic.{n}"))
        .collect();
    peer.call("gateway.subscribe", json!({ "events": patterns }))
        .await;
    let one_more = peer
        .ask("gateway.subscribe", json!({ "events": ["topic.more"] }))
        .await;
    let code = one_more.expect_err("one too many")["code"].clone();
    assert!(
        ["INVALID_PARAMS", "OVERLOADED"].contains(&code.as_str().unwrap_or_default()),
        "{code}"
    );
    let names = |count: usize| (0..count).map(|n| format!("many.m{n}")).collect::<Vec<_>>();
    let fits = json!({ "service": "many", "methods": names(REGISTRATIONS_MAX) });
    peer.call("gateway.register", fits).await;
    let over = json!({ "service": "many", "methods": names(REGISTRATIONS_MAX + 1) });
    let error = peer
        .ask("gateway.register", over)
        .await
        .expect_err("one too many");
    assert!(
        error["code"] == "REGISTER_FAILED" || error["code"] == "INVALID_PARAMS",
        "{error}"
    );
}

#[tokio::test]
async fn unanswered_requests_of_one_connection_are_bounded() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("slow", &["slow.ask"]).await;
    let mut caller = Peer::on(Surface::Unix, &house, &house.token()).await;
    let mut waiting = Vec::new();
    // In steps, so that what is measured is the bound on answers and not the service's outbox.
    for _ in 0..PENDING_REQUESTS_MAX / 128 {
        for _ in 0..128 {
            caller.post("slow.ask", json!({})).await;
        }
        for _ in 0..128 {
            waiting.push(service.request().await);
        }
    }
    let error = caller
        .ask("slow.ask", json!({}))
        .await
        .expect_err("one too many");
    assert_eq!(error["code"], "OVERLOADED", "{error}");
    assert_eq!(error["retryable"], true, "{error}");
    assert!(error["retryAfterMs"].is_u64(), "{error}");
    // Another caller is not affected, and room comes back with the first answer.
    let mut other = Peer::owner(&house).await;
    other.post("slow.ask", json!({})).await;
    service.request().await;
    service.reply(&waiting[0], json!("at last")).await;
    assert_eq!(caller.frame().await["payload"], "at last");
    caller.post("slow.ask", json!({ "again": true })).await;
    assert_eq!(service.request().await["params"]["again"], true);
}

#[tokio::test]
async fn messages_and_metadata_are_bounded() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    peer.call("session.create", json!({ "sessionKey": "chat:big" }))
        .await;
    // The bound is on content as JSON; quotes and escapes count.
    let fits = "x".repeat(MESSAGE_BYTES_MAX - 16);
    peer.call(
        "session.send",
        json!({ "sessionKey": "chat:big", "content": fits }),
    )
    .await;
    let over = "x".repeat(MESSAGE_BYTES_MAX + 1);
    let params = json!({ "sessionKey": "chat:big", "content": over });
    peer.refused("INVALID_PARAMS", "session.send", params).await;
    let history = peer
        .call("session.history", json!({ "sessionKey": "chat:big" }))
        .await;
    assert_eq!(history["messages"].as_array().map(Vec::len), Some(1));
    let metadata = json!({ "note": "x".repeat(METADATA_BYTES_MAX) });
    let params = json!({ "sessionKey": "chat:meta", "metadata": metadata });
    peer.refused("INVALID_PARAMS", "session.create", params)
        .await;
    peer.refused(
        "NOT_FOUND",
        "session.get",
        json!({ "sessionKey": "chat:meta" }),
    )
    .await;
}

#[tokio::test]
async fn before_authentication_little_is_read() {
    let house = House::start();
    // A first line without end.
    let mut peer = Peer::unix_unknown(&house).await;
    let flood = vec![b'x'; UNAUTHENTICATED_BYTES_MAX + 1];
    peer.send_bytes(&flood).await;
    let (frames, _) = peer.until_closed().await;
    assert!(
        frames.iter().all(|frame| frame["ok"] == false),
        "{frames:?}"
    );
    // A body that would be fine for someone we know.
    let body = "x".repeat(UNAUTHENTICATED_BYTES_MAX + 1);
    let answer = http::rpc(&house, "wrong", "session.list", &body).await;
    assert!([401, 413].contains(&answer.status), "{answer:?}");
    Peer::owner(&house).await.settled().await;
}

#[tokio::test]
async fn a_claimed_gibibyte_is_not_waited_for() {
    let house = House::start();
    let request = ws_request_bare(&house);
    let key = request.headers()["sec-websocket-key"]
        .to_str()
        .expect("a key")
        .to_owned();
    let upgrade = http::head(
        &house,
        "GET",
        "/ws",
        &[
            ("Authorization", &format!("Bearer {}", house.token())),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", &key),
        ],
    );
    let upgrade = upgrade.replace("Connection: close", "Connection: Upgrade");
    let mut stream = tokio::net::TcpStream::connect(house.address())
        .await
        .expect("it accepts");
    stream
        .write_all(upgrade.as_bytes())
        .await
        .expect("the head is taken");
    // A masked text frame that claims 1 GiB and then sends next to nothing.
    let mut frame = vec![0x81, 0xFF];
    frame.extend_from_slice(&(1_u64 << 30).to_be_bytes());
    frame.extend_from_slice(&[1, 2, 3, 4]);
    frame.extend_from_slice(&[b'x'; 100]);
    stream.write_all(&frame).await.expect("the frame is taken");
    let mut answer = Vec::new();
    let end = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
    let _ = end.expect("the daemon hangs up on its own");
    Peer::owner(&house).await.settled().await;
}

#[tokio::test]
async fn connections_are_bounded() {
    let house = House::builder()
        .env("HOB_GATEWAY_MAX_CONNECTIONS", "8")
        .start();
    let mut peers = vec![Peer::owner(&house).await];
    let refused = loop {
        match Peer::ws(ws_request(&house, &house.token())).await {
            Ok(peer) => peers.push(peer),
            Err(status) => break status,
        }
        assert!(peers.len() <= 8, "the ninth is refused");
    };
    assert!([429, 503].contains(&refused), "{refused}");
    // Those inside are unharmed, and a place that becomes free is given again.
    for peer in &mut peers {
        peer.settled().await;
    }
    peers.pop();
    let again = async {
        while Peer::ws(ws_request(&house, &house.token())).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, again)
        .await
        .expect("the place is given again");
}
