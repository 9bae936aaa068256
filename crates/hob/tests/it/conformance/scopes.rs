//! What each credential may do. Tokens are made with the command line and used raw.

use super::http;
use super::wire::{Peer, SURFACES, Surface, number, serve, text, ws_request};
use crate::support::House;
use serde_json::{Value, json};
use std::time::Duration;

/// A run that does not exist.
const NO_RUN: &str = "0190c0de-0000-7000-8000-000000000000";

/// Makes a token with `hob token create` and returns its text.
pub(crate) fn token(house: &House, name: &str, scope: &str) -> String {
    let made = house.hob(&[
        "token", "create", "--name", name, "--scope", scope, "--json",
    ]);
    let made: Value = serde_json::from_str(&made.success()).expect("--json prints JSON");
    text(&made, "token")
}

#[tokio::test]
async fn each_rank_contains_the_one_below() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    owner
        .call("session.create", json!({ "sessionKey": "chat:scoped" }))
        .await;
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    serve(service, |_| json!("heard"));
    let scoped = json!({ "sessionKey": "chat:scoped" });
    // Each row: the rank it needs and a call that shows it.
    let calls = [
        (0, "session.get", scoped.clone()),
        (0, "session.list", json!({})),
        (0, "session.history", scoped.clone()),
        (0, "session.export", scoped.clone()),
        (0, "gateway.stats", json!({})),
        (0, "gateway.inspect", json!({})),
        (0, "gateway.describe", json!({ "method": "session.get" })),
        (0, "gateway.trace", json!({})),
        (0, "config.get", json!({})),
        (0, "daemon.status", json!({})),
        (0, "daemon.doctor", json!({})),
        (0, "config.schema", json!({ "key": "log" })),
        (0, "cron.preview", json!({ "rule": "@daily" })),
        (0, "service.metrics", json!({ "name": "none" })),
        (0, "run.timeline", json!({ "runId": NO_RUN })),
        (1, "session.create", scoped.clone()),
        (
            1,
            "session.send",
            json!({ "sessionKey": "chat:scoped", "content": "hi" }),
        ),
        (
            1,
            "session.label",
            json!({ "sessionKey": "chat:scoped", "label": "x" }),
        ),
        (1, "session.fork", scoped.clone()),
        (1, "session.draft", scoped.clone()),
        (2, "echo.say", json!({})),
        (2, "session.delete", json!({ "sessionKey": "chat:none" })),
        (
            3,
            "config.set",
            json!({ "key": "log.level", "value": "info" }),
        ),
        (3, "config.undo", json!({})),
        (3, "token.list", json!({})),
        (3, "terminal.list", json!({})),
        (3, "terminal.capture", json!({ "name": "none" })),
        (3, "terminal.keys", json!({ "name": "none", "text": "x" })),
        (3, "terminal.history", json!({ "name": "none" })),
        (3, "terminal.close", json!({ "name": "none" })),
        (3, "desktop.launch", json!({ "entry": "none" })),
        (3, "tool.tier", json!({ "name": "none", "tier": "read" })),
        (
            3,
            "token.create",
            json!({ "name": "made", "scopes": ["read"] }),
        ),
        (3, "token.revoke", json!({ "token": "nothing" })),
    ];
    let ranks = ["read", "chat", "control", "admin"];
    for (rank, name) in ranks.iter().enumerate() {
        let token = token(&house, name, name);
        for surface in SURFACES {
            let mut peer = Peer::on(surface, &house, &token).await;
            for (needed, method, params) in &calls {
                let answer = peer.ask(method, params.clone()).await;
                let forbidden = answer
                    .as_ref()
                    .is_err_and(|error| error["code"] == "FORBIDDEN");
                assert_eq!(
                    forbidden,
                    rank < *needed,
                    "{name} calls {method}: {answer:?}"
                );
                if let (true, Err(error)) = (forbidden, &answer) {
                    let message = text(error, "message");
                    assert!(
                        message.contains(ranks[*needed]),
                        "it names what lacks: {message}"
                    );
                }
            }
        }
        for (needed, method, params) in &calls {
            let answer = http::rpc(&house, &token, method, &params.to_string()).await;
            assert_eq!(
                answer.status == 403,
                rank < *needed,
                "{name} posts {method}: {answer:?}"
            );
        }
    }
}

