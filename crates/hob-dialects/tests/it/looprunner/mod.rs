//! Loop Runner's API, with fake loops.

mod events;
mod listener;
pub(crate) mod loops;
mod page;
pub(crate) mod stream;

use crate::house::{Answer, House, exchange};
use loops::Loops;
use serde_json::{Value, json};
use std::sync::Arc;

/// The texts of a loop that nobody has set up yet.
const SYSTEM: &str = "You work in a loop and are asked again after each pause. Working memory is for one iteration; persistent memory stays until it is changed.";
const USER: &str = "Look at how things stand now, and do the next useful step.";
const JSON: &str = "Content-Type: application/json";

pub(crate) async fn house() -> (House, Arc<Loops>) {
    let house = House::new().await;
    let loops = Loops::move_in(&house);
    (house, loops)
}

/// One request with the owner's token.
pub(crate) async fn ask(house: &House, method: &str, path: &str, body: Option<&str>) -> Answer {
    let bearer = format!("Authorization: Bearer {}", house.owner());
    request(&house.host(), method, path, &[&bearer, JSON], body).await
}

pub(crate) async fn request(
    host: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: Option<&str>,
) -> Answer {
    let length = body.map(|body| format!("Content-Length: {}", body.len()));
    let mut lines = vec![format!("Host: {host}"), "Connection: close".to_owned()];
    lines.extend(headers.iter().map(|&line| line.to_owned()));
    lines.extend(length);
    let head = lines.join("\r\n");
    let body = body.unwrap_or_default();
    exchange(
        host,
        format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\n{body}").as_bytes(),
    )
    .await
}

async fn get(house: &House, path: &str) -> Value {
    let answer = ask(house, "GET", path, None).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

async fn post(house: &House, path: &str, body: &Value) -> Answer {
    ask(house, "POST", path, Some(&body.to_string())).await
}

#[tokio::test]
async fn the_default_loop_is_shown_before_it_is_made_and_reading_makes_nothing() {
    let (house, loops) = house().await;
    let whole = get(&house, "/api/state").await;
    let state = json!({
        "running": false, "iteration": 0, "sessionID": null, "lastOutput": "",
        "monitorOutput": "", "history": [],
    });
    let config = json!({
        "model": { "providerID": "lab", "modelID": "small" }, "system": SYSTEM, "user": USER,
        "working": "", "persistent": "", "monitor": null, "interval": 5000, "maxIterations": 0,
        "autoApprove": true,
    });
    assert_eq!(whole, json!({ "state": state, "config": config }));
    assert_eq!(get(&house, "/api/history").await, json!([]));
    assert_eq!(
        get(&house, "/api/models").await,
        json!([
            { "providerID": "lab", "modelID": "small", "name": "SMALL" },
            { "providerID": "lab", "modelID": "big/one", "name": "BIG/ONE" },
        ])
    );
    let head = ask(&house, "HEAD", "/api/state", None).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(loops.known.lock().unwrap().is_empty());
    assert!(loops.calls.lock().unwrap().is_empty());
    house.stop().await;
}

#[tokio::test]
async fn settings_are_merged_and_memories_set() {
    let (house, loops) = house().await;
    let body = json!({
        "model": { "providerID": "lab", "modelID": "big/one" }, "system": "Be brief.",
        "user": "Look.", "interval": 1000, "maxIterations": 3,
        "monitor": { "command": "date", "interval": 2000 }, "autoApprove": true, "theme": "dark",
    });
    let answer = post(&house, "/api/config", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    assert_eq!(told["ok"], true);
    for field in [
        "model",
        "system",
        "user",
        "interval",
        "maxIterations",
        "monitor",
    ] {
        assert_eq!(told["config"][field], body[field], "{field}");
    }
    let kept = loops.get("default").unwrap().config;
    assert_eq!(kept.model.as_deref(), Some("lab/big/one"));
    assert_eq!(kept.monitor.unwrap().interval_ms, Some(2_000));

    let answer = post(
        &house,
        "/api/config",
        &json!({ "user": "Again.", "working": "w" }),
    )
    .await;
    let config = &answer.json()["config"];
    assert_eq!(
        (&config["user"], &config["system"]),
        (&json!("Again."), &json!("Be brief."))
    );
    assert_eq!(config["working"], "w");
    for (path, body) in [
        ("/api/working", json!({ "working": "note" })),
        ("/api/persistent", json!({ "persistent": "goal" })),
    ] {
        let answer = post(&house, path, &body).await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "ok": true })));
    }
    let config = get(&house, "/api/state").await["config"].clone();
    assert_eq!(
        (&config["working"], &config["persistent"]),
        (&json!("note"), &json!("goal"))
    );
    // A page saves its whole form; nothing but the plain fields is set anew.
    loops.calls.lock().unwrap().clear();
    let answer = post(&house, "/api/config", &config).await;
    assert_eq!(answer.json()["config"], config);
    assert_eq!(*loops.calls.lock().unwrap(), ["loop.update"]);
    house.stop().await;
}

