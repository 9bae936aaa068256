//! Loops continue after a crash, and nothing happens twice.

use super::{get, history, make, start, stop};
use crate::agent::house::{House, config, folder, house, results, thinking, until};
use crate::agent::resume::copy;
use hob_sim::{Answer, Gate};
use hob_wire::rooms::loops::LoopPhase;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test]
async fn an_iteration_that_was_cut_off_goes_on_with_its_number() {
    let folder = folder();
    let gate = Arc::new(Gate::new());
    let (held, closed) = (Arc::clone(&gate), Arc::new(AtomicBool::new(false)));
    let is_closed = Arc::clone(&closed);
    let sim = thinking(move |_| {
        if is_closed.load(Ordering::Relaxed) {
            Answer::words("well").held(&held)
        } else {
            Answer::words("well")
        }
    });
    let first = house(folder.path(), &sim);
    make(
        &first,
        "cut",
        json!({ "user": "Go.", "intervalMs": 1000, "maxIterations": 3 }),
    )
    .await;
    closed.store(true, Ordering::Relaxed);
    start(&first, "cut").await;
    until(|| gate.waiting() == 1).await;
    let left = copy(folder.path());
    gate.open();
    closed.store(false, Ordering::Relaxed);
    first.crash().await;
    let second = House::open(left.path(), &config(&sim, ""));
    second.hears("loop.stopped", 1).await;
    let seen = history(&second, "cut").await;
    let numbers: Vec<_> = seen.iter().map(|it| (it.iteration, it.success)).collect();
    assert_eq!(numbers, [(1, Some(true)), (2, Some(true)), (3, Some(true))]);
    assert_eq!(get(&second, "cut").await.state.since_start, 3);
    assert_eq!(
        second.heard("loop.iteration").len(),
        2,
        "the first was on record"
    );
    second.close().await;
}

#[tokio::test]
async fn one_that_slept_sleeps_on_and_one_in_its_monitor_runs_it_again() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let place = tempfile::tempdir().expect("a folder");
    let first = house(folder.path(), &sim);
    make(
        &first,
        "sleep",
        json!({ "user": "Go.", "intervalMs": 600_000 }),
    )
    .await;
    start(&first, "sleep").await;
    first.hears("loop.response", 1).await;
    let monitor = json!({ "command": "echo x >> began; test -e free || sleep 600" });
    let settings =
        json!({ "user": "Go.", "monitor": monitor, "workspace": place.path(), "maxIterations": 1 });
    make(&first, "watch", settings).await;
    start(&first, "watch").await;
    until(|| place.path().join("began").exists()).await;
    let asleep = get(&first, "sleep").await.state;
    first.crash().await;
    std::fs::write(place.path().join("free"), "").expect("writes");
    let second = House::open(folder.path(), &config(&sim, ""));
    second.hears("loop.stopped", 1).await;
    let seen = history(&second, "watch").await;
    assert_eq!((seen.len(), seen[0].success), (1, Some(true)));
    let still = get(&second, "sleep").await.state;
    assert_eq!((still.phase, still.iteration), (LoopPhase::Sleep, 1));
    let apart = still
        .next_at
        .expect("sleeps")
        .abs_diff(asleep.next_at.expect("slept"));
    assert!(apart < 60_000, "{apart}");
    stop(&second, "sleep").await;
    second.close().await;
}

#[tokio::test]
async fn one_that_was_cut_off_in_a_command_is_given_up_and_the_next_begins() {
    let folder = folder();
    let place = tempfile::tempdir().expect("a folder");
    let sim = thinking(|asked| {
        let is_first = asked
            .messages
            .iter()
            .any(|said| said.text.ends_with("Iteration: 1"));
        if is_first && results(asked) == 0 {
            Answer::asks("exec", json!({ "command": "touch began; sleep 600" }))
        } else {
            Answer::words("well")
        }
    });
    let first = house(folder.path(), &sim);
    let settings = json!({
        "user": "Go.", "intervalMs": 1000, "maxIterations": 2, "workspace": place.path(),
        "backoff": { "maxMs": 1000, "errorsMax": 5 }, "grants": [{ "tool": "exec" }],
    });
    make(&first, "doubt", settings).await;
    start(&first, "doubt").await;
    until(|| place.path().join("began").exists()).await;
    let left = copy(folder.path());
    first.crash().await;
    let second = House::open(left.path(), &config(&sim, ""));
    second.hears("loop.stopped", 1).await;
    let seen = history(&second, "doubt").await;
    assert_eq!(seen.len(), 2);
    let told = seen[0].message.as_deref().unwrap_or_default();
    assert!(told.contains("if that call happened"), "{told}");
    assert_eq!(
        (seen[0].success, seen[1].success),
        (Some(false), Some(true))
    );
    second.close().await;
}
