//! Calls over HTTP.

use crate::house::{House, Socket};
use serde_json::json;

#[tokio::test]
async fn a_method_is_a_post() {
    let house = House::new().await;
    let owner = house.owner();
    let key = json!({"sessionKey": "chat:main"});
    let answer = house.rpc(&owner, "session.create", &key).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["created"], true);
    let answer = house.rpc(&owner, "session.create", &key).await;
    assert_eq!(answer.json()["created"], false);
    house.stop().await;
}

#[tokio::test]
async fn an_empty_body_is_no_params() {
    let house = House::new().await;
    let request = format!(
        "POST /api/rpc/gateway.stats HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        house.host(),
        house.owner()
    );
    let answer = house.send(&request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.json()["services"].as_u64().unwrap() >= 1);
    house.stop().await;
}

#[tokio::test]
async fn errors_have_one_shape() {
    let house = House::new().await;
    let answer = house.rpc(&house.owner(), "no.such", &json!({})).await;
    assert_eq!(answer.status, 404);
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "NO_HANDLER");
    assert!(!error["message"].as_str().unwrap().is_empty());
    assert_eq!(error["request_id"], answer.header("x-request-id").unwrap());
    assert!(error["timestamp"].as_u64().unwrap() > 1_600_000_000_000);
    let missing = json!({"sessionKey": "nobody"});
    let answer = house.rpc(&house.owner(), "session.get", &missing).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"));
    let unknown = json!({"sessionKey": "a", "bogus": 1});
    let answer = house.rpc(&house.owner(), "session.create", &unknown).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, "INVALID_PARAMS")
    );
    house.stop().await;
}

#[tokio::test]
async fn a_named_trace_is_the_request_id() {
    let house = House::new().await;
    let bearer = format!("Authorization: Bearer {}", house.owner());
    let answer = house
        .get("/ready", &[&bearer, "X-Hob-Trace: my-trace-1"])
        .await;
    assert_eq!(answer.header("x-request-id"), Some("my-trace-1"));
    house.stop().await;
}

#[tokio::test]
async fn what_a_form_can_send_has_no_effect() {
    let house = House::new().await;
    let owner = house.owner();
    let body = r#"{"sessionKey":"forged"}"#;
    let kinds = [
        "Content-Type: text/plain",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=x",
        "Content-Type: text/plain\r\nContent-Type: application/json",
        "X-Nothing: 1",
    ];
    for kind in kinds {
        let request = format!(
            "POST /api/rpc/session.create HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {owner}\r\n{kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            house.host(),
            body.len()
        );
        let answer = house.send(&request).await;
        assert_eq!(answer.status, 415, "{kind}");
    }
    let bearer = format!("Authorization: Bearer {owner}");
    let path = "/api/rpc/session.create?sessionKey=forged";
    assert_eq!(house.get(path, &[&bearer]).await.status, 405);
    let forged = json!({"sessionKey": "forged"});
    let answer = house.rpc(&owner, "session.get", &forged).await;
    assert_eq!(answer.status, 404, "nothing was created");
    house.stop().await;
}

#[tokio::test]
async fn a_body_is_one_json_value_within_bounds() {
    let house = House::new().await;
    let owner = house.owner();
    let send = async |body: &str| {
        let request = format!(
            "POST /api/rpc/session.create HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {owner}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            house.host(),
            body.len()
        );
        house.send(&request).await
    };
    let escape = r#"{"sessionKey":"x"},"method":"token.create","#;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    // With the frame around it one level too many.
    let one_too_deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    for body in ["{", "{}{}", escape, &deep, &one_too_deep] {
        let answer = send(body).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "PARSE_ERROR")
        );
    }
    assert_eq!(send(r#"{"sessionKey":"fine"}"#).await.status, 200);
    let huge = format!(
        "POST /api/rpc/session.create HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {owner}\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\nConnection: close\r\n\r\n",
        house.host()
    );
    assert_eq!(house.send(&huge).await.status, 413);
    house.stop().await;
}

#[tokio::test]
async fn a_chunked_body_is_bounded_too() {
    let house = House::new().await;
    let mut request = format!(
        "POST /api/rpc/session.create HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        house.host(),
        house.owner()
    );
    let chunk = " ".repeat(0x10_0000);
    for _ in 0..9 {
        request.push_str("100000\r\n");
        request.push_str(&chunk);
        request.push_str("\r\n");
    }
    request.push_str("0\r\n\r\n");
    assert_eq!(house.send(&request).await.status, 413);
    house.stop().await;
}

#[tokio::test]
async fn outside_services_are_reached_too() {
    let house = House::new().await;
    let (_, token) = house.token("service:weather", None).await;
    let mut service = house.socket(&token).await;
    let registration = json!({
        "service": "weather", "version": "1", "methods": ["weather.now"], "events": [], "subscriptions": [],
    });
    let answer = service.call("1", "gateway.register", registration).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let owner = house.owner();
    let place = json!({"place": "x"});
    let (answer, ()) = tokio::join!(
        house.rpc(&owner, "weather.now", &place),
        answer_one(&mut service)
    );
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json(), json!({"sun": true}));
    let (_, reader) = house.token("chat", None).await;
    let answer = house.rpc(&reader, "weather.now", &json!({})).await;
    assert_eq!(answer.code(), "FORBIDDEN");
    house.stop().await;
}

async fn answer_one(service: &mut Socket) {
    let request = service.next().await;
    assert_eq!(request["method"], "weather.now");
    assert_eq!(request["params"], json!({"place": "x"}));
    service
        .send(&json!({"type": "res", "id": request["id"], "ok": true, "payload": {"sun": true}}))
        .await;
}

#[tokio::test]
async fn the_openapi_document_is_served() {
    let house = House::new().await;
    let (_, token) = house.token("read", None).await;
    let bearer = format!("Authorization: Bearer {token}");
    let answer = house.get("/api/openapi.json", &[&bearer]).await;
    assert_eq!(answer.status, 200);
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/api/rpc/session.create"]["post"].is_object());
    house.stop().await;
}
