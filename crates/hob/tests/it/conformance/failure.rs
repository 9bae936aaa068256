//! What callers see when services are silent, dead or liars.

use super::http;
use super::wire::{Peer, SURFACES, Surface, number, outcome, request};
use crate::support::House;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far below the default request timeout of 300 s, far above a noisy machine's hiccup.
const AT_ONCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_silent_service_ends_in_timeout() {
    let house = House::builder()
        .env("HOB_GATEWAY_REQUEST_TIMEOUT", "400ms")
        .start();
    for surface in SURFACES {
        let mut service = Peer::on(surface, &house, &house.token()).await;
        service.register("mute", &["mute.ask"]).await;
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        let started = Instant::now();
        caller.refused("TIMEOUT", "mute.ask", json!({})).await;
        assert!(
            started.elapsed() >= Duration::from_millis(350),
            "{:?}",
            started.elapsed()
        );
        assert!(started.elapsed() < AT_ONCE);
        // The late answer belongs to nobody and the service serves on.
        let seen = service.request().await;
        service.reply(&seen, json!("too late")).await;
        let id = caller.post("mute.ask", json!({})).await;
        let seen = service.request().await;
        service.reply(&seen, json!("in time")).await;
        assert_eq!(outcome(&caller.answer(&id).await), Ok(json!("in time")));
        caller.assert_silent().await;
    }
    let mut service = Peer::owner(&house).await;
    service.register("mute", &["mute.ask"]).await;
    let answer = http::rpc(&house, &house.token(), "mute.ask", "{}").await;
    assert_eq!(answer.status, 504, "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], "TIMEOUT");
    drop(service);
}

#[tokio::test]
async fn callers_of_a_dead_service_fail_at_once() {
    let house = House::start();
    for surface in SURFACES {
        let mut service = Peer::on(surface, &house, &house.token()).await;
        service.register("mortal", &["mortal.ask"]).await;
        let mut by_ws = Peer::on(Surface::Ws, &house, &house.token()).await;
        let mut by_unix = Peer::on(Surface::Unix, &house, &house.token()).await;
        let first = by_ws.post("mortal.ask", json!({ "n": 1 })).await;
        let second = by_unix.post("mortal.ask", json!({ "n": 2 })).await;
        let token = house.token();
        let third = http::rpc(&house, &token, "mortal.ask", r#"{"n":3}"#);
        let started = Instant::now();
        let death = async {
            for _ in 0..3 {
                service.request().await;
            }
            drop(service);
        };
        let ((), by_http) = tokio::join!(death, third);
        for answer in [by_ws.answer(&first).await, by_unix.answer(&second).await] {
            let error = outcome(&answer).expect_err("its service is dead");
            assert_eq!(error["code"], "SERVICE_UNAVAILABLE", "{error}");
        }
        assert_eq!(by_http.status, 503, "{by_http:?}");
        assert_eq!(by_http.json()["error"]["code"], "SERVICE_UNAVAILABLE");
        assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn one_id_from_two_callers_stays_two_requests() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    let mut first = Peer::on(Surface::Ws, &house, &house.token()).await;
    let mut second = Peer::on(Surface::Unix, &house, &house.token()).await;
    first
        .send(request("same", "echo.say", json!("first")))
        .await;
    second
        .send(request("same", "echo.say", json!("second")))
        .await;
    let one = service.request().await;
    let two = service.request().await;
    assert_ne!(one["id"], two["id"], "ids are re-keyed");
    // Answered in the opposite order, each still finds its caller.
    service.reply(&two, two["params"].clone()).await;
    service.reply(&one, one["params"].clone()).await;
    assert_eq!(outcome(&first.answer("same").await), Ok(json!("first")));
    assert_eq!(outcome(&second.answer("same").await), Ok(json!("second")));
}

#[tokio::test]
async fn one_id_twice_from_one_caller_is_answered_twice() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    let mut caller = Peer::owner(&house).await;
    caller.send(request("twice", "echo.say", json!(1))).await;
    caller.send(request("twice", "echo.say", json!(2))).await;
    for _ in 0..2 {
        let seen = service.request().await;
        service.reply(&seen, seen["params"].clone()).await;
    }
    let mut got = [caller.answer("twice").await, caller.answer("twice").await]
        .map(|answer| answer["payload"].as_u64());
    got.sort_unstable();
    assert_eq!(got, [Some(1), Some(2)]);
}

#[tokio::test]
async fn a_forged_answer_from_another_connection_is_dropped() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("bank", &["bank.balance"]).await;
    for surface in SURFACES {
        let mut forger = Peer::on(surface, &house, &house.token()).await;
        forger.register("forger", &["forger.noop"]).await;
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        let id = caller.post("bank.balance", json!({})).await;
        let seen = service.request().await;
        // The very id the owner was given, the caller's id, and all small numbers.
        let mut guesses = vec![seen["id"].clone(), json!(id), json!("unknown")];
        guesses.extend((0..64).map(|guess| json!(guess.to_string())));
        for guess in guesses {
            forger
                .send(json!({ "type": "res", "id": guess, "ok": true, "payload": "forged" }))
                .await;
        }
        // Once the forger's next request is answered its forgeries have been handled.
        forger.settled().await;
        service.reply(&seen, json!("true")).await;
        assert_eq!(outcome(&caller.answer(&id).await), Ok(json!("true")));
        caller.assert_silent().await;
    }
}

#[tokio::test]
async fn a_second_answer_is_dropped() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    let mut caller = Peer::owner(&house).await;
    let id = caller.post("echo.say", json!({})).await;
    let seen = service.request().await;
    service.reply(&seen, json!("first")).await;
    service.reply(&seen, json!("second")).await;
    service.settled().await;
    assert_eq!(outcome(&caller.answer(&id).await), Ok(json!("first")));
    caller.assert_silent().await;
}

