//! The doors beside the frames: probes, metrics, REST and its document, and who may knock.

use super::http;
use super::wire::{Peer, text, ws_request, ws_request_bare};
use crate::support::House;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test]
async fn health_is_open_and_the_rest_is_not() {
    let house = House::start();
    let answer = http::send(&house, &http::head(&house, "GET", "/health", &[]), "").await;
    assert_eq!((answer.status, answer.body.trim()), (200, "ok"));
    for path in ["/ready", "/metrics", "/api/openapi.json", "/ws"] {
        let answer = http::send(&house, &http::head(&house, "GET", path, &[]), "").await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
        let by_parameter = format!("{path}?token={}", house.token());
        let answer = http::send(&house, &http::head(&house, "GET", &by_parameter, &[]), "").await;
        let status = answer.status;
        assert!(
            [400, 401].contains(&status),
            "a token in a URL is none: {path} {status}"
        );
    }
    assert_eq!(
        http::get(&house, "/ready", &house.token()).await.status,
        200
    );
    assert_eq!(
        http::get(&house, "/nowhere", &house.token()).await.status,
        404
    );
}

#[tokio::test]
async fn metrics_speak_prometheus() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    owner
        .call("session.create", json!({ "sessionKey": "chat:counted" }))
        .await;
    let answer = http::get(&house, "/metrics", &house.token()).await;
    assert_eq!(answer.status, 200);
    let kind = answer.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/plain"), "{kind}");
    let mut samples = 0;
    let mut typed = BTreeSet::new();
    for line in answer.body.lines().filter(|line| !line.is_empty()) {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            typed.insert(declared.split(' ').next().unwrap_or_default().to_owned());
        }
        if line.starts_with('#') {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("NAME VALUE");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let name = name.split('{').next().unwrap_or_default();
        assert!(name.starts_with("hob_"), "{line}");
        assert!(typed.contains(name), "{name} has a type");
        samples += 1;
    }
    assert!(samples >= 8, "{}", answer.body);
}

