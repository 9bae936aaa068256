//! Requests reach their service, and answers reach only their caller.

use crate::fixture::{TestBus, TestPeer, code, until};
use hob_wire::{Scope, Scopes};
use serde_json::{Value, json};

#[tokio::test]
async fn a_request_is_routed_and_answered() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let id = caller.ask("echo.say", json!({ "text": "hi" })).await;
    let request = service.request().await;
    assert_eq!(request["target"], "echo");
    assert_eq!(request["method"], "echo.say");
    assert_eq!(request["params"], json!({ "text": "hi" }));
    service.reply(&request, json!(["hi"])).await;
    assert_eq!(caller.answer_to(&id).await, Ok(json!(["hi"])));
    assert_eq!(fixture.bus.counters().pending_requests, 0);
}

#[tokio::test]
async fn an_unknown_method_and_a_wrong_target_have_no_handler() {
    let fixture = TestBus::new();
    let _service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let unknown = caller.call("echo.shout", json!({})).await;
    assert_eq!(code(&unknown), "NO_HANDLER");
    caller
        .send(json!({ "type": "req", "id": "t", "target": "other", "method": "echo.say" }))
        .await;
    let wrong = caller.answer_to("t").await;
    assert_eq!(code(&wrong), "NO_HANDLER");
    let message = wrong.expect_err("refused")["message"].to_string();
    assert!(message.contains("'echo'"), "{message}");
}

#[tokio::test]
async fn equal_ids_of_two_callers_do_not_meet() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut first = fixture.owner();
    let mut second = fixture.owner();
    for (wire, params) in [(&first, "a"), (&second, "b")] {
        let request = json!({ "type": "req", "id": "1", "method": "echo.say", "params": params });
        wire.send(request).await;
    }
    let for_first = service.request().await;
    let for_second = service.request().await;
    assert_ne!(for_first["id"], for_second["id"]);
    service
        .reply(&for_second, for_second["params"].clone())
        .await;
    service.reply(&for_first, for_first["params"].clone()).await;
    assert_eq!(first.answer_to("1").await, Ok(json!("a")));
    assert_eq!(second.answer_to("1").await, Ok(json!("b")));
}

#[tokio::test]
async fn only_the_link_a_request_was_given_to_may_answer_it() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let forger = fixture.service("forger", &["forger.say"]).await;
    let mut caller = fixture.owner();
    let id = caller.ask("echo.say", json!({})).await;
    let request = service.request().await;
    forger.reply(&request, json!("forged")).await;
    caller
        .send(json!({ "type": "res", "id": request["id"], "ok": true }))
        .await;
    service
        .send(json!({ "type": "res", "id": "no number", "ok": true }))
        .await;
    service.reply(&request, json!("true")).await;
    service.reply(&request, json!("again")).await;
    assert_eq!(caller.answer_to(&id).await, Ok(json!("true")));
    assert!(caller.is_silent().await);
    assert_eq!(fixture.bus.counters().stray_answers_total, 4);
}

#[tokio::test]
async fn a_service_that_dies_fails_its_callers_at_once() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let taken = caller.ask("echo.say", json!({})).await;
    service.request().await;
    let waiting = caller.ask("echo.say", json!({})).await;
    service.link = None;
    for id in [taken, waiting] {
        let answer = caller.answer_to(&id).await;
        assert_eq!(code(&answer), "SERVICE_UNAVAILABLE");
    }
    let routeless = caller.call("echo.say", json!({})).await;
    assert_eq!(code(&routeless), "NO_HANDLER");
    assert_eq!(fixture.bus.counters().pending_requests, 0);
}

#[tokio::test]
async fn the_answer_to_a_caller_that_left_is_dropped() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    caller.ask("echo.say", json!({})).await;
    let request = service.request().await;
    drop(caller);
    service.reply(&request, json!("late")).await;
    assert!(service.is_silent().await);
    assert_eq!(fixture.bus.counters().pending_requests, 0);
}

#[tokio::test]
async fn silence_ends_in_a_timeout_by_the_monotonic_clock() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let id = caller.ask("echo.say", json!({})).await;
    let request = service.request().await;
    // A person may set the wall clock; no deadline moves.
    fixture.clock.set_wall(9_000_000_000);
    fixture.clock.advance(299_999);
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    assert!(caller.is_silent().await);
    assert_eq!(fixture.bus.counters().pending_requests, 1);
    fixture.clock.advance(1);
    assert_eq!(code(&caller.answer_to(&id).await), "TIMEOUT");
    service.reply(&request, json!("late")).await;
    assert!(caller.is_silent().await);
}

