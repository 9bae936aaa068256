//! The checks of every HTTP request, in order: Host, Origin, path, token, scope.

use crate::house::House;
use serde_json::json;

#[tokio::test]
async fn only_health_is_open() {
    let house = House::new().await;
    let health = house.get("/health", &[]).await;
    assert_eq!((health.status, health.text().as_str()), (200, "ok"));
    for path in ["/ready", "/metrics", "/api/openapi.json", "/ws"] {
        let answer = house.get(path, &[]).await;
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.code(), "UNAUTHORIZED");
        assert!(
            answer
                .header("www-authenticate")
                .unwrap()
                .starts_with("Bearer")
        );
    }
    let post = format!(
        "POST /api/rpc/gateway.stats HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        house.host()
    );
    assert_eq!(house.send(&post).await.status, 401);
    house.stop().await;
}

#[tokio::test]
async fn only_exact_hosts_are_served() {
    let house = House::new().await;
    let port = house.gateway.address().port();
    let status = async |host: &str| {
        let request = format!("GET /health HTTP/1.1\r\nConnection: close\r\n{host}\r\n");
        house.send(&request).await.status
    };
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        assert_eq!(
            status(&format!("Host: {host}:{port}\r\n")).await,
            200,
            "{host}"
        );
    }
    for host in [
        "evil.test",
        "127.0.0.1.evil.test",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
    ] {
        assert_eq!(
            status(&format!("Host: {host}:{port}\r\n")).await,
            403,
            "{host}"
        );
    }
    assert_eq!(status("Host: localhost\r\n").await, 403);
    assert_eq!(status("").await, 400, "missing");
    let twice = format!("Host: localhost:{port}\r\nHost: localhost:{port}\r\n");
    assert_eq!(status(&twice).await, 400, "doubled");
    let mixed = format!("Host: localhost:{port}\r\nHost: evil.test\r\n");
    assert_eq!(status(&mixed).await, 400, "doubled");
    house.stop().await;
}

#[tokio::test]
async fn an_absolute_request_line_changes_nothing() {
    let house = House::new().await;
    let host = house.host();
    let status = async |line: &str, host: &str| {
        let head = format!("GET {line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        house.send(&head).await.status
    };
    assert_eq!(status(&format!("http://{host}/health"), &host).await, 200);
    assert_eq!(status("http://evil.test/health", &host).await, 400);
    assert_eq!(status("http://evil.test/health", "evil.test").await, 403);
    assert_eq!(
        status(&format!("http://{host}/health"), "evil.test").await,
        403
    );
    house.stop().await;
}

#[tokio::test]
async fn other_origins_are_refused_before_anything_else() {
    let house = House::new().await;
    let own = format!("Origin: http://{}", house.host());
    assert_eq!(house.get("/health", &[&own]).await.status, 200);
    let bearer = format!("Authorization: Bearer {}", house.owner());
    for origin in ["null", "http://evil.test", "https://localhost", "file://"] {
        let line = format!("Origin: {origin}");
        for path in ["/health", "/ready", "/ws", "/nowhere"] {
            let answer = house.get(path, &[&line, &bearer]).await;
            assert_eq!(answer.status, 403, "{origin} {path}");
            assert_eq!(answer.code(), "FORBIDDEN");
        }
    }
    house.stop().await;
}

#[tokio::test]
async fn the_path_is_looked_at_before_the_token() {
    let house = House::new().await;
    let answer = house.get("/nowhere", &[]).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"));
    let answer = house.get("/api/rpc/session.create", &[]).await;
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), Some("POST"));
    house.stop().await;
}

#[tokio::test]
async fn a_token_in_the_url_is_refused_by_name() {
    let house = House::new().await;
    let owner = house.owner();
    for name in ["token", "access_token"] {
        let answer = house.get(&format!("/ready?x=1&{name}={owner}"), &[]).await;
        assert_eq!(answer.status, 400);
        let text = answer.text();
        assert!(text.contains("Authorization: Bearer"), "{text}");
        assert!(!text.contains(&owner), "a refusal repeats no credential");
    }
    house.stop().await;
}

