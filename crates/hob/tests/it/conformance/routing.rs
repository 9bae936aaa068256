//! Registration and routing: who owns a method, who may take it, and where a request goes.

use super::wire::{Peer, SURFACES, Surface, outcome, request, serve, text, texts};
use crate::support::House;
use serde_json::{Value, json};

#[tokio::test]
async fn registering_answers_the_whole_routing_table() {
    let house = House::start();
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        let params = json!({
            "service": "weather", "version": "2.1",
            "methods": ["weather.now", "weather.week"],
            "events": ["weather.changed"],
            "subscriptions": ["session.message"],
        });
        let table = peer.call("gateway.register", params).await;
        for (field, expected) in [
            ("services", &["weather", "sessions", "gateway"][..]),
            (
                "methods",
                &[
                    "weather.now",
                    "weather.week",
                    "session.create",
                    "gateway.stats",
                ],
            ),
            (
                "events",
                &["weather.changed", "session.message", "service.connected"],
            ),
        ] {
            let names = texts(&table, field);
            for name in expected {
                assert!(
                    names.iter().any(|n| n == name),
                    "{field} lacks {name}: {names:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_request_reaches_its_owner_and_the_answer_its_caller() {
    let house = House::start();
    for service_surface in SURFACES {
        for caller_surface in SURFACES {
            let mut service = Peer::on(service_surface, &house, &house.token()).await;
            service.register("echo", &["echo.say"]).await;
            let mut caller = Peer::on(caller_surface, &house, &house.token()).await;
            let params = json!({ "word": "hällo \u{1F3E0}", "deep": [1, { "two": null }] });
            let id = caller.post("echo.say", params.clone()).await;
            let seen = service.request().await;
            assert_eq!(seen["method"], "echo.say");
            assert_eq!(seen["params"], params);
            service.reply(&seen, json!({ "heard": params })).await;
            let answer = outcome(&caller.answer(&id).await);
            assert_eq!(answer, Ok(json!({ "heard": params })));
        }
    }
}

#[tokio::test]
async fn target_may_be_missing_empty_or_the_owner_and_nothing_else() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    serve(service, |_| json!("heard"));
    for surface in SURFACES {
        let mut caller = Peer::on(surface, &house, &house.token()).await;
        let mut missing = request("missing", "echo.say", json!({}));
        missing.as_object_mut().expect("an object").remove("target");
        caller.send(missing).await;
        assert_eq!(outcome(&caller.answer("missing").await), Ok(json!("heard")));
        for (target, method, reaches) in [
            ("", "echo.say", true),
            ("echo", "echo.say", true),
            ("sessions", "echo.say", false),
            ("nobody", "echo.say", false),
            ("echo", "session.list", false),
            ("sessions", "session.list", true),
            ("gateway", "gateway.stats", true),
            ("echo", "gateway.stats", false),
        ] {
            let id = format!("{target}>{method}");
            let mut frame = request(&id, method, json!({}));
            frame["target"] = json!(target);
            caller.send(frame).await;
            match outcome(&caller.answer(&id).await) {
                Ok(_) => assert!(reaches, "{id} must not be routed"),
                Err(error) => {
                    assert!(!reaches, "{id}: {error}");
                    assert_eq!(error["code"], "NO_HANDLER", "{id}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_unknown_method_has_no_handler() {
    let house = House::start();
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        let message = peer.refused("NO_HANDLER", "nobody.home", json!({})).await;
        assert!(message.contains("nobody.home"), "{message}");
        peer.refused("NO_HANDLER", "gateway.nothing", json!({}))
            .await;
    }
}

#[tokio::test]
async fn routes_are_gone_after_disconnect() {
    let house = House::start();
    let mut watcher = Peer::owner(&house).await;
    watcher.subscribe(&["service.*"]).await;
    for surface in SURFACES {
        let mut service = Peer::on(surface, &house, &house.token()).await;
        service.register("brief", &["brief.word"]).await;
        let connected = watcher.event_of("service.connected").await;
        assert_eq!(connected["payload"]["service"], "brief");
        drop(service);
        let gone = watcher.event_of("service.disconnected").await;
        assert_eq!(gone["payload"]["service"], "brief");
        watcher.refused("NO_HANDLER", "brief.word", json!({})).await;
        let inspection = watcher.call("gateway.inspect", json!({})).await;
        assert!(!service_names(&inspection).contains(&"brief".to_owned()));
    }
}

#[tokio::test]
async fn built_in_names_are_never_given_away() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    for (service, methods, events) in [
        ("sessions", &["sessions.mine"][..], &[][..]),
        ("gateway", &["gateway.mine"], &[]),
        ("config", &[], &[]),
        ("tokens", &[], &[]),
        ("daemon", &[], &[]),
        ("thief", &["session.create"], &[]),
        ("thief", &["gateway.stats"], &[]),
        ("thief", &["gateway.invented"], &[]),
        ("thief", &[], &["session.message"]),
        ("thief", &[], &["gateway.gap"]),
        ("thief", &[], &["service.connected"]),
    ] {
        let params = json!({ "service": service, "methods": methods, "events": events });
        peer.refused("REGISTER_FAILED", "gateway.register", params)
            .await;
    }
    // A refused registration leaves nothing behind.
    let inspection = peer.call("gateway.inspect", json!({})).await;
    assert!(!service_names(&inspection).contains(&"thief".to_owned()));
    peer.call("session.list", json!({})).await;
}

#[tokio::test]
async fn a_method_of_a_live_service_cannot_be_taken() {
    let house = House::start();
    let mut first = Peer::owner(&house).await;
    first.register("alpha", &["shared.method"]).await;
    let mut second = Peer::owner(&house).await;
    let params = json!({ "service": "beta", "methods": ["beta.own", "shared.method"] });
    let message = second
        .refused("REGISTER_FAILED", "gateway.register", params.clone())
        .await;
    assert!(message.contains("alpha"), "the owner is named: {message}");
    second.refused("NO_HANDLER", "beta.own", json!({})).await;
    // Once the owner is gone the name is free.
    second.subscribe(&["service.disconnected"]).await;
    drop(first);
    second.event_of("service.disconnected").await;
    second.call("gateway.register", params).await;
}

#[tokio::test]
async fn registering_again_on_one_connection_replaces_its_routes() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("mood", &["mood.old", "mood.kept"]).await;
    service.register("mood", &["mood.new", "mood.kept"]).await;
    serve(service, |request| request["method"].clone());
    let mut caller = Peer::owner(&house).await;
    caller.refused("NO_HANDLER", "mood.old", json!({})).await;
    assert_eq!(caller.call("mood.new", json!({})).await, "mood.new");
    assert_eq!(caller.call("mood.kept", json!({})).await, "mood.kept");
}

#[tokio::test]
async fn the_newer_connection_of_a_service_wins() {
    let house = House::start();
    let mut old = Peer::owner(&house).await;
    old.register("clock", &["clock.time"]).await;
    let mut caller = Peer::owner(&house).await;
    let waiting = caller.post("clock.time", json!({})).await;
    old.request().await;
    let mut new = Peer::on(Surface::Unix, &house, &house.token()).await;
    new.register("clock", &["clock.time"]).await;
    let error = outcome(&caller.answer(&waiting).await).expect_err("its service was replaced");
    assert_eq!(error["code"], "SERVICE_UNAVAILABLE");
    old.until_closed().await;
    serve(new, |_| json!("new"));
    assert_eq!(caller.call("clock.time", json!({})).await, "new");
}

#[tokio::test]
async fn a_trace_follows_a_request_through_its_service() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    let mut caller = Peer::on(Surface::Unix, &house, &house.token()).await;
    let mut traced = request("1", "echo.say", json!({}));
    traced["trace"] = json!("trace-of-the-judge");
    caller.send(traced).await;
    let seen = service.request().await;
    assert_eq!(seen["trace"], "trace-of-the-judge");
    service.reply(&seen, Value::Null).await;
    caller.answer("1").await;
    let spans = caller
        .call("gateway.trace", json!({ "trace": "trace-of-the-judge" }))
        .await;
    let span = &spans["spans"][0];
    assert_eq!(text(span, "method"), "echo.say");
    assert_eq!(text(span, "service"), "echo");
    assert!(span["error"].is_null());
    assert!(
        span["micros"].is_u64() && span["startedAt"].is_u64(),
        "{span}"
    );
    // A request that brings none is given one.
    caller.post("echo.say", json!({})).await;
    let given = text(&service.request().await, "trace");
    assert!(
        given.len() == 16 && given.bytes().all(|b| b.is_ascii_hexdigit()),
        "{given}"
    );
}

#[tokio::test]
async fn inspect_and_stats_show_what_is_there() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    let mut caller = Peer::on(Surface::Unix, &house, &house.token()).await;
    caller.subscribe(&["session.*"]).await;
    caller.post("echo.say", json!({})).await;
    service.request().await;
    let mut watcher = Peer::owner(&house).await;
    let inspection = watcher.call("gateway.inspect", json!({})).await;
    let services = inspection["services"].as_array().expect("a list");
    let echo = services
        .iter()
        .find(|s| s["name"] == "echo")
        .expect("it is registered");
    assert_eq!(echo["builtin"], false);
    assert_eq!(echo["methods"], json!(["echo.say"]));
    assert_eq!(echo["pendingRequests"], 1);
    let sessions = services
        .iter()
        .find(|s| s["name"] == "sessions")
        .expect("it is built in");
    assert_eq!(sessions["builtin"], true);
    let connections = inspection["connections"].as_array().expect("a list");
    let by_socket = connections
        .iter()
        .find(|c| c["surface"] == "unix")
        .expect("the caller");
    assert_eq!(by_socket["subscriptions"], json!(["session.*"]));
    let stats = watcher.call("gateway.stats", json!({})).await;
    assert!(stats["connections"].as_u64() >= Some(3), "{stats}");
    assert_eq!(stats["pendingRequests"], 1, "{stats}");
    assert!(stats["requestsTotal"].as_u64() > Some(0), "{stats}");
}

fn service_names(inspection: &Value) -> Vec<String> {
    let services = inspection["services"].as_array().expect("a list");
    services
        .iter()
        .map(|service| text(service, "name"))
        .collect()
}

#[tokio::test]
async fn a_service_may_call_itself_and_others() {
    let house = House::start();
    let mut service = Peer::on(Surface::Unix, &house, &house.token()).await;
    service.register("loop", &["loop.back", "loop.outer"]).await;
    let id = service.post("loop.back", json!({ "n": 1 })).await;
    let seen = service.request().await;
    service.reply(&seen, json!({ "n": 2 })).await;
    assert_eq!(service.answer(&id).await["payload"]["n"], 2);
    // While it serves a caller it asks another service.
    let mut caller = Peer::owner(&house).await;
    let id = caller.post("loop.outer", json!({})).await;
    let seen = service.request().await;
    let listed = service.call("session.list", json!({})).await;
    service.reply(&seen, listed).await;
    assert_eq!(caller.answer(&id).await["payload"]["sessions"], json!([]));
}

#[tokio::test]
async fn answers_may_come_in_any_order() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("echo", &["echo.say"]).await;
    let mut caller = Peer::on(Surface::Unix, &house, &house.token()).await;
    let mut ids = Vec::new();
    for n in 0..200 {
        ids.push(caller.post("echo.say", json!(n)).await);
    }
    let mut seen = Vec::new();
    for n in 0..200 {
        seen.push(service.request().await);
        assert_eq!(seen[n]["params"], n, "requests come in order");
    }
    for request in seen.iter().rev() {
        service.reply(request, request["params"].clone()).await;
    }
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(caller.answer(id).await["payload"], n);
    }
}

#[tokio::test]
async fn a_registration_is_all_or_nothing() {
    let house = House::start();
    let mut peer = Peer::owner(&house).await;
    for params in [
        json!({ "service": "odd", "methods": ["odd.fine"], "volatile": ["odd.undeclared"] }),
        json!({ "service": "odd", "methods": ["odd.fine", "session.get"] }),
        json!({ "service": "odd", "methods": ["odd.fine"], "events": ["gateway.odd"] }),
        json!({ "service": "odd", "methods": ["odd.fine", "odd.*"] }),
    ] {
        let error = peer.ask("gateway.register", params.clone()).await;
        assert!(error.is_err(), "{params}");
        peer.refused("NO_HANDLER", "odd.fine", json!({})).await;
        peer.emit("odd.said", json!({})).await;
        let refusal = peer.answer("unknown").await;
        assert_eq!(refusal["error"]["code"], "FORBIDDEN", "{params}");
    }
    let unknown = json!({ "service": "odd", "colour": "red" });
    peer.refused("INVALID_PARAMS", "gateway.register", unknown)
        .await;
}
