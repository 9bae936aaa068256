//! Fault 41: what a page can make a browser send without being asked: forms, simple requests, GETs.

use crate::faults::http::{self, Reply};
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use serde_json::{Value, json};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
const PLAIN: &str = "Content-Type: text/plain";
const MULTIPART: &str = "Content-Type: multipart/form-data; boundary=b";
const JSON: &str = "Content-Type: application/json";

#[test]
fn f41_cross_site_request_forgery() {
    let trial = Trial::begin(41);
    let mut rig = Rig::new();
    rig.start();
    let before = traces(&rig);
    let mut tried = 0;
    for (what, reply) in forgeries(&rig) {
        tried += 1;
        assert!((400..500).contains(&reply.status), "{what}: {reply:?}");
        let opened = http::header(&reply.head, "access-control-allow-origin");
        assert_eq!(opened, None, "{what}: no page may read an answer");
    }
    let effects = usize::from(traces(&rig) != before);
    assert_eq!(effects, 0, "something changed: {}", traces(&rig));

    let bearer = format!("Authorization: Bearer {}", rig.token());
    let reply = http::post(
        rig.port(),
        "/api/rpc/session.create",
        &[&bearer, JSON],
        r#"{"sessionKey":"mine"}"#,
    );
    assert_eq!(
        reply.expect("an answer").status,
        200,
        "the honest way works"
    );
    trial.figure("effects", format_args!("{effects}/{tried}"));
}

/// All that a forged request could have changed.
fn traces(rig: &Rig) -> Value {
    let mut peer = rig.peer();
    json!([
        peer.must("session.list", &json!({})),
        peer.must("token.list", &json!({})),
        peer.must("config.get", &json!({})),
        peer.must("daemon.status", &json!({}))["seq"],
    ])
}

fn forgeries(rig: &Rig) -> Vec<(String, Reply)> {
    let port = rig.port();
    let token = rig.token();
    let own = format!("Origin: http://127.0.0.1:{port}");
    let origins = [
        "Origin: http://evil.test",
        "Origin: null",
        own.as_str(),
        "X-No-Origin: 1",
    ];
    let key = r#"{"sessionKey":"forged"}"#;
    let bodies = [
        (FORM, "sessionKey=forged".to_owned()),
        (
            FORM,
            format!("sessionKey=forged&token={token}&access_token={token}"),
        ),
        (FORM, format!("{key}=")),
        (PLAIN, key.to_owned()),
        (
            MULTIPART,
            "--b\r\nContent-Disposition: form-data; name=\"sessionKey\"\r\n\r\nforged\r\n--b--\r\n"
                .to_owned(),
        ),
    ];
    let mut replies = Vec::new();
    let mut keep = |what: String, request: Vec<u8>| {
        let reply = http::exchange(port, &request).expect("an answer");
        replies.push((what, reply));
    };
    let cookie = format!("Cookie: token={token}; hob.token={token}");
    for origin in origins {
        for (kind, body) in &bodies {
            let request = http::request(
                "POST",
                port,
                "/api/rpc/session.create",
                &[origin, kind, &cookie],
                body,
            );
            keep(format!("POST {kind} {origin} {body}"), request);
        }
        let query =
            format!("/api/rpc/session.create?sessionKey=forged&token={token}&access_token={token}");
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"] {
            keep(
                format!("{method} {origin}"),
                http::request(method, port, &query, &[origin], ""),
            );
        }
        keep(
            format!("token in the URL {origin}"),
            http::request("POST", port, &query, &[origin, JSON], key),
        );
    }
    // With the right token: a page of another origin is refused, and reading verbs change nothing.
    let bearer = format!("Authorization: Bearer {token}");
    for origin in &origins[..2] {
        let request = http::request(
            "POST",
            port,
            "/api/rpc/session.create",
            &[origin, &bearer, JSON],
            key,
        );
        keep(format!("POST with a token {origin}"), request);
    }
    for method in ["GET", "HEAD"] {
        for path in [
            "/api/rpc/session.create",
            "/api/rpc/session.create?sessionKey=forged",
        ] {
            keep(
                format!("{method} {path} with a token"),
                http::request(method, port, path, &[&bearer], key),
            );
        }
    }
    replies
}