#[tokio::test]
async fn the_openapi_document_is_whole() {
    let house = House::start();
    let answer = http::get(&house, "/api/openapi.json", &house.token()).await;
    assert_eq!(answer.status, 200);
    let document = answer.json();
    assert!(
        text(&document, "openapi").starts_with("3."),
        "{}",
        document["openapi"]
    );
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    for reference in &references {
        let pointer = reference
            .strip_prefix('#')
            .unwrap_or_else(|| panic!("{reference} is local"));
        assert!(
            document.pointer(pointer).is_some(),
            "{reference} leads nowhere"
        );
    }
    let mut owner = Peer::owner(&house).await;
    let described = owner.call("gateway.describe", json!({})).await;
    let methods = described["methods"].as_array().expect("a list");
    assert!(methods.len() > 20, "{}", methods.len());
    for method in methods {
        let path = format!("/api/rpc/{}", text(method, "name"));
        let operation = &document["paths"][&path]["post"];
        assert!(operation.is_object(), "{path} is documented");
        assert!(operation["responses"]["200"].is_object(), "{path}");
        assert!(operation["operationId"].is_string(), "{path}");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member.as_str() {
                    Some(reference) if key == "$ref" => found.push(reference.to_owned()),
                    _ => collect_references(member, found),
                }
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn describing_gives_schemas_for_what_is_built_in() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    let params = json!({ "service": "echo", "methods": ["echo.say"], "events": ["echo.said"] });
    service.call("gateway.register", params).await;
    let described = service.call("gateway.describe", json!({})).await;
    assert_eq!(described["protocol"], 1);
    let find = |list: &str, field: &str, name: &str| {
        let items = described[list].as_array().expect("a list");
        let item = items.iter().find(|item| item[field] == name);
        item.unwrap_or_else(|| panic!("{name} is described"))
            .clone()
    };
    let send = find("methods", "name", "session.send");
    assert_eq!(
        (&send["service"], &send["scope"]),
        (&json!("sessions"), &json!("chat"))
    );
    assert!(
        send["params"]["properties"]["content"].is_object(),
        "{send}"
    );
    let say = find("methods", "name", "echo.say");
    assert_eq!(say["service"], "echo");
    assert!(say["params"].is_null());
    assert_eq!(
        find("events", "topic", "session.message")["durability"],
        "logged"
    );
    assert_eq!(
        find("events", "topic", "log.line")["durability"],
        "volatile"
    );
    assert_eq!(find("events", "topic", "echo.said")["durability"], "logged");
    let one = service
        .call("gateway.describe", json!({ "method": "session.get" }))
        .await;
    assert_eq!(one["methods"].as_array().map(Vec::len), Some(1));
    let error = service
        .ask("gateway.describe", json!({ "method": "no.such" }))
        .await;
    assert!(error.is_err(), "{error:?}");
}

#[tokio::test]
async fn only_our_own_host_and_origin_may_knock() {
    let house = House::start();
    let token = house.token();
    let bearer = format!("Bearer {token}");
    let host = house.address().to_owned();
    let port = host.rsplit(':').next().expect("a port").to_owned();
    let own_origin = format!("http://{host}");
    let tried = [
        (format!("localhost:{port}"), None, None),
        (host.clone(), Some(own_origin.as_str()), None),
        ("evil.test".to_owned(), None, Some(403)),
        (format!("evil.test:{port}"), None, Some(403)),
        ("127.0.0.1".to_owned(), None, Some(403)),
        ("127.0.0.1:1".to_owned(), None, Some(403)),
        (host.clone(), Some("http://evil.test"), Some(403)),
        (host.clone(), Some("null"), Some(403)),
        (host.clone(), Some("https://127.0.0.1"), Some(403)),
        (host.clone(), Some("chrome-extension://abc"), Some(403)),
    ];
    for (host, origin, refused) in &tried {
        // With the right token and without one: the refusal comes before anything else.
        for authorization in [Some(&bearer), None] {
            let mut request = ws_request_bare(&house);
            let headers = request.headers_mut();
            headers.insert("host", host.parse().expect("a header"));
            if let Some(origin) = origin {
                headers.insert("origin", origin.parse().expect("a header"));
            }
            if let Some(bearer) = authorization {
                headers.insert("authorization", bearer.parse().expect("a header"));
            }
            let expected = refused.or(authorization.is_none().then_some(401));
            let outcome = Peer::ws(request).await.err();
            assert_eq!(outcome, expected, "ws Host {host} Origin {origin:?}");
        }
        let mut head =
            format!("GET /ready HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\n");
        if let Some(origin) = origin {
            head.extend(["Origin: ", origin, "\r\n"]);
        }
        head.push_str("Connection: close\r\n\r\n");
        let status = http::send(&house, &head, "").await.status;
        assert_eq!(
            status,
            refused.unwrap_or(200),
            "http Host {host} Origin {origin:?}"
        );
    }
}

#[tokio::test]
async fn a_browser_presents_its_token_as_a_subprotocol() {
    let house = House::start();
    let offered = format!("hob.v1, hob.token.{}", house.token());
    let mut request = ws_request_bare(&house);
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", offered.parse().expect("a header"));
    // The client checks that the server chose one it offered; it must be the one without secret.
    let mut peer = Peer::ws(request).await.expect("the token is good");
    peer.settled().await;
    let mut request = ws_request_bare(&house);
    let wrong = "hob.v1, hob.token.wrong".parse().expect("a header");
    request
        .headers_mut()
        .insert("sec-websocket-protocol", wrong);
    assert_eq!(Peer::ws(request).await.err(), Some(401));
}

#[tokio::test]
async fn reading_over_http_never_changes_anything() {
    let house = House::start();
    let bearer = format!("Bearer {}", house.token());
    for (verb, kind) in [
        ("GET", "application/json"),
        ("HEAD", "application/json"),
        ("PUT", "application/json"),
    ] {
        let body = r#"{"sessionKey":"chat:csrf"}"#;
        let length = body.len().to_string();
        let fields = [
            ("Authorization", &*bearer),
            ("Content-Type", kind),
            ("Content-Length", &*length),
        ];
        let head = http::head(&house, verb, "/api/rpc/session.create", &fields);
        let answer = http::send(&house, &head, body).await;
        assert!([404, 405].contains(&answer.status), "{verb}: {answer:?}");
    }
    // What a form of another page could send.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let body = r#"{"sessionKey":"chat:csrf"}"#;
        let length = body.len().to_string();
        let fields = [
            ("Authorization", &*bearer),
            ("Content-Type", kind),
            ("Content-Length", &*length),
            ("Origin", "http://evil.test"),
        ];
        let head = http::head(&house, "POST", "/api/rpc/session.create", &fields);
        assert_eq!(http::send(&house, &head, body).await.status, 403);
    }
    let mut owner = Peer::ws(ws_request(&house, &house.token()))
        .await
        .expect("the token is good");
    assert_eq!(
        owner.call("session.list", json!({})).await["sessions"],
        json!([])
    );
}

#[tokio::test]
async fn what_needs_a_lasting_connection_is_refused_over_http() {
    let house = House::start();
    for (method, body) in [
        ("gateway.subscribe", r#"{"events":["*"]}"#),
        (
            "gateway.register",
            r#"{"service":"brief","methods":["brief.word"]}"#,
        ),
    ] {
        let answer = http::rpc(&house, &house.token(), method, body).await;
        assert!((400..500).contains(&answer.status), "{method}: {answer:?}");
        assert!(answer.json()["error"]["message"].is_string());
    }
    let mut owner = Peer::owner(&house).await;
    owner.refused("NO_HANDLER", "brief.word", json!({})).await;
}

#[tokio::test]
async fn one_http_connection_carries_many_requests() {
    let house = House::start();
    let body = r#"{"sessionKey":"chat:kept"}"#;
    let fields = [
        ("Authorization", &*format!("Bearer {}", house.token())),
        ("Content-Type", "application/json"),
        ("Content-Length", &*body.len().to_string()),
    ];
    let one = http::head(&house, "POST", "/api/rpc/session.create", &fields);
    let kept = one.replace("Connection: close", "Connection: keep-alive");
    let all = format!("{kept}{body}{kept}{body}{one}");
    let raw = http::send_raw(&house, &all, body).await;
    assert_eq!(raw.matches("HTTP/1.1 200 OK").count(), 3, "{raw}");
    assert_eq!(raw.matches("\"created\":true").count(), 1, "{raw}");
}
