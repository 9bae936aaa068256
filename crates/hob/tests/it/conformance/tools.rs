//! Tools over HTTP: their OpenAPI document, and each as one POST.

use super::http::{self, Answer};
use super::scopes::token;
use super::wire::{Peer, serve, text};
use crate::support::House;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const DOCUMENT: &str = "/api/tools/openapi.json";

/// A house with a tool from outside, and how often it was run.
async fn house_with_bell() -> (House, Arc<AtomicUsize>) {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("tower", &["tower.tool_execute"]).await;
    let bell = json!({
        "name": "ring_bell", "description": "Rings the bell.", "tier": "external",
        "effect": "opaque", "approval": "Ring {times} times",
        "parameters": {
            "type": "object", "properties": { "times": { "type": "integer" } },
            "required": ["times"], "additionalProperties": false,
        },
    });
    let offer = json!({ "service": "tower", "tools": [bell] });
    service.call("tool.offer", offer).await;
    let rung = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&rung);
    serve(service, move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        let words = format!("Rung {} times.", request["params"]["args"]["times"]);
        json!({ "content": [{ "type": "text", "text": words }] })
    });
    (house, rung)
}

async fn run(house: &House, token: &str, tool: &str, args: Value) -> Answer {
    let path = format!("/api/tools/{tool}");
    http::post(house, token, &path, &args.to_string()).await
}

/// The error of a refusal, which has one shape wherever it comes from.
fn refusal(answer: &Answer, status: u16, code: &str) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], code, "{error}");
    assert_eq!(
        answer.header("x-request-id"),
        Some(text(error, "request_id").as_str())
    );
    assert!(error["timestamp"].is_u64(), "{error}");
    text(error, "message")
}

/// What a tool said, and whether it failed.
fn said(answer: &Answer) -> (String, bool) {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let answer = answer.json();
    let failed = answer["isError"].as_bool().expect("says whether it failed");
    assert_eq!(answer["content"][0]["type"], "text", "{answer}");
    (text(&answer["content"][0], "text"), failed)
}

#[tokio::test]
async fn the_document_names_the_tools_there_are() {
    let (house, _) = house_with_bell().await;
    let bare = http::head(&house, "GET", DOCUMENT, &[]);
    let answer = http::send(&house, &bare, "").await;
    assert!(!refusal(&answer, 401, "UNAUTHORIZED").is_empty());
    let answer = http::get(&house, DOCUMENT, "hob_00000000_wrong").await;
    assert!(!refusal(&answer, 401, "UNAUTHORIZED").is_empty());

    let reader = token(&house, "reader", "read");
    let answer = http::get(&house, DOCUMENT, &reader).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("an object");
    // The same tools as on the bus, no more and no fewer.
    let listed = Peer::owner(&house).await.call("tool.list", json!({})).await;
    let listed = listed["tools"].as_array().expect("a list").iter();
    let mut listed: Vec<String> = listed
        .map(|tool| format!("/api/tools/{}", text(tool, "name")))
        .collect();
    listed.sort_unstable();
    let mut named: Vec<&String> = paths.keys().collect();
    named.sort_unstable();
    assert_eq!(named, listed.iter().collect::<Vec<_>>());
    for (tool, tier, required) in [
        ("read", "read", true),
        ("time", "read", false),
        ("exec", "exec", true),
        ("ring_bell", "external", true),
    ] {
        let post = &paths[&format!("/api/tools/{tool}")]["post"];
        assert_eq!(post["operationId"], tool);
        assert_eq!(post["x-hob-tier"], tier, "{tool}");
        assert_eq!(post["requestBody"]["required"], required, "{tool}");
    }
    let bell = &paths["/api/tools/ring_bell"]["post"];
    let schema = &bell["requestBody"]["content"]["application/json"]["schema"];
    let schema = text(schema, "$ref");
    let schema = schema.strip_prefix('#').expect("is of this document");
    let schema = document.pointer(schema).expect("is in it");
    assert_eq!(schema["required"], json!(["times"]));
}

#[tokio::test]
async fn a_tool_is_run_by_who_may_control() {
    let (house, rung) = house_with_bell().await;
    let twice = json!({ "times": 2 });
    for scope in ["read", "chat"] {
        let holder = token(&house, scope, scope);
        for (tool, args) in [("time", json!({})), ("ring_bell", twice.clone())] {
            let answer = run(&house, &holder, tool, args).await;
            let message = refusal(&answer, 403, "FORBIDDEN");
            assert!(message.contains("control"), "{message}");
        }
    }
    assert_eq!(rung.load(Ordering::SeqCst), 0, "nothing was run");

    let holder = token(&house, "hands", "control");
    // The shared terminal is the person's own, by whichever way.
    let typed = json!({ "action": "run", "command": "echo never" });
    let answer = run(&house, &holder, "terminal", typed).await;
    let message = refusal(&answer, 403, "FORBIDDEN");
    assert!(message.contains("admin"), "{message}");
    let (words, failed) = said(&run(&house, &holder, "ring_bell", twice).await);
    assert_eq!((words.as_str(), failed), ("Rung 2 times.", false));
    assert_eq!(rung.load(Ordering::SeqCst), 1);
    let (words, failed) = said(&run(&house, &holder, "time", json!({ "zone": "UTC" })).await);
    assert!(!failed && words.contains("20"), "{words}");
    // No body is no arguments, and an alias is a name.
    let (words, failed) = said(&http::post(&house, &holder, "/api/tools/time.now", "").await);
    assert!(!failed, "{words}");

    // The acts are on record, under the name of who did them.
    let entries = Peer::owner(&house)
        .await
        .call("audit.list", json!({}))
        .await;
    let entries = entries["entries"].as_array().expect("a list");
    let bell = entries.iter().find(|entry| entry["tool"] == "ring_bell");
    let bell = bell.expect("is recorded");
    assert_eq!(bell["act"], "own-act", "{bell}");
    assert!(text(bell, "by").contains("hands"), "{bell}");
}

#[tokio::test]
async fn what_does_not_fit_is_told_in_a_sentence() {
    let (house, rung) = house_with_bell().await;
    let owner = house.token();
    // What is wrong with the arguments is the tool's answer, as for a model.
    for args in [
        json!({}),
        json!({ "times": "two" }),
        json!({ "times": 1, "loud": true }),
        json!([1]),
        json!(7),
    ] {
        let (words, failed) = said(&run(&house, &owner, "ring_bell", args.clone()).await);
        assert!(failed, "{args}: {words}");
        assert!(
            words.starts_with("The arguments of 'ring_bell' do not fit, so nothing was run:"),
            "{args}: {words}"
        );
    }
    let (words, failed) = said(&run(&house, &owner, "time", json!({ "zone": "Moon" })).await);
    assert!(
        failed && words.starts_with("'Moon' is not a time zone"),
        "{words}"
    );

    // What is wrong with the request is not.
    let answer = run(&house, &owner, "ring_bel", json!({ "times": 1 })).await;
    let message = refusal(&answer, 404, "NOT_FOUND");
    assert!(
        message.contains("'ring_bel'") && message.contains("ring_bell"),
        "{message}"
    );
    let answer = http::post(&house, &owner, "/api/tools/ring_bell", "{").await;
    assert!(!refusal(&answer, 400, "PARSE_ERROR").is_empty());
    let answer = http::get(&house, "/api/tools/ring_bell", &owner).await;
    assert_eq!(answer.status, 405, "{answer:?}");
    assert_eq!(rung.load(Ordering::SeqCst), 0, "nothing was run");
}