#[tokio::test]
async fn events_are_shown_to_those_who_may_see_them() {
    let house = House::start();
    let (read, control) = (token(&house, "r", "read"), token(&house, "c", "control"));
    let mut reader = Peer::on(Surface::Ws, &house, &read).await;
    let params = json!({ "events": ["log.line"] });
    let message = reader
        .refused("FORBIDDEN", "gateway.subscribe", params)
        .await;
    assert!(message.contains("control"), "{message}");
    for topic in ["terminal.status", "terminal.command", "terminal.output"] {
        let mut controller = Peer::on(Surface::Ws, &house, &control).await;
        let params = json!({ "events": [topic] });
        let message = controller
            .refused("FORBIDDEN", "gateway.subscribe", params)
            .await;
        assert!(message.contains("admin"), "{topic}: {message}");
    }
    // A wildcard shows the rest and leaves this one out.
    reader.subscribe(&["*"]).await;
    let mut controller = Peer::on(Surface::Unix, &house, &control).await;
    controller.subscribe(&["log.line", "session.*"]).await;
    let mut owner = Peer::owner(&house).await;
    owner
        .call(
            "config.set",
            json!({ "key": "log.level", "value": "trace" }),
        )
        .await;
    // A service that comes is worth a line at this level.
    owner.register("visitor", &[]).await;
    owner
        .call("session.create", json!({ "sessionKey": "chat:seen" }))
        .await;
    controller.event_of("log.line").await;
    reader.event_of("session.created").await;
    let came = reader.settled().await;
    assert!(
        came.iter().all(|frame| frame["event"] != "log.line"),
        "{came:?}"
    );
}

#[tokio::test]
async fn what_was_typed_into_a_terminal_is_in_the_record_for_admins_only() {
    const TYPED: &str = "echo my-secret-word";
    let house = House::start();
    house.hob(&["terminal", "run", TYPED]).success();
    for (scope, shown) in [
        ("read", false),
        ("chat", false),
        ("control", false),
        ("admin", true),
    ] {
        let holder = token(&house, scope, scope);
        let mut texts = Vec::new();
        for surface in SURFACES {
            let mut peer = Peer::on(surface, &house, &holder).await;
            texts.push(peer.call("audit.list", json!({})).await);
            let verified = peer.call("audit.verify", json!({})).await;
            assert!(verified["problem"].is_null(), "{verified}");
        }
        let posted = http::rpc(&house, &holder, "audit.list", "{}").await;
        texts.push(posted.json());
        for listed in texts {
            let entries = listed["entries"].as_array().expect("a list");
            let typed = entries
                .iter()
                .find(|entry| entry["tool"] == "terminal.execute");
            let typed = typed.expect("the entry itself is there").to_string();
            assert_eq!(typed.contains(TYPED), shown, "{scope}: {typed}");
            assert!(
                typed.contains("main"),
                "which terminal it was stays: {typed}"
            );
        }
    }
}

#[tokio::test]
async fn a_service_token_registers_its_name_and_nothing_else() {
    let house = House::start();
    let holder = token(&house, "echo-service", "service:echo");
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &holder).await;
        for method in ["session.list", "gateway.stats", "config.get"] {
            peer.refused("FORBIDDEN", method, json!({})).await;
        }
        peer.refused("FORBIDDEN", "session.create", json!({ "sessionKey": "no" }))
            .await;
        peer.refused(
            "FORBIDDEN",
            "gateway.register",
            json!({ "service": "other" }),
        )
        .await;
        for params in [
            json!({ "service": "echo", "methods": ["echo.say", "other.say"] }),
            json!({ "service": "echo", "events": ["other.said"] }),
            json!({ "service": "echo", "methods": ["echoes.say"] }),
            json!({ "service": "echo", "methods": ["session.create"] }),
        ] {
            peer.refused("REGISTER_FAILED", "gateway.register", params)
                .await;
        }
        for events in [["session.message"], ["session.*"], ["*"]] {
            let answer = peer
                .ask("gateway.subscribe", json!({ "events": events }))
                .await;
            let error = answer.expect_err("it may only see its own");
            assert_eq!(error["code"], "FORBIDDEN", "{error}");
        }
        let params = json!({ "service": "echo", "methods": ["echo.say"], "events": ["echo.said"] });
        peer.call("gateway.register", params).await;
        peer.call("gateway.subscribe", json!({ "events": ["echo.*"] }))
            .await;
        let served = serve(peer, |_| json!("heard"));
        let mut owner = Peer::owner(&house).await;
        assert_eq!(owner.call("echo.say", json!({})).await, "heard");
        owner.subscribe(&["service.disconnected"]).await;
        served.abort();
        owner.event_of("service.disconnected").await;
    }
}

#[tokio::test]
async fn a_name_in_use_by_another_credential_is_not_taken() {
    let house = House::start();
    let holder = token(&house, "first", "service:echo");
    let rival = token(&house, "second", "service:echo");
    let mut first = Peer::on(Surface::Ws, &house, &holder).await;
    first.register("echo", &["echo.say"]).await;
    for (surface, token) in [(Surface::Ws, rival), (Surface::Unix, house.token())] {
        let mut second = Peer::on(surface, &house, &token).await;
        let params = json!({ "service": "echo", "methods": ["echo.say"] });
        second
            .refused("REGISTER_FAILED", "gateway.register", params)
            .await;
    }
    // The same credential may come again.
    let mut again = Peer::on(Surface::Unix, &house, &holder).await;
    again.register("echo", &["echo.say"]).await;
    first.until_closed().await;
}

