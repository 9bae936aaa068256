//! Fault 44: a client says itself what it may do.

use crate::faults::http;
use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use crate::faults::websocket::Socket;
use serde_json::{Value, json};

/// Needs scope `admin`, and would hand out more power.
const METHOD: &str = "token.create";
const HEADERS: [&str; 12] = [
    "X-Hob-Scope: admin",
    "X-Hob-Scopes: read,chat,control,admin",
    "X-Scopes: admin",
    "X-Scope: admin",
    "X-Role: admin",
    "X-Hob-Role: owner",
    "X-User: owner",
    "X-Principal: owner",
    "X-Forwarded-User: owner",
    "X-Remote-User: owner",
    "X-Original-URL: /api/rpc/session.list",
    "X-HTTP-Method-Override: POST",
];

#[test]
fn f44_self_declared_scope() {
    let trial = Trial::begin(44);
    let mut rig = Rig::new();
    rig.start();
    let made = rig
        .peer()
        .must(METHOD, &json!({ "name": "small", "scopes": ["read"] }));
    let token = made["token"].as_str().expect("a token").to_owned();
    let before = rig.peer().must("token.list", &json!({}));
    let mut tried = 0;
    tried += over_http(&rig, &token);
    tried += over_websocket(&rig, &token);
    tried += over_the_socket(&rig, &token);
    let escalations = usize::from(rig.peer().must("token.list", &json!({})) != before);
    assert_eq!(escalations, 0, "a token was made by someone who may not");
    trial.figure("escalations", format_args!("{escalations}/{tried}"));
}

fn wanted() -> Value {
    json!({ "name": "forged", "scopes": ["admin"] })
}

fn over_http(rig: &Rig, token: &str) -> usize {
    let bearer = format!("Authorization: Bearer {token}");
    let body = wanted().to_string();
    let mut tried = 0;
    let mut check = |path: &str, lines: &[&str]| {
        tried += 1;
        let reply = http::post(rig.port(), path, lines, &body).expect("an answer");
        assert!(
            [400, 401, 403].contains(&reply.status),
            "{path} {lines:?}: {reply:?}"
        );
    };
    let path = format!("/api/rpc/{METHOD}");
    for header in HEADERS {
        check(&path, &[&bearer, "Content-Type: application/json", header]);
    }
    check(
        &path,
        &[
            &bearer,
            "Content-Type: application/json",
            &HEADERS.join("\r\n"),
        ],
    );
    for query in ["scope=admin", "scopes=admin", "role=owner", "admin=true"] {
        check(
            &format!("{path}?{query}"),
            &[&bearer, "Content-Type: application/json"],
        );
    }
    // A second credential cannot lift the first.
    check(
        &path,
        &[
            &bearer,
            "Authorization: Bearer admin",
            "Content-Type: application/json",
        ],
    );
    tried
}

fn over_websocket(rig: &Rig, token: &str) -> usize {
    let bearer = format!("Authorization: Bearer {token}");
    let offers = [
        format!("Sec-WebSocket-Protocol: hob.v1, hob.token.{token}, hob.scope.admin"),
        format!("Sec-WebSocket-Protocol: hob.v1, hob.token.{token}, admin"),
        format!("{bearer}\r\n{}", HEADERS.join("\r\n")),
    ];
    for offer in &offers {
        // Refusing the whole connection is an answer too.
        let Ok(mut socket) = Socket::open(rig.port(), &[offer]).expect("an answer") else {
            continue;
        };
        let error = socket
            .call(METHOD, &wanted())
            .expect("an answer")
            .expect_err("refused");
        assert_eq!(error["code"], "FORBIDDEN", "{offer}: {error}");
    }
    let mut socket = Socket::authenticated(rig.port(), token);
    let frames = [
        json!({ "scopes": ["admin"] }),
        json!({ "scope": "admin", "role": "owner", "principal": "owner" }),
        json!({ "caller": "house", "surface": "house" }),
        json!({ "target": "tokens" }),
    ];
    for extra in &frames {
        let mut frame =
            json!({ "type": "req", "id": "f", "target": "", "method": METHOD, "params": wanted() });
        for (name, value) in extra.as_object().expect("an object") {
            frame[name] = value.clone();
        }
        socket.send_text(&frame.to_string()).expect("a message");
        let answer = socket.frame().expect("an answer");
        assert_eq!(answer["error"]["code"], "FORBIDDEN", "{frame}: {answer}");
    }
    // Answering and emitting as somebody else, and taking a name of the house.
    for (method, params) in [
        (
            "gateway.register",
            json!({ "service": "tokens", "methods": ["token.create"] }),
        ),
        (
            "gateway.register",
            json!({ "service": "small", "methods": ["small.x"] }),
        ),
        (
            "config.set",
            json!({ "key": "log.level", "value": "debug" }),
        ),
    ] {
        let error = socket
            .call(method, &params)
            .expect("an answer")
            .expect_err("refused");
        assert!(
            ["FORBIDDEN", "REGISTER_FAILED"].contains(&error["code"].as_str().unwrap_or_default()),
            "{method}: {error}"
        );
    }
    offers.len() + frames.len() + 3
}

fn over_the_socket(rig: &Rig, token: &str) -> usize {
    let forged = [
        json!({ "token": token, "scopes": ["admin"] }),
        json!({ "token": token, "scope": "admin" }),
        json!({ "token": token, "name": "owner", "role": "owner" }),
    ];
    for params in &forged {
        let mut peer = Peer::open(rig.socket()).expect("the socket");
        if let Ok(Ok(told)) = peer.call("gateway.auth", params) {
            assert_eq!(told["scopes"], json!(["read"]), "{params}");
            assert_eq!(
                peer.refused(METHOD, &wanted())["code"],
                "FORBIDDEN",
                "{params}"
            );
        }
    }
    let mut peer = Peer::authenticated(rig.socket(), token).expect("a right token");
    // A second authentication cannot lift the first.
    let _ = peer.call(
        "gateway.auth",
        &json!({ "token": token, "scopes": ["admin"] }),
    );
    if let Ok(answer) = peer.call(METHOD, &wanted()) {
        assert_eq!(answer.expect_err("refused")["code"], "FORBIDDEN");
    }
    forged.len() + 1
}
