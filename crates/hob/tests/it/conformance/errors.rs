//! Every error code of the wire, produced from outside.
//!
//! `METHOD_ERROR`, `CANCELLED` and `INTERNAL` come from a service's own answer: no method of the
//! house that exists today cancels, and a fault of hob's own cannot be caused from outside. What
//! the wire owes is that they pass through unchanged.

use super::http;
use super::scopes::token;
use super::wire::{Peer, Surface, ws_request};
use crate::support::House;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test]
async fn every_error_code_can_be_seen_from_outside() {
    let house = House::builder()
        .env("HOB_GATEWAY_REQUEST_TIMEOUT", "400ms")
        .start();
    let mut peer = Peer::owner(&house).await;
    let mut seen = BTreeSet::new();
    let mut note = |error: &Value| {
        assert!(
            error["message"].as_str().is_some_and(|m| !m.is_empty()),
            "{error}"
        );
        seen.insert(error["code"].as_str().expect("a code").to_owned());
    };

    peer.send_text("this is no frame").await;
    note(&peer.answer("unknown").await["error"]);
    for (method, params) in [
        ("nobody.home", json!({})),
        ("session.get", json!({ "sessionKey": "chat:none" })),
        ("session.get", json!({ "sesionKey": "misspelt" })),
        ("gateway.register", json!({ "service": "sessions" })),
    ] {
        note(&peer.ask(method, params).await.expect_err("it must fail"));
    }
    peer.subscribe(&["session.*"]).await;
    let late = json!({ "events": ["session.*"], "since": 0 });
    note(
        &peer
            .ask("gateway.subscribe", late)
            .await
            .expect_err("it must fail"),
    );

    let mut reader = Peer::on(Surface::Ws, &house, &token(&house, "reader", "read")).await;
    note(
        &reader
            .ask("token.list", json!({}))
            .await
            .expect_err("it must fail"),
    );
    assert_eq!(Peer::ws(ws_request(&house, "wrong")).await.err(), Some(401));
    note(
        &http::rpc(&house, "wrong", "session.list", "{}")
            .await
            .json()["error"],
    );

    let mut service = Peer::owner(&house).await;
    service.register("actor", &["actor.play"]).await;
    for code in ["METHOD_ERROR", "CANCELLED", "INTERNAL", "OVERLOADED"] {
        let id = peer.post("actor.play", json!({})).await;
        let seen = service.request().await;
        service
            .fail(
                &seen,
                json!({ "code": code, "message": "as the service says" }),
            )
            .await;
        note(&peer.answer(&id).await["error"]);
    }
    note(
        &peer
            .ask("actor.play", json!({}))
            .await
            .expect_err("nobody answers"),
    );
    let id = peer.post("actor.play", json!({})).await;
    service.request().await;
    service.request().await;
    drop(service);
    note(&peer.answer(&id).await["error"]);

    let described = peer.call("gateway.describe", json!({})).await;
    let errors = described["errors"].as_array().expect("a list");
    let all: BTreeSet<String> = errors
        .iter()
        .map(|error| error["code"].as_str().expect("a code").to_owned())
        .collect();
    assert_eq!(all.len(), 14, "{all:?}");
    assert_eq!(seen, all);
}

#[tokio::test]
async fn rest_errors_have_one_form_and_the_right_status() {
    let house = House::start();
    let owner = house.token();
    let read = token(&house, "reader", "read");
    for (token, method, body, status, code) in [
        ("wrong", "session.list", "{}", 401, "UNAUTHORIZED"),
        (&*read, "token.list", "{}", 403, "FORBIDDEN"),
        (&*owner, "nobody.home", "{}", 404, "NO_HANDLER"),
        (
            &*owner,
            "session.get",
            r#"{"sessionKey":"none"}"#,
            404,
            "NOT_FOUND",
        ),
        (&*owner, "session.get", "{}", 400, "INVALID_PARAMS"),
        (&*owner, "session.get", "{", 400, "PARSE_ERROR"),
        (
            &*owner,
            "session.get",
            r#"{"sessionKey":"a"} trailing"#,
            400,
            "PARSE_ERROR",
        ),
    ] {
        let answer = http::rpc(&house, token, method, body).await;
        assert_eq!(answer.status, status, "{method} {body}: {answer:?}");
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{kind}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], code, "{error}");
        for field in ["message", "request_id"] {
            assert!(
                error[field].as_str().is_some_and(|text| !text.is_empty()),
                "{error}"
            );
        }
        assert!(!error["timestamp"].is_null(), "{error}");
    }
    // No body at all means no params.
    let answer = http::rpc(&house, &owner, "session.list", "").await;
    assert_eq!(
        (answer.status, answer.json()["sessions"].clone()),
        (200, json!([]))
    );
}
