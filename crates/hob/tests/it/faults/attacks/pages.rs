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
    rig.env("HOB_LISTEN_LOOPRUNNER", "127.0.0.1:0").start();
    let before = traces(&rig);
    let mut tried = 0;
    for (what, reply) in forgeries(&rig).into_iter().chain(loop_forgeries(&rig)) {
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
    let looprunner = rig.listener("looprunner");
    let reply = http::post(looprunner, "/api/config", &[JSON], r#"{"user":"mine"}"#);
    assert_eq!(reply.expect("an answer").status, 200, "as does theirs");
    trial.figure("effects", format_args!("{effects}/{tried}"));
}

/// All that a forged request could have changed.
fn traces(rig: &Rig) -> Value {
    let mut peer = rig.peer();
    json!([
        peer.must("session.list", &json!({})),
        peer.must("token.list", &json!({})),
        peer.must("config.get", &json!({})),
        peer.must("loop.list", &json!({})),
        peer.must("loop.get", &json!({ "name": "default" })),
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

/// What starts or sets a loop, on the main port and on Loop Runner's own, where no token is needed.
fn loop_forgeries(rig: &Rig) -> Vec<(String, Reply)> {
    let (main, looprunner) = (rig.port(), rig.listener("looprunner"));
    let bearer = format!("Authorization: Bearer {}", rig.token());
    let set = r#"{"user":"forged","monitor":{"command":"touch /tmp/forged"},"working":"forged"}"#;
    let mut replies = Vec::new();
    for (port, token) in [(main, bearer.as_str()), (looprunner, "X-No-Token: 1")] {
        let own = format!("Origin: http://127.0.0.1:{port}");
        let mut keep = |method: &str, path: &str, lines: &[&str], body: &str| {
            let request = http::request(method, port, path, lines, body);
            let reply = http::exchange(port, &request).expect("an answer");
            replies.push((format!("{method} {port}{path} {lines:?} {body}"), reply));
        };
        for path in ["/api/start", "/api/config", "/api/working", "/api/stop"] {
            // Any body, typed or not, from a page of another origin.
            for kind in [FORM, PLAIN, MULTIPART, JSON, "X-No-Type: 1"] {
                for origin in ["Origin: http://evil.test", "Origin: null"] {
                    keep("POST", path, &[token, origin, kind], set);
                    keep("POST", path, &[token, origin, kind], "");
                }
                keep(
                    "POST",
                    path,
                    &[token, &own, kind, "Sec-Fetch-Site: cross-site"],
                    set,
                );
            }
            // What a form can send, even where a browser names no origin.
            for kind in [FORM, PLAIN, MULTIPART] {
                for origin in [own.as_str(), "X-No-Origin: 1"] {
                    keep("POST", path, &[token, origin, kind], set);
                    keep("POST", path, &[token, origin, kind], "");
                }
            }
            for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
                keep(method, path, &[token, JSON], set);
            }
        }
        let loops = r#"{"id":"forged","config":{"user":"forged"}}"#;
        for kind in [FORM, PLAIN] {
            keep("POST", "/api/loops", &[token, &own, kind], loops);
            keep("POST", "/api/loops/default/start", &[token, &own, kind], "");
        }
    }
    // A hook needs its secret, whoever sends.
    for kind in [FORM, PLAIN, JSON] {
        let request = http::request("POST", main, "/hooks/forged", &[kind], set);
        let reply = http::exchange(main, &request).expect("an answer");
        replies.push((format!("hook {kind}"), reply));
    }
    replies
}