#[tokio::test]
async fn an_answer_to_a_caller_that_left_harms_nobody() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    for surface in SURFACES {
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        caller.post("echo.say", json!({})).await;
        let seen = service.request().await;
        drop(caller);
        service.reply(&seen, json!("anyone?")).await;
    }
    let stats = service.call("gateway.stats", json!({})).await;
    assert_eq!(number(&stats, "pendingRequests"), 0, "{stats}");
}

#[tokio::test]
async fn whatever_error_a_service_answers_passes_unchanged() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("grump", &["grump.ask"]).await;
    let errors = [
        json!({ "code": "METHOD_ERROR", "message": "handler failed", "details": { "at": [1, 2] } }),
        json!({ "code": "CANCELLED", "message": "you said stop" }),
        json!({ "code": "INTERNAL", "message": "a bug of mine" }),
        json!({ "code": "OVERLOADED", "message": "later", "retryable": true, "retryAfterMs": 1500 }),
        json!({ "code": "TEAPOT", "message": "a code nobody knows", "colour": "brown" }),
    ];
    for surface in SURFACES {
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        for error in &errors {
            let id = caller.post("grump.ask", json!({})).await;
            let seen = service.request().await;
            service.fail(&seen, error.clone()).await;
            assert_eq!(outcome(&caller.answer(&id).await), Err(error.clone()));
        }
    }
    let statuses = [500, 499, 500, 429];
    let token = house.token();
    for (error, status) in errors.iter().zip(statuses) {
        let served = async {
            let seen = service.request().await;
            service.fail(&seen, error.clone()).await;
        };
        let asked = http::rpc(&house, &token, "grump.ask", "{}");
        let ((), answer) = tokio::join!(served, asked);
        assert_eq!(answer.status, status, "{answer:?}");
        let body: Value = answer.json();
        for (key, value) in error.as_object().expect("an object") {
            assert_eq!(&body["error"][key], value, "{body}");
        }
        assert!(body["error"]["request_id"].is_string(), "{body}");
        assert!(!body["error"]["timestamp"].is_null(), "{body}");
    }
}