#[tokio::test]
async fn starting_twice_is_a_conflict_and_stopping_needs_nothing() {
    let (house, loops) = house().await;
    let bearer = format!("Authorization: Bearer {}", house.owner());
    let bare = async |path: &str| request(&house.host(), "POST", path, &[&bearer], None).await;
    let task = json!({ "user": "Look." });
    assert_eq!(post(&house, "/api/config", &task).await.status, 200);
    let answer = bare("/api/start").await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "ok": true })));
    assert!(loops.get("default").unwrap().state.running, "it was made");
    let again = bare("/api/start").await;
    assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT"));
    assert_eq!(get(&house, "/api/state").await["state"]["running"], true);
    for body in [None, Some(""), Some("{}"), Some("null")] {
        let answer = ask(&house, "POST", "/api/stop", body).await;
        assert_eq!(answer.status, 200, "{body:?}: {}", answer.text());
    }
    let body = json!({ "user": "x" }).to_string();
    let answer = request(
        &house.host(),
        "POST",
        "/api/config",
        &[&bearer],
        Some(&body),
    )
    .await;
    assert_eq!(
        answer.status,
        200,
        "a type may be missing: {}",
        answer.text()
    );
    house.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_and_changes_nothing() {
    let (house, loops) = house().await;
    let wrong = [
        ("/api/config", "", 400),
        ("/api/config", "{", 400),
        ("/api/config", "[]", 400),
        ("/api/config", "7", 400),
        ("/api/config", "\u{0}", 400),
        ("/api/config", r#"{"interval":999}"#, 400),
        ("/api/config", r#"{"interval":"fast"}"#, 400),
        ("/api/config", r#"{"maxIterations":-1}"#, 400),
        (
            "/api/config",
            r#"{"monitor":{"command":"date","interval":1}}"#,
            400,
        ),
        ("/api/config", r#"{"monitor":"date"}"#, 400),
        (
            "/api/config",
            r#"{"user":"ok","model":{"providerID":"nobody","modelID":"x"}}"#,
            400,
        ),
        (
            "/api/config",
            r#"{"user":"ok","model":{"providerID":"lab","modelID":"huge"}}"#,
            400,
        ),
        ("/api/config", r#"{"model":{"providerID":7}}"#, 400),
        ("/api/config", r#"{"autoApprove":"yes"}"#, 400),
        ("/api/working", r#"{"working":7}"#, 400),
        ("/api/working", "", 400),
        ("/api/persistent", r#"{"persistent":[]}"#, 400),
        ("/api/start", "{", 400),
        // None of the refused settings above has left a task.
        ("/api/start", "", 400),
        ("/api/loops/default/start", "{}", 400),
        ("/api/loops", r#"{"config":{}}"#, 400),
        ("/api/loops", r#"{"id":"a b"}"#, 400),
        ("/api/loops/nobody/start", "", 404),
        ("/api/loops/nobody/working", r#"{"working":""}"#, 404),
        ("/api/loops/nobody/config", r#"{"user":"x"}"#, 404),
        ("/api/nothing", "", 404),
        ("/api/state", "", 404),
    ];
    for (path, body, status) in wrong {
        let answer = ask(&house, "POST", path, Some(body)).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        let error = &answer.json()["error"];
        assert!(
            error["message"].as_str().unwrap().ends_with('.') || status == 400,
            "{error}"
        );
        assert!(error["code"].is_string() && error["request_id"].is_string());
    }
    // Loop Runner's own paths are not there with another method; hob's own list of loops is.
    for (method, path, status) in [
        ("GET", "/api/start", 404),
        ("PUT", "/api/config", 404),
        ("OPTIONS", "/api/config", 404),
        ("DELETE", "/api/models", 404),
        ("DELETE", "/api/loops", 405),
    ] {
        let answer = ask(&house, method, path, None).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert!(loops.known.lock().unwrap().is_empty(), "nothing was made");
    // A provider that cannot list its models now is taken at its word.
    let away = json!({ "model": { "providerID": "away", "modelID": "x" } });
    assert_eq!(post(&house, "/api/config", &away).await.status, 200);
    house.stop().await;
}

#[tokio::test]
async fn bodies_that_any_page_can_send_change_nothing() {
    let (house, loops) = house().await;
    let bearer = format!("Authorization: Bearer {}", house.owner());
    let own = format!("Origin: http://{}", house.host());
    for kind in [
        "Content-Type: text/plain",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=b",
        "Content-Type: text/plain;charset=UTF-8",
        "Content-Type: application/json2",
    ] {
        for (path, body) in [
            ("/api/config", Some(r#"{"user":"x"}"#)),
            ("/api/start", None),
            ("/api/start", Some("")),
            ("/api/loops/default/start", None),
        ] {
            let answer = request(&house.host(), "POST", path, &[&bearer, &own, kind], body).await;
            assert_eq!(answer.status, 415, "{kind} {path}: {}", answer.text());
        }
    }
    for site in ["cross-site", "same-site"] {
        let site = format!("Sec-Fetch-Site: {site}");
        let answer = request(&house.host(), "POST", "/api/start", &[&bearer, &site], None).await;
        assert_eq!(answer.status, 403);
    }
    assert!(loops.calls.lock().unwrap().is_empty());
    let task = json!({ "user": "Look." });
    assert_eq!(post(&house, "/api/config", &task).await.status, 200);
    let site = "Sec-Fetch-Site: same-origin";
    let answer = request(
        &house.host(),
        "POST",
        "/api/start",
        &[&bearer, site, &own],
        None,
    )
    .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    house.stop().await;
}

#[tokio::test]
async fn every_loop_has_the_same_below_its_name() {
    let (house, loops) = house().await;
    let made = json!({ "id": "nightly", "config": { "user": "Sweep.", "persistent": "p" } });
    let answer = post(&house, "/api/loops", &made).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(
        (&answer.json()["ok"], &answer.json()["id"]),
        (&json!(true), &json!("nightly"))
    );
    assert_eq!(answer.json()["config"]["persistent"], "p");
    assert_eq!(post(&house, "/api/loops", &made).await.status, 409);
    let listed = get(&house, "/api/loops").await;
    assert_eq!(
        listed,
        json!([{
            "id": "nightly", "running": false, "iteration": 0, "user": "Sweep.",
            "interval": 5000, "maxIterations": 0, "createdAt": 1, "updatedAt": 2,
        }])
    );
    let at = |what: &str| format!("/api/loops/nightly/{what}");
    for (what, body) in [
        ("config", json!({ "interval": 2000 })),
        ("working", json!({ "working": "w" })),
        ("persistent", json!({ "persistent": "q" })),
        ("start", json!({})),
    ] {
        let answer = post(&house, &at(what), &body).await;
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
    }
    let shown = get(&house, "/api/loops/nightly").await;
    assert_eq!(
        (&shown["id"], &shown["state"]["running"]),
        (&json!("nightly"), &json!(true))
    );
    assert_eq!(shown["config"], get(&house, &at("state")).await["config"]);
    assert_eq!(
        (&shown["config"]["interval"], &shown["config"]["working"]),
        (&json!(2000), &json!("w"))
    );
    assert_eq!(get(&house, &at("history")).await, json!([]));
    assert_eq!(post(&house, &at("stop"), &json!({})).await.status, 200);
    assert!(!loops.known.lock().unwrap().contains_key("default"));
    assert_eq!(
        ask(&house, "DELETE", "/api/loops/nightly", None)
            .await
            .status,
        200
    );
    for path in [
        "/api/loops/nightly",
        "/api/loops/nightly/history",
        "/api/loops/%ff",
    ] {
        let status = ask(&house, "GET", path, None).await.status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
    house.stop().await;
}

#[tokio::test]
async fn a_history_is_read_page_by_page_and_bounded() {
    let (house, loops) = house().await;
    let blank = loops::blank("default");
    loops
        .known
        .lock()
        .unwrap()
        .insert("default".to_owned(), blank);
    let one = |iteration: u32| hob_wire::rooms::loops::IterationRecord {
        iteration,
        session_key: String::new(),
        run_id: None,
        prompt: format!("p{iteration}"),
        response: (!iteration.is_multiple_of(10)).then(|| format!("r{iteration}")),
        success: None,
        outcome: None,
        cause: None,
        message: None,
        denied_calls: 0,
        failed_calls: 0,
        cost: hob_wire::rooms::agent::Cost::default(),
        started_at: 7,
        ended_at: Some(8),
    };
    *loops.iterations.lock().unwrap() = (1..=200).map(one).collect();
    let told = get(&house, "/api/history").await;
    let told = told.as_array().unwrap();
    assert_eq!(told.len(), 100);
    assert_eq!(
        told.last().unwrap(),
        &json!({ "iteration": 199, "prompt": "p199", "response": "r199", "timestamp": 8 })
    );
    let numbers: Vec<_> = told
        .iter()
        .map(|one| one["iteration"].as_u64().unwrap())
        .collect();
    assert!(numbers.is_sorted() && numbers.iter().all(|number| !number.is_multiple_of(10)));
    assert_eq!(
        get(&house, "/api/state").await["state"]["history"]
            .as_array()
            .unwrap(),
        told
    );
    house.stop().await;
}

#[tokio::test]
async fn scopes_are_the_methods_own() {
    let (house, _loops) = house().await;
    let (_, reader) = house.token("read", None).await;
    let (_, service) = house.token("service:x", None).await;
    let with = async |token: &str, method: &str, path: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        request(&house.host(), method, path, &[&bearer], None)
            .await
            .status
    };
    assert_eq!(with(&reader, "GET", "/api/state").await, 200);
    let task = json!({ "user": "Look." });
    assert_eq!(post(&house, "/api/config", &task).await.status, 200);
    assert_eq!(with(&reader, "POST", "/api/start").await, 403);
    assert_eq!(with(&service, "GET", "/api/state").await, 403);
    assert_eq!(with(&service, "GET", "/api/events").await, 403);
    for (method, path) in [
        ("GET", "/api/state"),
        ("GET", "/api/events"),
        ("POST", "/api/start"),
    ] {
        let answer = request(&house.host(), method, path, &[], None).await;
        assert_eq!(answer.status, 401, "{path}");
    }
    house.stop().await;
}
