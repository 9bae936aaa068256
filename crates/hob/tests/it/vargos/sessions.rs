//! `session.*`.

use super::{client, house_with, model};
use crate::conformance::wire::text;
use serde_json::{Value, json};

fn contents(messages: &Value) -> Vec<&str> {
    let list = messages.as_array().expect("an array");
    list.iter()
        .map(|message| message["content"].as_str().expect("a text"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_created_listed_shown_and_deleted() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut caller = client(&house, "caller", &["session.created", "session.message"]).await;
    for key in ["telegram:1", "cli:chat"] {
        let params = json!({ "sessionKey": key, "kind": "main", "metadata": { "n": 1 } });
        let created = caller.call("session.create", params).await;
        assert_eq!(created["sessionKey"], key);
        let event = caller.event_of("session.created").await;
        assert_eq!(event["payload"]["sessionKey"], key);
    }
    let session = caller
        .call("session.get", json!({ "sessionKey": "cli:chat" }))
        .await;
    assert_eq!(
        (&session["kind"], &session["metadata"]["n"]),
        (&json!("main"), &json!(1))
    );
    assert!(text(&session, "createdAt").ends_with('Z'), "{session}");
    let unknown = json!({ "sessionKey": "never:seen" });
    assert_eq!(
        caller.call("session.get", unknown.clone()).await,
        Value::Null
    );
    let list = caller.call("session.list", json!({})).await;
    assert_eq!(list.as_array().expect("an array").len(), 2, "{list}");
    let one = caller.call("session.list", json!({ "limit": 1 })).await;
    assert_eq!(one.as_array().expect("an array").len(), 1);
    let none = caller.call("session.list", json!({ "kind": "cron" })).await;
    assert_eq!(none, json!([]));
    let key = json!({ "sessionKey": "cli:chat" });
    assert_eq!(
        caller.call("session.delete", key.clone()).await,
        json!(true)
    );
    assert_eq!(
        caller.call("session.delete", key.clone()).await,
        json!(false)
    );
    assert_eq!(caller.call("session.get", key).await, Value::Null);
    // An existing session is never overwritten.
    let message = json!({ "sessionKey": "telegram:1", "content": "kept", "role": "user" });
    caller.call("session.addMessage", message).await;
    let again = json!({ "sessionKey": "telegram:1", "kind": "main", "metadata": {} });
    assert_eq!(caller.call("session.create", again).await["created"], false);
    let messages = json!({ "sessionKey": "telegram:1" });
    let messages = caller.call("session.getMessages", messages).await;
    assert_eq!(contents(&messages), ["kept"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_added_and_read_as_texts() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut caller = client(&house, "caller", &["session.message"]).await;
    let key = json!({ "sessionKey": "whatsapp:7" });
    caller.call("session.create", key.clone()).await;
    let params = json!({
        "sessionKey": "whatsapp:7", "content": "Hello", "role": "user",
        "metadata": { "type": "task", "channel": "whatsapp" },
    });
    let added = caller.call("session.addMessage", params).await;
    assert_eq!(
        (&added["content"], &added["role"], &added["sessionKey"]),
        (&json!("Hello"), &json!("user"), &json!("whatsapp:7"))
    );
    assert!(text(&added, "timestamp").ends_with('Z') && added["id"].is_string());
    let event = caller.event_of("session.message").await;
    assert_eq!(
        (&event["payload"]["role"], &event["payload"]["content"]),
        (&json!("user"), &json!("Hello"))
    );
    let params = json!({ "sessionKey": "whatsapp:7", "content": "Hi there", "role": "assistant" });
    let answer = caller.call("session.addMessage", params).await;
    let messages = caller.call("session.getMessages", key.clone()).await;
    assert_eq!(contents(&messages), ["Hello", "Hi there"]);
    assert_eq!(messages[1]["id"], answer["id"]);
    let last = json!({ "sessionKey": "whatsapp:7", "limit": 1 });
    let last = caller.call("session.getMessages", last).await;
    assert_eq!(contents(&last), ["Hi there"]);
    let early = json!({ "sessionKey": "whatsapp:7", "before": added["timestamp"] });
    let early = caller.call("session.getMessages", early).await;
    assert_eq!(early, json!([]));
    // A run's messages are in the same list.
    let params = json!({ "sessionKey": "whatsapp:7", "task": "and now" });
    caller.call("agent.run", params).await;
    let messages = caller.call("session.getMessages", key).await;
    let told = contents(&messages);
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[2], "and now");
    assert!(told[3].starts_with("You said: and now."));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_not_waited_for_keep_their_order() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut caller = client(&house, "caller", &[]).await;
    caller
        .post("session.create", json!({ "sessionKey": "cli:order" }))
        .await;
    let wanted: Vec<String> = (0..60).map(|number| format!("message {number}")).collect();
    let mut ids = Vec::new();
    for content in &wanted {
        let params = json!({ "sessionKey": "cli:order", "content": content, "role": "user" });
        ids.push(caller.post("session.addMessage", params).await);
    }
    for id in ids {
        let answer = caller.answer(&id).await;
        assert_eq!(answer["ok"], true, "{answer}");
    }
    let messages = json!({ "sessionKey": "cli:order" });
    let messages = caller.call("session.getMessages", messages).await;
    assert_eq!(contents(&messages), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_refused() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut caller = client(&house, "caller", &[]).await;
    let key = "never:seen";
    for method in ["session.addMessage", "session.getMessages"] {
        let mut params = json!({ "sessionKey": key });
        if method == "session.addMessage" {
            params["content"] = json!("x");
        }
        caller.refused("NOT_FOUND", method, params).await;
    }
    for (method, params) in [
        ("session.get", json!({})),
        ("session.get", json!({ "sessionKey": 7 })),
        ("session.list", json!({ "limit": -1 })),
        ("session.list", json!({ "colour": "red" })),
        (
            "session.getMessages",
            json!({ "sessionKey": key, "before": "soon" }),
        ),
        (
            "session.addMessage",
            json!({ "sessionKey": key, "content": "x", "role": "king" }),
        ),
        (
            "session.create",
            json!({ "sessionKey": "a", "kind": "No Kind" }),
        ),
    ] {
        caller.refused("INVALID_PARAMS", method, params).await;
    }
}
