//! Stops, failures and other ends.

use super::{get, history, make, named, start, stop};
use crate::agent::house::{House, config, folder, house, thinking, until};
use crate::fixture::code;
use hob_sim::{Answer, Gate};
use hob_wire::ErrorCode;
use hob_wire::rooms::loops::{LoopEnd, LoopPhase, Start};
use hob_wire::work::RunEndCause;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Far beyond a second, because test machines are noisy; far below what is stopped.
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_stop_ends_a_prompt_and_a_second_start_is_a_conflict() {
    let folder = folder();
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let sim = thinking(move |_| Answer::words("well").held(&held));
    let house = house(folder.path(), &sim);
    make(&house, "stop", json!({ "user": "Go." })).await;
    start(&house, "stop").await;
    until(|| gate.waiting() == 1).await;
    let second = house.caller().call::<Start>(&named("stop")).await;
    assert_eq!(code(second), ErrorCode::Conflict);
    let begun = Instant::now();
    let stopped = stop(&house, "stop").await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(stopped.state.stopped, Some(LoopEnd::Stopped));
    assert!(!stopped.state.running);
    until(|| sim.open_streams() == 0).await;
    let seen = history(&house, "stop").await;
    assert_eq!((seen.len(), seen[0].cause), (1, Some(RunEndCause::Aborted)));
    assert_eq!(seen[0].success, Some(false));
    assert!(
        house.heard("loop.error").is_empty(),
        "a person who stops it knows"
    );
    assert_eq!(
        stop(&house, "stop").await.state.stopped,
        Some(LoopEnd::Stopped)
    );
    gate.open();
    start(&house, "stop").await;
    house.hears("loop.response", 1).await;
    stop(&house, "stop").await;
    assert_eq!(history(&house, "stop").await[1].iteration, 2);
    house.close().await;
}

#[tokio::test]
async fn a_stop_ends_a_monitor_and_a_sleep() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let place = tempfile::tempdir().expect("a folder");
    let hanging = json!({ "command": "touch began; sleep 600" });
    let settings = json!({ "user": "Go.", "monitor": hanging, "workspace": place.path() });
    make(&house, "hang", settings).await;
    start(&house, "hang").await;
    until(|| place.path().join("began").exists()).await;
    assert_eq!(get(&house, "hang").await.state.phase, LoopPhase::Monitor);
    let begun = Instant::now();
    let stopped = stop(&house, "hang").await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(stopped.state.stopped, Some(LoopEnd::Stopped));
    assert_eq!(sim.asked_count(), 0);
    let seen = history(&house, "hang").await;
    assert_eq!((seen.len(), seen[0].run_id), (1, None));
    make(
        &house,
        "sleep",
        json!({ "user": "Go.", "intervalMs": 600_000 }),
    )
    .await;
    start(&house, "sleep").await;
    house.hears("loop.response", 1).await;
    let begun = Instant::now();
    let stopped = stop(&house, "sleep").await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(stopped.state.stopped, Some(LoopEnd::Stopped));
    house.close().await;
}

#[tokio::test]
async fn failures_are_told_and_end_it_when_there_are_too_many() {
    let folder = folder();
    let sim = thinking(|_| Answer::status(400));
    let house = house(folder.path(), &sim);
    let settings =
        json!({ "user": "Go.", "intervalMs": 1000, "backoff": { "maxMs": 1000, "errorsMax": 2 } });
    make(&house, "fail", settings).await;
    start(&house, "fail").await;
    let stopped = house.hears("loop.stopped", 1).await;
    assert_eq!(stopped[0]["end"], "errors");
    let errors = house.heard("loop.error");
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[1]["iteration"], 2);
    let failed = get(&house, "fail").await;
    assert_eq!(
        (failed.state.errors, failed.state.stopped),
        (2, Some(LoopEnd::Errors))
    );
    assert!(failed.state.last_error.is_some());
    house.close().await;
}

#[tokio::test]
async fn without_a_model_an_iteration_fails_and_the_loop_waits_longer() {
    let folder = folder();
    let house = House::open(folder.path(), "");
    make(&house, "poor", json!({ "user": "Go.", "intervalMs": 1000 })).await;
    start(&house, "poor").await;
    house.hears("loop.error", 1).await;
    until(|| house.heard("loop.state").len() >= 2).await;
    let state = &house.heard("loop.state")[1];
    assert_eq!(
        (&state["errors"], &state["phase"]),
        (&json!(1), &json!("sleep"))
    );
    stop(&house, "poor").await;
    house.close().await;
}

#[tokio::test]
async fn money_ends_a_loop() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well").usage(1_000, 1_000));
    let text = config(&sim, "");
    let house = House::open(folder.path(), &text);
    let settings = json!({ "user": "Go.", "intervalMs": 1000, "totalMicroDollars": 3000 });
    make(&house, "money", settings).await;
    start(&house, "money").await;
    let stopped = house.hears("loop.stopped", 1).await;
    assert_eq!(stopped[0]["end"], "money", "{stopped:?}");
    let done = get(&house, "money").await;
    assert_eq!(done.state.cost.micro_dollars, Some(3_000));
    house.close().await;
}