#[tokio::test]
async fn the_timeout_can_change_while_the_bus_runs() {
    let fixture = TestBus::new();
    let _service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    fixture.bus.limits().set_request_timeout_ms(50);
    let id = caller.ask("echo.say", json!({})).await;
    fixture.clock.advance(50);
    assert_eq!(code(&caller.answer_to(&id).await), "TIMEOUT");
}

#[tokio::test]
async fn a_method_of_an_outside_service_needs_control() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut chatter = fixture.peer("chatter", Scopes::rank(Scope::Chat));
    let refused = chatter.call("echo.say", json!({})).await;
    assert_eq!(code(&refused), "FORBIDDEN");
    let message = refused.expect_err("refused")["message"].to_string();
    assert!(message.contains("'control'"), "{message}");
    assert!(service.is_silent().await);
    let mut controller = fixture.peer("controller", Scopes::rank(Scope::Control));
    let id = controller.ask("echo.say", json!({})).await;
    let request = service.request().await;
    service.reply(&request, Value::Null).await;
    assert_eq!(code(&controller.answer_to(&id).await), "OK");
}

#[tokio::test]
async fn an_error_travels_as_it_was_written() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let id = caller.ask("echo.say", json!({})).await;
    let request = service.request().await;
    let error = json!({ "code": "CUSTOM", "message": "no", "more": [1, 2] });
    service
        .send(json!({ "type": "res", "id": request["id"], "ok": false, "error": error }))
        .await;
    assert_eq!(caller.answer_to(&id).await, Err(error));
}

#[tokio::test]
async fn a_frame_inside_a_payload_is_data() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let inner = r#"{"type":"req","id":"x","method":"gateway.unsubscribe"}"#;
    let params = json!({ "object": serde_json::from_str::<Value>(inner).expect("JSON"), "text": inner, "break": format!("\n{inner}\n") });
    let id = caller.ask("echo.say", params.clone()).await;
    let request = service.request().await;
    assert_eq!(request["params"], params);
    service.reply(&request, params.clone()).await;
    assert_eq!(caller.answer_to(&id).await, Ok(params));
    assert!(service.is_silent().await && caller.is_silent().await);
}

