//! Calls of a service's tools that stop, fail, flood, or are looked up after a crash.

use super::{house, house_saying, spec, start, words};
use crate::fixture::code;
use crate::outside::{Outside, Reply, answers, said};
use crate::permissions::run;
use hob_wire::ErrorCode;
use hob_wire::rooms::tool::{
    Cancel, Probe, SetTier, Tier, ToolCancelParams, ToolProbeResult, ToolSetTierParams,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_call_is_cancelled_within_a_second() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([
            ("tool_execute", |_| Reply::Silence),
            ("tool_cancel", |_| {
                Reply::Payload(json!({ "stopped": true }))
            }),
        ]),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("sleep", "opaque")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "sleep", json!({}))).await;
    let running = start(&house, call);
    assert_eq!(service.asked().await.0, "lab.tool_execute");
    let cancel = ToolCancelParams {
        run_id: run(1),
        call_id: "c1".to_owned(),
    };
    let begun = Instant::now();
    let caller = house.fixture.caller();
    let cancelled = caller.call::<Cancel>(&cancel).await.expect("cancels");
    assert!(cancelled.stopped);
    // A second is what is promised; a noisy machine may add to it.
    assert!(begun.elapsed() < Duration::from_secs(5));
    let (method, params) = service.asked().await;
    assert_eq!(method, "lab.tool_cancel");
    assert_eq!(params["callId"], "c1");
    assert_eq!(code(running.await.expect("ends")), ErrorCode::Cancelled);
    let again = caller.call::<Cancel>(&cancel).await.expect("is answered");
    assert!(!again.stopped, "nothing is under way any more");
    service.leave().await;
    house.fixture.close().await;
}

#[tokio::test]
async fn the_same_call_is_under_way_only_once() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |_| Reply::Silence)]),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("sleep", "opaque")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "sleep", json!({}))).await;
    let second = house.approved(house.call("c1", "sleep", json!({}))).await;
    let running = start(&house, call);
    service.asked().await;
    assert_eq!(code(house.execute(&second).await), ErrorCode::Conflict);
    // A service that dies leaves its callers no doubt that there is doubt.
    service.leave().await;
    let lost = running.await.expect("ends").expect_err("is lost");
    assert_eq!(lost.code, ErrorCode::ServiceUnavailable);
    assert!(lost.message.contains("not known"), "{lost}");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_stopped() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |_| Reply::Silence)]),
    )
    .await;
    let mut slow = [spec("sleep", "opaque"), spec("gaze", "pure")];
    for tool in &mut slow {
        tool["timeoutMs"] = json!(50);
    }
    let offer = json!({ "service": "lab", "tools": slow });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "sleep", json!({}))).await;
    let lost = house.execute(&call).await.expect_err("nobody knows");
    assert_eq!(lost.code, ErrorCode::Timeout);
    assert!(lost.message.contains("longer than 50 ms"), "{lost}");
    assert!(lost.message.contains("not known"), "{lost}");
    // What only looks is told as late, once a person believes that it only looks.
    let believed = ToolSetTierParams {
        name: "gaze".to_owned(),
        tier: Some(Tier::External),
        reset: false,
    };
    let caller = house.fixture.caller();
    caller.call::<SetTier>(&believed).await.expect("is set");
    let call = house.approved(house.call("c2", "gaze", json!({}))).await;
    let answer = house.execute(&call).await.expect("is answered");
    assert!(answer.is_error && words(&answer).contains("longer than 50 ms"));
    service.leave().await;
    house.fixture.close().await;
}

#[tokio::test]
async fn answers_of_services_are_bounded_and_failures_told() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |params| match params["name"].as_str() {
            Some("flood") => said(&"x".repeat(5_000_000)),
            Some("garble") => Reply::Payload(json!("what?")),
            _ => Reply::Error(json!({ "code": "METHOD_ERROR", "message": "no more milk" })),
        })]),
    )
    .await;
    let names = ["flood", "garble", "fail"];
    let specs: Vec<Value> = names.iter().map(|name| spec(name, "pure")).collect();
    let offer = json!({ "service": "lab", "tools": specs });
    service.call("tool.offer", offer).await.expect("is taken");
    for (name, told) in [
        ("flood", "bytes left out here"),
        ("garble", "not of its form"),
        ("fail", "'fail' failed: no more milk"),
    ] {
        let call = house.approved(house.call("c1", name, json!({}))).await;
        let answer = house.execute(&call).await.expect("is answered");
        assert!(words(&answer).contains(told), "{name}");
        assert!(words(&answer).len() < 300_000);
        assert_eq!(answer.is_error, name != "flood");
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_probe_says_what_is_known() {
    let house = house_saying("[tool]\nreturn_wait = \"50ms\"\n");
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers(
            [("tool_probe", |params| match params["args"]["n"].as_u64() {
                Some(1) => Reply::Payload(json!({
                    "happened": "yes",
                    "outcome": { "content": [{ "type": "text", "text": "done" }] },
                })),
                Some(2) => Reply::Payload(json!({ "happened": "no" })),
                _ => Reply::Error(json!({ "code": "INTERNAL", "message": "no idea" })),
            })],
        ),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("put", "probeable")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let caller = house.fixture.caller();
    let probe = |name: &str, n: u64| house.call("c1", name, json!({ "n": n }));
    let probed = caller.call::<Probe>(&probe("put", 1)).await;
    match probed.expect("is answered") {
        ToolProbeResult::Yes { outcome } => assert_eq!(words(&outcome), "done"),
        other => panic!("{other:?}"),
    }
    let probed = caller.call::<Probe>(&probe("put", 2)).await;
    assert_eq!(probed.expect("is answered"), ToolProbeResult::No);
    for (name, n, known) in [
        ("put", 3, "no idea"),
        ("read", 1, "cannot report"),
        ("gone", 1, "no longer available"),
    ] {
        match caller.call::<Probe>(&probe(name, n)).await {
            Ok(ToolProbeResult::Unknown { known: told }) => assert!(told.contains(known), "{told}"),
            other => panic!("{other:?}"),
        }
    }
    house.fixture.close().await;
}
