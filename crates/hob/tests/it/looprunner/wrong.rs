//! What is wrong is told with a sentence, and changes nothing.

use crate::looprunner::client::Client;
use crate::looprunner::{house_with, model};
use hob_sim::Answer;
use serde_json::{Value, json};

#[test]
fn every_wrong_input_is_refused() {
    let sim = model(|_, _| Answer::words("ok"));
    let house = house_with(&sim);
    let client = Client::granted(&house);
    let before = client.get("/api/state");
    let long = "x".repeat(300_000);
    for (path, body, status) in [
        ("/api/config", String::new(), 400),
        ("/api/config", "{".to_owned(), 400),
        ("/api/config", "[]".to_owned(), 400),
        ("/api/config", r#""text""#.to_owned(), 400),
        ("/api/config", r#"{"interval":999}"#.to_owned(), 400),
        ("/api/config", r#"{"interval":1.5}"#.to_owned(), 400),
        (
            "/api/config",
            r#"{"interval":null,"maxIterations":-1}"#.to_owned(),
            400,
        ),
        (
            "/api/config",
            r#"{"monitor":{"command":"x","interval":5}}"#.to_owned(),
            400,
        ),
        (
            "/api/config",
            r#"{"monitor":{"interval":5000}}"#.to_owned(),
            400,
        ),
        (
            "/api/config",
            r#"{"user":"x","model":{"providerID":"nobody","modelID":"m"}}"#.to_owned(),
            400,
        ),
        (
            "/api/config",
            r#"{"user":"x","model":{"providerID":"","modelID":"m"}}"#.to_owned(),
            400,
        ),
        ("/api/config", format!(r#"{{"user":"{long}"}}"#), 400),
        ("/api/start", String::new(), 400),
        ("/api/working", r#"{"working":["x"]}"#.to_owned(), 400),
        ("/api/working", format!(r#"{{"working":"{long}"}}"#), 400),
        ("/api/persistent", "null".to_owned(), 400),
        ("/api/start", "{".to_owned(), 400),
        ("/api/start/now", String::new(), 404),
        ("/api/loops", r#"{"id":"x"}"#.to_owned(), 404),
        ("/api/state", String::new(), 404),
        ("/api/events", String::new(), 404),
    ] {
        let reply = client.send("POST", path, &["Content-Type: application/json"], &body);
        let shown: String = body.chars().take(80).collect();
        assert_eq!(reply.status, status, "{path} {shown}: {reply:?}");
        let error = &reply.json()["error"];
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            message.contains(' ') && message.len() < 1_000,
            "{path} {shown}: {reply:?}"
        );
    }
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
    ] {
        let line = format!("Content-Type: {kind}");
        for path in ["/api/config", "/api/start", "/api/working"] {
            let reply = client.send("POST", path, &[&line], r#"{"user":"x","working":"x"}"#);
            assert_eq!(reply.status, 415, "{kind} {path}: {reply:?}");
        }
    }
    for path in ["/api/start", "/api/stop", "/api/config"] {
        assert_eq!(client.send("GET", path, &[], "").status, 404, "{path}");
        assert_eq!(client.send("OPTIONS", path, &[], "").status, 404, "{path}");
    }
    assert_eq!(client.get("/api/state"), before, "nothing changed");
    assert_eq!(sim.asked_count(), 0, "nothing was asked");
    let page = client.send("GET", "/", &[], "");
    assert!(
        page.status == 200 && page.body.contains("/api/start"),
        "{page:?}"
    );
}

#[test]
fn loops_that_are_not_there_and_names_that_cannot_be_are_told() {
    let sim = model(|_, _| Answer::words("ok"));
    let house = house_with(&sim);
    let client = Client::owner(&house);
    let json = ["Content-Type: application/json"];
    for (method, path, body, status) in [
        ("GET", "/api/loops/nobody", "", 404),
        ("GET", "/api/loops/nobody/events", "", 404),
        ("GET", "/api/loops/nobody/history", "", 404),
        ("POST", "/api/loops/nobody/start", "", 404),
        ("POST", "/api/loops/nobody/stop", "", 404),
        ("POST", "/api/loops/nobody/config", r#"{"user":"x"}"#, 404),
        (
            "POST",
            "/api/loops/nobody/working",
            r#"{"working":"x"}"#,
            404,
        ),
        (
            "POST",
            "/api/loops/nobody/persistent",
            r#"{"persistent":"x"}"#,
            404,
        ),
        ("DELETE", "/api/loops/nobody", "", 404),
        ("POST", "/api/loops", r#"{"id":"A b"}"#, 400),
        ("POST", "/api/loops", r#"{"id":""}"#, 400),
        (
            "POST",
            "/api/loops",
            r#"{"id":"x","config":{"interval":1}}"#,
            400,
        ),
        ("POST", "/api/loops", "{}", 400),
    ] {
        let reply = client.send(method, path, &json, body);
        assert_eq!(reply.status, status, "{method} {path} {body}: {reply:?}");
    }
    assert_eq!(client.get("/api/loops"), json!([]), "nothing was made");
    let made = json!({ "id": "x" });
    client.post("/api/loops", &made);
    assert_eq!(client.try_post("/api/loops", &made).status, 409);
    client.post(
        "/api/loops/x/config",
        &json!({ "user": "Go.", "interval": 1000 }),
    );
    client.post("/api/loops/x/start", &Value::Null);
    assert_eq!(
        client.try_post("/api/loops/x/start", &Value::Null).status,
        409
    );
    assert_eq!(client.send("DELETE", "/api/loops/x", &[], "").status, 409);
    client.post("/api/loops/x/stop", &Value::Null);
    assert_eq!(client.send("DELETE", "/api/loops/x", &[], "").status, 200);
}
