//! AgentLoop's dialect against the built binary, with a raw WebSocket and a scripted model: what a
//! client of AgentLoop's meets.

mod workspace;

use crate::conformance::wire::{Peer, ws_request, ws_request_to};
use crate::support::{House, wait_until};
use hob_sim::{Answer, Dialect, Gate, Sim, SimRequest};
use serde_json::{Value, json};

/// A model that does as the user's last words say. `endless` never ends by itself.
fn model() -> Sim {
    let never = Gate::new();
    Sim::start(move |asked: &SimRequest| match asked.last_user() {
        "endless" => Answer::tokens(40).held_after(20, &never),
        "refuse" => Answer::status(401),
        words if words.starts_with("what time") => match asked.results_of_task().first() {
            None => Answer::asks("time", json!({})),
            Some(_) => Answer::words("It is late."),
        },
        words => Answer::words(format!("You said: {words}. And that is all I know of it.")),
    })
}

fn house_with(sim: &Sim) -> House {
    let url = sim.url(Dialect::OpenaiChat);
    let config = format!(
        "[listen]\nagentloop = \"127.0.0.1:0\"\n\n[dialect.agentloop]\nspeech = \"\"\n\n[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n"
    );
    House::builder().config(&config).start()
}

/// A client as AgentLoop's own: it finds the listener by its file, and has neither token nor path.
async fn client(house: &House) -> Peer {
    let file = house.home().join("run/agentloop.json");
    let told = std::fs::read_to_string(file).expect("the file is there");
    let told: Value = serde_json::from_str(&told).expect("it is JSON");
    assert_eq!(told["pid"], house.pid());
    let host = told["host"].as_str().expect("a host");
    let url = format!("ws://{host}:{}/", told["port"]);
    Peer::ws(ws_request_to(&url))
        .await
        .expect("opting in is the grant")
}

async fn command(peer: &mut Peer, kind: &str, payload: Value) {
    peer.send(json!({ "type": kind, "payload": payload })).await;
}

async fn send(peer: &mut Peer, session: &str, content: &str) {
    let payload = json!({ "sessionId": session, "content": content });
    command(peer, "session.send", payload).await;
}

/// Events of sessions up to the one that says so; services may speak in between.
async fn until(peer: &mut Peer, session: &str, detail: &str) -> Vec<Value> {
    let mut events = Vec::new();
    loop {
        let event = peer.frame().await;
        let kind = event["type"].as_str().expect("every event has a type");
        if kind.starts_with("service.") {
            continue;
        }
        let found = event["sessionId"] == session && event["detail"] == detail;
        events.push(event);
        if found {
            return events;
        }
    }
}

/// The types of events without those that are alike in a row.
fn story(events: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    types.dedup();
    types
}

fn tokens(events: &[Value], session: &str) -> String {
    let ours = events.iter().filter(|event| event["sessionId"] == session);
    ours.filter_map(|event| event["token"].as_str()).collect()
}

