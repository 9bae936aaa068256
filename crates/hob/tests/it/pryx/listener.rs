//! Whom the listener refuses: pages, other names, other users, and what hob itself started.

use super::client::Client;
use super::{house_with, model};
use crate::faults::attacks::as_nobody;
use crate::faults::http;
use crate::support::House;
use serde_json::{Value, json};

#[test]
fn pages_of_other_origins_and_names_are_refused() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    let json = "Content-Type: application/json";
    let own = format!("Origin: http://127.0.0.1:{}", client.port);
    for lines in [
        vec!["Origin: http://evil.test"],
        vec!["Origin: null"],
        // Pryx let in any page of this machine; hob lets in none but its own.
        vec!["Origin: http://localhost:5173"],
        vec![own.as_str(), "Origin: http://evil.test"],
        vec![own.as_str(), "Sec-Fetch-Site: cross-site"],
        vec!["Sec-Fetch-Site: same-site"],
    ] {
        let lines = [&[json], &lines[..]].concat();
        let reply = client.send("POST", "/api/v1/sessions", &lines, "{}");
        assert_eq!(reply.status, 403, "{lines:?}: {reply:?}");
        // Without a body, too.
        for path in ["/api/approvals/x/approve", "/api/v1/agents/x/cancel"] {
            let reply = client.send("POST", path, &lines, "");
            assert_eq!(reply.status, 403, "{lines:?}: {reply:?}");
        }
        assert_eq!(
            http::header(&reply.head, "access-control-allow-origin"),
            None
        );
    }
    for origin in ["http://evil.test", "null"] {
        let opened = client.try_socket("", &[("Origin", origin)]);
        assert_eq!(opened.err(), Some(403), "{origin}");
    }
    assert_eq!(
        client.try_socket("", &[("Host", "evil.test")]).err(),
        Some(403)
    );
    let rebound = "GET /health HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n";
    let reply = http::exchange(client.port, rebound.as_bytes()).expect("an answer");
    assert_eq!(reply.status, 403);
    assert_eq!(client.get("/api/v1/sessions")["sessions"], json!([]));
    let reply = client.send("POST", "/api/v1/sessions", &[json, &own], "{}");
    assert_eq!(reply.status, 201, "its own page is served");
}

#[test]
fn it_has_only_its_dialect_and_its_scope() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    for path in ["/api/openapi.json", "/metrics", "/agentloop", "/api/state"] {
        client.refused(404, "GET", path, &Value::Null);
    }
    for path in ["/api/rpc/token.create", "/api/tools/exec", "/hooks/x"] {
        client.refused(404, "POST", path, &json!({}));
    }
    let _socket = client.socket("");
    let inspected = house
        .hob(&["--json", "rpc", "gateway.inspect", "{}"])
        .success();
    let inspected: Value = serde_json::from_str(&inspected).expect("JSON");
    let connections = inspected["connections"].as_array().expect("a list");
    let theirs: Vec<&Value> = connections
        .iter()
        .filter(|one| one["surface"] == "pryx")
        .collect();
    assert!(!theirs.is_empty(), "{connections:?}");
    assert!(theirs.iter().all(|one| one["scopes"] == json!(["control"])));
    // The main listener is as closed as ever.
    let port = house
        .address()
        .rsplit(':')
        .next()
        .and_then(|it| it.parse().ok());
    let request = http::request("GET", port.expect("a port"), "/api/v1/sessions", &[], "");
    let reply = http::exchange(port.expect("a port"), &request).expect("an answer");
    assert_eq!(reply.status, 404);
}

#[test]
fn without_the_setting_there_is_no_listener() {
    let house = House::start();
    assert!(!house.hob(&["status"]).success().contains("pryx"));
}

#[test]
fn another_user_is_refused() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not run: only root can become another user");
        return;
    }
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    let answered = as_nobody(move || {
        let request = http::request("GET", client.port, "/health", &[], "");
        http::exchange(client.port, &request).is_ok_and(|reply| reply.status == 200)
    });
    assert!(!answered);
    assert_eq!(client.get("/health")["status"], "ok");
}

#[test]
fn a_command_that_hob_started_is_refused() {
    let sim = model();
    let house = house_with(&sim, true, "");
    let client = Client::of(&house);
    let port = client.port;
    let asks = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && printf \"GET /health HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nConnection: close\\r\\n\\r\\n\" >&3 && timeout 5 head -c 12 <&3 > answer; echo ended >> answer"
    );
    // The same line answers outside the sandbox, so that the refusal means something.
    let own = house
        .command_of("bash", &["-c", &asks])
        .current_dir(house.work())
        .output();
    assert!(own.expect("bash runs").status.success());
    assert!(
        answer(&house).starts_with("HTTP/1.1 200"),
        "{}",
        answer(&house)
    );
    std::fs::remove_file(house.work().join("answer")).expect("it is there");
    for network in [json!(true), json!("host")] {
        let params = json!({
            "name": "exec",
            "args": { "command": format!("bash -c '{asks}'"), "network": network },
            "context": { "workspace": house.work() },
        });
        house
            .hob(&["rpc", "tool.execute", &params.to_string()])
            .success();
        assert!(answer(&house).contains("ended"), "it has run");
        assert!(
            !answer(&house).contains("HTTP"),
            "{network}: {}",
            answer(&house)
        );
    }
}

fn answer(house: &House) -> String {
    std::fs::read_to_string(house.work().join("answer")).unwrap_or_default()
}
