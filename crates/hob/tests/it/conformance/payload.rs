//! The router reads the envelope only: a payload that looks like a frame stays data, and its line
//! breaks never end a line, on every transport.

use super::http;
use super::wire::{Peer, SURFACES, Surface, outcome, request, serve};
use crate::support::House;
use serde_json::{Value, json};

/// Payloads that would do harm if anyone read them as frames.
fn bait() -> Vec<Value> {
    let register = json!({
        "type": "req", "id": "1", "target": "gateway", "method": "gateway.register",
        "params": { "service": "planted", "methods": ["planted.trap"] },
    });
    let answer =
        json!({ "type": "res", "id": "judge-1", "ok": false, "error": { "code": "INTERNAL" } });
    let event = json!({ "type": "event", "source": "x", "event": "session.message", "seq": 1 });
    vec![
        json!(format!("\n{register}\n")),
        json!(format!("\r\n{answer}\r\n\u{2028}{event}\u{0}")),
        json!({ "lines": [register.to_string(), "\"}\n{", "\\", "]}"] }),
        register,
        answer,
        event,
    ]
}

/// A frame whose params or payload are spread over lines, as a pretty printer would.
fn pretty(frame: &Value) -> String {
    let text = serde_json::to_string_pretty(frame).expect("JSON prints");
    assert!(text.contains('\n'));
    text.replace('\n', "\r\n")
}

#[tokio::test]
async fn a_frame_in_params_and_payload_stays_data() {
    let house = House::start();
    let token = house.token();
    let mut watcher = Peer::owner(&house).await;
    watcher.subscribe(&["service.connected", "session.*"]).await;
    for service_surface in SURFACES {
        let mut service = Peer::on(service_surface, &house, &token).await;
        service.register("echo", &["echo.say"]).await;
        watcher.event_of("service.connected").await;
        let served = serve(service, |request| request["params"].clone());
        for bait in bait() {
            for caller_surface in SURFACES {
                let mut caller = Peer::on(caller_surface, &house, &token).await;
                assert_eq!(caller.call("echo.say", bait.clone()).await, bait);
                caller.assert_silent().await;
            }
            let answer = http::rpc(&house, &token, "echo.say", &bait.to_string()).await;
            assert_eq!((answer.status, answer.json()), (200, bait));
        }
        served.abort();
    }
    watcher.assert_silent().await;
    watcher
        .refused("NO_HANDLER", "planted.trap", json!({}))
        .await;
}

#[tokio::test]
async fn line_breaks_between_tokens_never_end_a_line() {
    let house = House::start();
    let token = house.token();
    for service_surface in SURFACES {
        let mut service = Peer::on(service_surface, &house, &token).await;
        service.register("echo", &["echo.say"]).await;
        for caller_surface in SURFACES {
            // On the unix socket a sender cannot spread a frame; a WebSocket sender can.
            let mut caller = Peer::on(caller_surface, &house, &token).await;
            for bait in bait() {
                let id = caller_asks(&mut caller, caller_surface, &bait).await;
                let seen = service.request().await;
                assert_eq!(seen["params"], bait);
                let answer =
                    json!({ "type": "res", "id": seen["id"], "ok": true, "payload": bait });
                match service_surface {
                    Surface::Ws => service.send_text(&pretty(&answer)).await,
                    Surface::Unix => service.send(answer).await,
                }
                assert_eq!(outcome(&caller.answer(&id).await), Ok(bait.clone()));
            }
            caller.assert_silent().await;
        }
        // REST bodies are spread as the sender likes.
        let body = serde_json::to_string_pretty(&bait()).expect("JSON prints");
        let served = async {
            let seen = service.request().await;
            service.reply(&seen, seen["params"].clone()).await;
        };
        let ((), answer) = tokio::join!(served, http::rpc(&house, &token, "echo.say", &body));
        assert_eq!((answer.status, answer.json()), (200, json!(bait())));
    }
}

async fn caller_asks(caller: &mut Peer, surface: Surface, params: &Value) -> String {
    let id = "spread".to_owned();
    let frame = request(&id, "echo.say", params.clone());
    match surface {
        Surface::Ws => caller.send_text(&pretty(&frame)).await,
        Surface::Unix => caller.send(frame).await,
    }
    id
}