fn content(events: &[Value], session: &str) -> String {
    let message = events
        .iter()
        .find(|event| event["type"] == "assistant.message" && event["sessionId"] == session);
    let content = &message.expect("a message")["content"];
    content.as_str().expect("words").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_in_their_order_and_is_a_session_like_any_other() {
    let sim = model();
    let house = house_with(&sim);
    let mut peer = client(&house).await;
    command(&mut peer, "session.create", json!({})).await;
    let created = until_type(&mut peer, "session.created").await;
    let id = created["sessionId"].as_str().expect("an id").to_owned();
    assert_eq!(id.len(), 36, "a UUID");
    until(&mut peer, &id, "Session ready").await;

    send(&mut peer, &id, "hello").await;
    let events = until(&mut peer, &id, "Ready").await;
    assert_eq!(
        story(&events),
        [
            "router.decision",
            "session.status",
            "assistant.token",
            "assistant.message",
            "session.status"
        ]
    );
    let said = "You said: hello. And that is all I know of it.";
    assert_eq!(
        (tokens(&events, &id), content(&events, &id)),
        (said.to_owned(), said.to_owned())
    );
    assert!(
        events
            .iter()
            .filter(|event| event["type"] == "assistant.token")
            .count()
            > 1
    );

    let history = house.hob(&["--json", "session", "history", &id]).success();
    let history: Value = serde_json::from_str(&history).expect("JSON");
    let messages = history["messages"].as_array().expect("messages");
    assert_eq!(
        (&messages[0]["content"], &messages[1]["role"]),
        (&json!("hello"), &json!("assistant"))
    );
    let message = events
        .iter()
        .find(|event| event["type"] == "assistant.message");
    assert_eq!(message.expect("a message")["messageId"], messages[1]["id"]);

    // Made again it is as it was.
    command(&mut peer, "session.create", json!({ "sessionId": id })).await;
    until(&mut peer, &id, "Session ready").await;
    send(&mut peer, &id, "again").await;
    until(&mut peer, &id, "Ready").await;
    let asked = sim.asked().pop().expect("it was asked");
    let words: Vec<&str> = asked
        .messages
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    assert_eq!(words, ["hello", said, "again"]);
}

async fn until_type(peer: &mut Peer, kind: &str) -> Value {
    loop {
        let event = peer.frame().await;
        if event["type"] == kind {
            return event;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_stops_the_model() {
    let sim = model();
    let house = house_with(&sim);
    let mut peer = client(&house).await;
    send(&mut peer, "s", "endless").await;
    // This one waits for the first, and goes with it.
    send(&mut peer, "s", "never asked").await;
    until_type(&mut peer, "assistant.token").await;
    command(&mut peer, "session.cancel", json!({ "sessionId": "s" })).await;
    let events = until(&mut peer, "s", "Cancelled").await;
    assert!(!story(&events).contains(&"assistant.message"));
    wait_until("the provider's stream is closed", || {
        sim.cut_streams() == 1 && sim.open_streams() == 0
    });
    // The session goes on.
    send(&mut peer, "s", "hello").await;
    let events = until(&mut peer, "s", "Ready").await;
    assert_eq!(story(&events)[..2], ["perf.metric", "router.decision"]);
    assert!(content(&events, "s").contains("hello"));
    let asked = sim.asked();
    assert!(asked.iter().all(|asked| asked.last_user() != "never asked"));
    // Where nothing runs there is nothing to stop.
    command(&mut peer, "session.cancel", json!({ "sessionId": "s" })).await;
    until(&mut peer, "s", "Cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_told_apart_and_messages_of_one_in_their_order() {
    let sim = model();
    let house = house_with(&sim);
    let (mut one, mut two) = (client(&house).await, client(&house).await);
    for word in ["first", "second"] {
        send(&mut one, "a", word).await;
        send(&mut one, "b", word).await;
    }
    send(&mut two, "c", "third").await;
    let mut events = Vec::new();
    let mut ready = 0;
    while ready < 4 {
        let event = one.frame().await;
        ready += usize::from(event["detail"] == "Ready");
        events.push(event);
    }
    for session in ["a", "b"] {
        let ours = events.iter().filter(|event| event["sessionId"] == session);
        let ours: Vec<Value> = ours
            .filter(|event| event["type"] != "perf.metric")
            .cloned()
            .collect();
        let turn = [
            "router.decision",
            "session.status",
            "assistant.token",
            "assistant.message",
        ];
        let expected: Vec<&str> = [
            &turn[..],
            &["session.status"],
            &turn[..],
            &["session.status"],
        ]
        .concat();
        assert_eq!(story(&ours), expected);
        let said: Vec<&Value> = ours
            .iter()
            .filter(|event| event["type"] == "assistant.message")
            .map(|event| &event["content"])
            .collect();
        assert!(
            said[0].as_str().is_some_and(|said| said.contains("first")),
            "{said:?}"
        );
        assert!(
            said[1].as_str().is_some_and(|said| said.contains("second")),
            "{said:?}"
        );
    }
    assert!(events.iter().all(|event| event["sessionId"] != "c"));
    let theirs = until(&mut two, "c", "Ready").await;
    assert!(theirs.iter().all(|event| event["sessionId"] == "c"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_shown_and_failures_are_told() {
    let sim = model();
    let house = house_with(&sim);
    let mut peer = client(&house).await;
    send(&mut peer, "s", "what time is it?").await;
    let events = until(&mut peer, "s", "Ready").await;
    assert_eq!(events[0]["agent"], "tool.use");
    let allowed = events[0]["toolsAllowed"].as_array().expect("a list");
    assert!(allowed.contains(&json!("time")) && !allowed.contains(&json!("write")));
    let offered = &sim.asked()[0].tools;
    assert!(offered.contains(&"time".to_owned()) && !offered.contains(&"write".to_owned()));
    let call = events
        .iter()
        .find(|event| event["type"] == "tool.call")
        .expect("a call");
    let result = events
        .iter()
        .find(|event| event["type"] == "tool.result")
        .expect("a result");
    assert_eq!(
        (&call["tool"]["name"], &call["tool"]["status"]),
        (&json!("time"), &json!("running"))
    );
    assert_eq!(
        (&result["toolId"], &result["result"]["ok"]),
        (&call["tool"]["id"], &json!(true))
    );
    assert!(content(&events, "s").ends_with("It is late."));

    send(&mut peer, "s", "refuse").await;
    let events = until(&mut peer, "s", "Ready").await;
    assert!(story(&events).contains(&"error"), "{events:?}");
    assert!(!story(&events).contains(&"assistant.message"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_path_takes_a_token_and_garbage_ends_nothing() {
    let sim = model();
    let house = house_with(&sim);
    let url = format!("ws://{}/agentloop", house.address());
    assert_eq!(Peer::ws(ws_request_to(&url)).await.err(), Some(401));
    let mut request = ws_request(&house, &house.token());
    *request.uri_mut() = url.parse().expect("a URL");
    let mut peer = Peer::ws(request).await.expect("the owner is let in");
    for garbage in [
        "",
        "{",
        "[]",
        "{\"type\":\"session.wipe\",\"payload\":{}}",
        "{\"type\":\"session.send\",\"payload\":{}}",
    ] {
        assert!(peer.try_send_text(garbage).await);
        until_type(&mut peer, "error").await;
    }
    assert!(peer.send_bytes(b"\x00\xff").await);
    until_type(&mut peer, "error").await;
    send(&mut peer, "s", "hello").await;
    let events = until(&mut peer, "s", "Ready").await;
    assert!(content(&events, "s").contains("hello"));
}

#[tokio::test(flavor = "multi_thread")]
async fn their_environment_opens_the_listener() {
    let house = House::builder()
        .env("AGENTLOOP_PORT", "0")
        .env("HOB_DIALECT_AGENTLOOP_SPEECH", "127.0.0.1:0")
        .start();
    let mut peer = client(&house).await;
    command(&mut peer, "agent.list", json!({})).await;
    let agents = until_type(&mut peer, "agent.list").await;
    assert_eq!(agents["agents"][0]["name"], "chat.quick");
}