#[tokio::test]
async fn one_credential_is_enough_and_two_are_too_many() {
    let house = House::new().await;
    let bearer = format!("Authorization: Bearer {}", house.owner());
    let offered = format!(
        "Sec-WebSocket-Protocol: hob.v1, hob.token.{}",
        house.owner()
    );
    assert_eq!(house.get("/ready", &[&bearer]).await.status, 200);
    assert_eq!(house.get("/ready", &[&bearer, &bearer]).await.status, 400);
    assert_eq!(house.get("/ws", &[&bearer, &offered]).await.status, 400);
    let only_offered = house.get("/ready", &[&offered]).await.status;
    assert_eq!(only_offered, 401, "subprotocols are for sockets");
    let basic = "Authorization: Basic b3duZXI6eA==";
    assert_eq!(house.get("/ready", &[basic]).await.status, 401);
    assert_eq!(
        house
            .get("/ready", &["Authorization: Bearer "])
            .await
            .status,
        401
    );
    house.stop().await;
}

#[tokio::test]
async fn answers_are_not_kept_framed_or_shared() {
    let house = House::new().await;
    let origin = format!("Origin: http://{}", house.host());
    for answer in [
        house.get("/health", &[&origin]).await,
        house.get("/nowhere", &[]).await,
        house.get("/ready", &[]).await,
    ] {
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert!(answer.header("content-security-policy").is_some());
        let cors = answer
            .headers
            .iter()
            .any(|(name, _)| name.starts_with("access-control"));
        assert!(!cors, "{:?}", answer.headers);
    }
    let preflight = format!(
        "OPTIONS /api/rpc/session.create HTTP/1.1\r\nHost: {}\r\nOrigin: http://{}\r\nAccess-Control-Request-Method: POST\r\nConnection: close\r\n\r\n",
        house.host(),
        house.host()
    );
    let answer = house.send(&preflight).await;
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    house.stop().await;
}

#[tokio::test]
async fn scopes_come_from_the_record_and_not_from_the_request() {
    let house = House::new().await;
    let (_, token) = house.token("read", None).await;
    let body = json!({"name": "forged", "scopes": ["admin"]}).to_string();
    let request = format!(
        "POST /api/rpc/token.create HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nX-Hob-Scopes: admin\r\nX-Scopes: admin\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        house.host(),
        body.len()
    );
    let answer = house.send(&request).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"));
    let (_, service) = house.token("service:mail", None).await;
    let bearer = format!("Authorization: Bearer {service}");
    assert_eq!(house.get("/metrics", &[&bearer]).await.status, 403);
    house.stop().await;
}

#[tokio::test]
async fn probes_tell_their_state() {
    let house = House::new().await;
    let bearer = format!("Authorization: Bearer {}", house.owner());
    assert_eq!(
        house
            .get("/ready", &["Authorization: Bearer wrong"])
            .await
            .status,
        401
    );
    let ready = house.get("/ready", &[&bearer]).await;
    assert_eq!((ready.status, ready.text().as_str()), (200, "ready"));
    let metrics = house.get("/metrics", &[&bearer]).await;
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let text = metrics.text();
    for line in [
        "hob_auth_failures_total{listener=\"ws\"} 1",
        "hob_auth_failures_total{listener=\"unix\"} 0",
        "hob_store_state{state=\"ready\"} 1",
        "hob_connections 1",
        "hob_task_panics_total 0",
        "# TYPE hob_example_total counter",
        "hob_example_total{outcome=\"good\"} 3",
        "hob_example_total{outcome=\"bad\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    for name in [
        "hob_process_resident_bytes ",
        "hob_process_open_files ",
        "hob_requests_total ",
    ] {
        assert!(text.contains(name), "{name} in\n{text}");
    }
    house.stop().await;
}
