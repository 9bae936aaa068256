//! The listener for Loop Runner's clients, which have no token.

use crate::house::{House, exchange};
use crate::looprunner::loops::Loops;
use crate::looprunner::request;
use crate::looprunner::stream::Stream;
use serde_json::json;
use std::sync::Arc;

async fn open_house() -> (House, String, Arc<Loops>) {
    let config = "listen.looprunner = \"127.0.0.1:0\"";
    let house = House::with(config, Some("127.0.0.1:0")).await.unwrap();
    let listeners = house.gateway.listeners();
    let found = listeners
        .iter()
        .find_map(|line| line.strip_prefix("looprunner "));
    let address = found.expect("it is opened").to_owned();
    let loops = Loops::move_in(&house);
    (house, address, loops)
}

#[tokio::test]
async fn a_client_without_a_token_is_served() {
    let (house, address, loops) = open_house().await;
    let page = request(&address, "GET", "/", &[], None).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("/api/events"), "{}", page.text());
    let mut stream = Stream::open(&address, "/api/events", &[]).await.unwrap();
    assert_eq!(stream.next().await.unwrap().kind(), "connected");
    let body = json!({ "user": "Look." }).to_string();
    let configured = request(&address, "POST", "/api/config", &[], Some(&body)).await;
    assert_eq!(configured.json()["config"]["user"], "Look.");
    assert_eq!(
        request(&address, "POST", "/api/start", &[], None)
            .await
            .status,
        200
    );
    assert_eq!(
        request(&address, "POST", "/api/start", &[], None)
            .await
            .status,
        409
    );
    assert!(loops.get("default").unwrap().state.running);
    let inspected = house
        .rpc(&house.owner(), "gateway.inspect", &json!({}))
        .await
        .json();
    let connections = inspected["connections"].as_array().unwrap();
    let theirs = connections
        .iter()
        .find(|one| one["surface"] == "looprunner");
    assert_eq!(theirs.unwrap()["scopes"], json!(["control"]));
    house.stop().await;
}

#[tokio::test]
async fn it_has_only_its_dialect() {
    let (house, address, _loops) = open_house().await;
    for path in [
        "/ws",
        "/health",
        "/api/openapi.json",
        "/api/loops",
        "/api/loops/default/state",
        "/v1/models",
        "/api/tools/openapi.json",
    ] {
        assert_eq!(
            request(&address, "GET", path, &[], None).await.status,
            404,
            "{path}"
        );
    }
    for path in ["/api/rpc/loop.delete", "/api/tools/exec", "/hooks/x"] {
        assert_eq!(
            request(&address, "POST", path, &[], Some("")).await.status,
            404,
            "{path}"
        );
    }
    house.stop().await;
}

#[tokio::test]
async fn pages_of_other_origins_and_names_change_nothing() {
    let (house, address, loops) = open_house().await;
    let own = format!("Origin: http://{address}");
    for lines in [
        vec!["Origin: http://evil.test"],
        vec!["Origin: null"],
        vec![own.as_str(), "Sec-Fetch-Site: cross-site"],
        vec!["Sec-Fetch-Site: same-site"],
        vec![own.as_str(), "Origin: http://evil.test"],
    ] {
        for path in ["/api/start", "/api/stop", "/api/config"] {
            let answer = request(&address, "POST", path, &lines, Some("{}")).await;
            assert_eq!(answer.status, 403, "{lines:?} {path}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let text = "Content-Type: text/plain";
    let body = json!({ "monitor": { "command": "id" } }).to_string();
    let answer = request(&address, "POST", "/api/config", &[text], Some(&body)).await;
    assert_eq!(answer.status, 415);
    let rebound = "POST /api/start HTTP/1.1\r\nHost: evil.test:3456\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(exchange(&address, rebound.as_bytes()).await.status, 403);
    let refused = Stream::open(&address, "/api/events", &["Origin: http://evil.test"]).await;
    assert_eq!(refused.err().unwrap().status, 403);
    assert!(loops.calls.lock().unwrap().is_empty());
    let task = json!({ "user": "Look." }).to_string();
    for (path, body) in [("/api/config", Some(task.as_str())), ("/api/start", None)] {
        let answer = request(&address, "POST", path, &[&own], body).await;
        assert_eq!(answer.status, 200, "its own page is served");
    }
    house.stop().await;
}