#[tokio::test]
async fn a_trace_is_kept_or_made_and_can_be_asked_for() {
    let fixture = TestBus::new();
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let given = json!({ "type": "req", "id": "1", "method": "echo.say", "trace": "my-trace" });
    caller.send(given).await;
    let request = service.request().await;
    assert_eq!(request["trace"], "my-trace");
    fixture.clock.advance(3);
    service.reply(&request, json!(1)).await;
    caller.answer_to("1").await.expect("answered");
    let traced = caller
        .call("gateway.trace", json!({ "trace": "my-trace" }))
        .await;
    let spans = traced.expect("traced")["spans"].clone();
    assert_eq!(spans[0]["method"], "echo.say");
    assert_eq!(spans[0]["service"], "echo");
    assert_eq!(spans[0]["caller"], "owner");
    assert_eq!(spans[0]["micros"], 3_000);
    assert_eq!(spans[0].get("error"), None);

    caller.ask("echo.say", json!({})).await;
    let made = service.request().await["trace"].clone();
    let made = made.as_str().expect("a trace");
    assert!(made.len() == 16 && made.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[tokio::test]
async fn what_is_no_frame_is_a_parse_error() {
    let fixture = TestBus::new();
    let mut wire = fixture.owner();
    let deep = format!(
        r#"{{"type":"req","id":"deep","method":"a.b","params":{}1{}}}"#,
        "[".repeat(128),
        "]".repeat(128)
    );
    let bottomless = "[".repeat(100_000);
    let array = r#"["req","1","","gateway.stats",{},null,null,null,null,null,null,null,null,null]"#;
    for (text, id) in [
        ("nonsense", "unknown"),
        (r#"{"type":"req","id":"7"}"#, "7"),
        (r#"{"type":"hello"}"#, "unknown"),
        (deep.as_str(), "deep"),
        (bottomless.as_str(), "unknown"),
        (array, "unknown"),
    ] {
        wire.send_text(text).await;
        assert_eq!(code(&wire.answer_to(id).await), "PARSE_ERROR");
    }
    let link = wire.link.as_ref().expect("open");
    link.receive(bytes::Bytes::from_static(b"\xff\xfe{}")).await;
    assert_eq!(code(&wire.answer_to("unknown").await), "PARSE_ERROR");
    let shallow = format!(
        r#"{{"type":"req","id":"fits","method":"a.b","params":{}1{}}}"#,
        "[".repeat(127),
        "]".repeat(127)
    );
    wire.send_text(&shallow).await;
    assert_eq!(code(&wire.answer_to("fits").await), "NO_HANDLER");
}

#[tokio::test]
async fn too_many_unanswered_requests_are_refused() {
    let limits = hob_bus::BusLimits {
        pending_requests_max: 3,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 10);
    let mut service = fixture.service("echo", &["echo.say"]).await;
    let mut caller = fixture.owner();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(caller.ask("echo.say", json!({})).await);
    }
    let refused = caller
        .call("echo.say", json!({}))
        .await
        .expect_err("refused");
    assert_eq!(refused["code"], "OVERLOADED");
    assert_eq!(refused["retryable"], true);
    assert!(refused["retryAfterMs"].as_u64() > Some(0));
    let mut other = fixture.owner();
    other.ask("echo.say", json!({})).await;
    for _ in 0..4 {
        let request = service.request().await;
        service.reply(&request, json!(1)).await;
    }
    for id in ids {
        assert_eq!(caller.answer_to(&id).await, Ok(json!(1)));
    }
    caller.ask("echo.say", json!({})).await;
    service.request().await;
}

#[tokio::test]
async fn a_service_that_reads_nothing_is_protected_by_its_outbox() {
    let limits = hob_bus::BusLimits {
        outbox_frames_max: 4,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 10);
    let service = fixture.service("echo", &["echo.say"]).await;
    let mut callers: Vec<TestPeer> = (0..6).map(|_| fixture.owner()).collect();
    let mut overloaded = 0;
    for caller in &mut callers {
        caller.ask("echo.say", json!({})).await;
        until(|| fixture.bus.counters().pending_requests > 0).await;
        overloaded = fixture.bus.counters().errors_total;
    }
    assert_eq!(overloaded, 2);
    let refused = callers[5].answer_to("q1").await;
    assert_eq!(code(&refused), "OVERLOADED");
    drop(service);
    assert_eq!(
        code(&callers[0].answer_to("q1").await),
        "SERVICE_UNAVAILABLE"
    );
}

#[tokio::test]
async fn a_caller_that_takes_no_answers_is_closed() {
    let limits = hob_bus::BusLimits {
        outbox_frames_max: 4,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 10);
    let mut sleeper = fixture.owner();
    for _ in 0..5 {
        sleeper.ask("gateway.stats", json!({})).await;
    }
    assert_eq!(sleeper.closed().await, hob_bus::CloseReason::Slow);
    assert_eq!(fixture.bus.counters().slow_closed_total, 1);
    assert_eq!(sleeper.rest().await.len(), 4);
}

#[tokio::test]
async fn there_is_a_bound_on_connections() {
    let limits = hob_bus::BusLimits {
        connections_max: 2,
        ..Default::default()
    };
    let fixture = TestBus::with(limits, 10);
    let first = fixture.owner();
    let _second = fixture.owner();
    let peer = || hob_bus::PeerIdentity {
        name: "third".into(),
        surface: "ws",
        principal: "third".into(),
        scopes: Scopes::owner(),
    };
    let refused = fixture.bus.connect(peer()).expect_err("no room");
    assert_eq!(refused.code, hob_wire::ErrorCode::Overloaded);
    assert!(fixture.bus.caller_as(peer()).is_err());
    drop(first);
    assert!(fixture.bus.connect(peer()).is_ok());
}

#[tokio::test]
async fn a_transport_hears_of_the_close_while_frames_still_wait() {
    let fixture = TestBus::new();
    let peer = hob_bus::PeerIdentity {
        name: "guest".into(),
        surface: "ws",
        principal: "guest".into(),
        scopes: Scopes::rank(Scope::Read),
    };
    let (link, mut outlet) = fixture.bus.connect(peer).expect("room for a connection");
    link.refuse(&hob_wire::WireError::new(
        hob_wire::ErrorCode::ParseError,
        "binary",
    ));
    fixture.bus.close_principal("nobody");
    link.close();
    assert_eq!(link.closed().await, hob_bus::CloseReason::Normal);
    let mut frames = Vec::new();
    assert_eq!(outlet.next(&mut frames).await, None);
    let refusal: Value = serde_json::from_slice(&frames[0]).expect("JSON");
    assert_eq!(refusal["id"], "unknown");
    assert_eq!(refusal["error"]["code"], "PARSE_ERROR");
}
