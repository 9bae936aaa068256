//! What Loop Runner's page sends: models cut at their slashes, whole forms, and empty bodies.

use super::{SYSTEM, USER, get, house, post};
use serde_json::json;

/// The page sends an id in pieces, cut at its slashes, and an empty one where it has no list.
#[tokio::test]
async fn a_model_is_found_however_the_page_cuts_it() {
    let (house, loops) = house().await;
    let kept = || loops.get("default").unwrap().config.model;
    for (model, id) in [
        (
            json!({ "providerID": "lab", "modelID": "big" }),
            "lab/big/one",
        ),
        (
            json!({ "providerID": "", "modelID": "lab/small" }),
            "lab/small",
        ),
        (json!({ "modelID": "big/one" }), "lab/big/one"),
        (
            json!({ "providerID": "lab/big", "modelID": "one" }),
            "lab/big/one",
        ),
        // What the page sends while its list is empty.
        (json!({ "providerID": "" }), "lab/big/one"),
        (json!({ "providerID": "", "modelID": "" }), "lab/big/one"),
    ] {
        let answer = post(&house, "/api/config", &json!({ "model": model })).await;
        assert_eq!(answer.status, 200, "{model}: {}", answer.text());
        // The default's own model is not chosen by being sent back.
        assert_eq!(kept().as_deref().unwrap_or("lab/small"), id, "{model}");
    }
    house.stop().await;
}

/// The page shows texts from the beginning, and saves its whole form when it starts.
#[tokio::test]
async fn a_page_that_only_starts_works_on_the_shown_task() {
    let (house, loops) = house().await;
    let answer = post(&house, "/api/start", &json!({})).await;
    assert_eq!(answer.status, 400, "nobody has sent a task");
    assert!(answer.text().contains("no task yet"), "{}", answer.text());
    let shown = get(&house, "/api/state").await["config"].clone();
    assert_eq!(
        (&shown["system"], &shown["user"]),
        (&json!(SYSTEM), &json!(USER))
    );
    assert_eq!(post(&house, "/api/config", &shown).await.status, 200);
    let config = loops.get("default").unwrap().config;
    assert_eq!(
        (config.system.as_str(), config.user.as_str()),
        (SYSTEM, USER)
    );
    assert_eq!(post(&house, "/api/start", &json!({})).await.status, 200);
    post(&house, "/api/stop", &json!({})).await;
    // A text that a person clears stays cleared, and is no task.
    let cleared = json!({ "system": "", "user": " " });
    let answer = post(&house, "/api/config", &cleared).await.json();
    assert_eq!(
        (&answer["config"]["system"], &answer["config"]["user"]),
        (&json!(""), &json!(" "))
    );
    assert_eq!(post(&house, "/api/start", &json!({})).await.status, 400);
    house.stop().await;
}

#[tokio::test]
async fn an_empty_body_clears_a_memory_and_auto_approve_is_kept() {
    let (house, loops) = house().await;
    for (path, field) in [
        ("/api/working", "working"),
        ("/api/persistent", "persistent"),
    ] {
        for empty in [json!({}), json!({ field: null }), json!({ field: "" })] {
            post(&house, path, &json!({ field: "text" })).await;
            let shown = get(&house, "/api/state").await["config"][field].clone();
            assert_eq!(shown, "text");
            let answer = post(&house, path, &empty).await;
            assert_eq!((answer.status, answer.json()), (200, json!({ "ok": true })));
            let shown = get(&house, "/api/state").await["config"][field].clone();
            assert_eq!(shown, "", "{path} {empty}");
        }
    }
    for wanted in [false, true] {
        let answer = post(&house, "/api/config", &json!({ "autoApprove": wanted })).await;
        assert_eq!(answer.json()["config"]["autoApprove"], wanted);
        let shown = get(&house, "/api/state").await["config"]["autoApprove"].clone();
        assert_eq!(shown, wanted);
        let config = loops.get("default").unwrap().config;
        assert!(config.grants.is_empty(), "it grants nothing");
    }
    house.stop().await;
}