#[tokio::test]
async fn no_credential_no_entry() {
    let house = House::start();
    for wrong in [
        "",
        "wrong",
        &"0".repeat(64),
        "hob_00000000_000000000000000000000000",
    ] {
        let refused = Peer::ws(ws_request(&house, wrong)).await.err();
        assert_eq!(refused, Some(401), "{wrong:?}");
        let mut peer = Peer::unix_unknown(&house).await;
        peer.refused("UNAUTHORIZED", "gateway.auth", json!({ "token": wrong }))
            .await;
        peer.until_closed().await;
        let answer = http::rpc(&house, wrong, "session.list", "{}").await;
        assert_eq!(answer.status, 401);
        assert_eq!(answer.json()["error"]["code"], "UNAUTHORIZED");
    }
    assert_eq!(
        Peer::ws(super::wire::ws_request_bare(&house)).await.err(),
        Some(401)
    );
    // On the socket nothing comes before saying who one is.
    for first in [
        json!({ "type": "req", "id": "1", "method": "session.list" }).to_string(),
        "garbage".to_owned(),
    ] {
        let mut peer = Peer::unix_unknown(&house).await;
        peer.send_text(&first).await;
        let (frames, _) = peer.until_closed().await;
        assert!(
            frames.iter().all(|frame| frame["ok"] == false),
            "{frames:?}"
        );
    }
}

#[tokio::test]
async fn declaring_scopes_grants_none() {
    let house = House::start();
    let read = token(&house, "modest", "read");
    let mut request = ws_request(&house, &read);
    for name in ["x-hob-scopes", "x-scopes", "scope"] {
        request
            .headers_mut()
            .insert(name, "admin".parse().expect("a header"));
    }
    let mut peer = Peer::ws(request).await.expect("the token is good");
    peer.refused("FORBIDDEN", "token.list", json!({})).await;
    let mut frame = super::wire::request("1", "token.list", json!({}));
    frame["scopes"] = json!(["admin"]);
    frame["principal"] = json!("owner");
    peer.send(frame).await;
    assert_eq!(peer.answer("1").await["error"]["code"], "FORBIDDEN");
    let mut by_socket = Peer::unix_unknown(&house).await;
    let forged = json!({ "token": read, "scopes": ["admin"] });
    by_socket
        .refused("INVALID_PARAMS", "gateway.auth", forged)
        .await;
}

#[tokio::test]
async fn an_expired_token_is_no_credential() {
    let house = House::start();
    let made = house.hob(&[
        "token",
        "create",
        "--name",
        "brief",
        "--scope",
        "read",
        "--expires",
        "2s",
        "--json",
    ]);
    let made: Value = serde_json::from_str(&made.success()).expect("--json prints JSON");
    assert!(made["expiresAt"].is_u64(), "{made}");
    let token = text(&made, "token");
    // Whoever came in time is shown out when it ends.
    let mut guest = Peer::on(Surface::Unix, &house, &token).await;
    guest.until_closed().await;
    assert!(
        now_ms() >= number(&made, "expiresAt"),
        "not before its time"
    );
    assert_eq!(Peer::ws(ws_request(&house, &token)).await.err(), Some(401));
    assert_eq!(http::get(&house, "/ready", &token).await.status, 401);
}

#[tokio::test]
async fn revoking_closes_live_sockets_within_a_second() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    for by in ["name", "id"] {
        let made = owner
            .call(
                "token.create",
                json!({ "name": "guest", "scopes": ["read"] }),
            )
            .await;
        let guest = text(&made, "token");
        let mut by_ws = Peer::on(Surface::Ws, &house, &guest).await;
        let mut by_unix = Peer::on(Surface::Unix, &house, &guest).await;
        let mut bystander = Peer::owner(&house).await;
        by_ws.subscribe(&["*"]).await;
        owner
            .call("token.revoke", json!({ "token": text(&made, by) }))
            .await;
        let within = Duration::from_secs(1);
        for peer in [&mut by_ws, &mut by_unix] {
            let closed = tokio::time::timeout(within, peer.until_closed()).await;
            closed.expect("a revoked token's socket is closed within a second");
        }
        assert_eq!(Peer::ws(ws_request(&house, &guest)).await.err(), Some(401));
        assert_eq!(
            http::rpc(&house, &guest, "session.list", "{}").await.status,
            401
        );
        bystander.settled().await;
    }
    let listed = owner.call("token.list", json!({})).await.to_string();
    assert!(!listed.contains("hob_"), "texts are never listed");
}

/// Milliseconds since 1970, as anyone outside would ask for them.
#[expect(clippy::disallowed_methods, reason = "the judge uses no clock of ours")]
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.expect("after 1970").as_millis()).expect("it fits")
}