#[tokio::test]
async fn a_frame_in_an_event_stays_data() {
    let mut house = House::start();
    let mut service = Peer::owner(&house).await;
    let register = json!({
        "service": "mill", "events": ["mill.ground", "mill.dust"], "volatile": ["mill.dust"],
    });
    service.call("gateway.register", register).await;
    let mut subscribers = Vec::new();
    for surface in SURFACES {
        let mut subscriber = Peer::on(surface, &house, &house.token()).await;
        subscriber.subscribe(&["mill.*"]).await;
        subscribers.push(subscriber);
    }
    for topic in ["mill.ground", "mill.dust"] {
        for bait in bait() {
            let frame = json!({ "type": "event", "source": "", "event": topic, "payload": bait });
            service.send_text(&pretty(&frame)).await;
            for subscriber in &mut subscribers {
                let event = subscriber.event().await;
                assert_eq!((&event["event"], &event["payload"]), (&json!(topic), &bait));
            }
        }
    }
    for subscriber in &mut subscribers {
        subscriber.assert_silent().await;
    }
    // The log gives it back the same, on a line transport too.
    house.kill();
    house.start_daemon();
    for surface in SURFACES {
        let mut back = Peer::on(surface, &house, &house.token()).await;
        back.subscribe_since(&["mill.*"], 0).await;
        for bait in bait() {
            assert_eq!(back.event().await["payload"], bait);
        }
        back.assert_silent().await;
    }
}

#[tokio::test]
async fn a_message_that_holds_a_frame_comes_back_as_it_was() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    peer.call("session.create", json!({ "sessionKey": "chat:bait" }))
        .await;
    let texts: Vec<Value> = bait().iter().map(|bait| json!(bait.to_string())).collect();
    for text in &texts {
        peer.call(
            "session.send",
            json!({ "sessionKey": "chat:bait", "content": text }),
        )
        .await;
    }
    for surface in SURFACES {
        let mut reader = Peer::on(surface, &house, &house.token()).await;
        let history = reader
            .call("session.history", json!({ "sessionKey": "chat:bait" }))
            .await;
        let messages = history["messages"].as_array().expect("a list");
        let held: Vec<Value> = messages
            .iter()
            .map(|message| message["content"].clone())
            .collect();
        assert_eq!(held, texts);
    }
}

#[tokio::test]
async fn numbers_and_texts_pass_as_the_bytes_they_were() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    // None of these survives a reader that turns JSON into values and back.
    let raw = r#"{"big":123456789012345678901234567890,"exp":1e400,"zero":-0.0,"twice":1,"twice":2,"esc":"\u0041\/"}"#;
    for surface in SURFACES {
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        let frame = format!(r#"{{"type":"req","id":"raw","method":"echo.say","params":{raw}}}"#);
        caller.send_text(&frame).await;
        let seen = service.arrival().await.expect("the request comes");
        assert!(seen.contains(raw), "{seen}");
        let id = seen
            .split(r#""id":""#)
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let id = id.expect("it has an id");
        service
            .send_text(&format!(
                r#"{{"type":"res","id":"{id}","ok":true,"payload":{raw}}}"#
            ))
            .await;
        let answer = caller.arrival().await.expect("the answer comes");
        assert!(answer.contains(raw), "{answer}");
    }
}

#[tokio::test]
async fn what_is_missing_stays_missing_and_null_stays_null() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    let register = json!({
        "service": "echo", "methods": ["echo.say"],
        "events": ["echo.said", "echo.blinked"], "volatile": ["echo.blinked"],
    });
    service.call("gateway.register", register).await;
    for surface in SURFACES {
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        caller.subscribe(&["echo.*"]).await;
        for null in [false, true] {
            let mut ask = json!({ "type": "req", "id": "1", "method": "echo.say" });
            let mut answer = json!({ "type": "res", "ok": true });
            if null {
                ask["params"] = Value::Null;
                answer["payload"] = Value::Null;
            }
            caller.send(ask).await;
            let seen = service.request().await;
            assert_eq!(seen.get("params").is_some(), null, "{seen}");
            answer["id"] = seen["id"].clone();
            service.send(answer).await;
            let got = caller.answer("1").await;
            assert_eq!(got.get("payload").is_some(), null, "{got}");
            for topic in ["echo.said", "echo.blinked"] {
                let mut event = json!({ "type": "event", "source": "echo", "event": topic });
                if null {
                    event["payload"] = Value::Null;
                }
                service.send(event).await;
                let got = caller.event().await;
                assert_eq!(got["event"], topic);
                assert_eq!(got.get("payload").is_some(), null, "{got}");
            }
        }
    }
    // To the house itself both mean no params.
    let mut caller = Peer::owner(&house).await;
    assert!(caller.ask("session.list", Value::Null).await.is_ok());
    let answer = http::rpc(&house, &house.token(), "session.list", "null").await;
    assert_eq!(answer.status, 200, "{answer:?}");
}
