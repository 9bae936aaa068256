//! Accepting: durable, once per key, bounded per session.

use super::rig::{keyed, run, step};
use crate::support::{Home, together};
use hob_store::{NewRun, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{QueueMode, RunState};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

#[tokio::test]
async fn an_accepted_run_is_there_after_a_restart_with_its_session() {
    let home = Home::new();
    let store = home.open();
    let made = NewRun {
        kind: Some("cron".to_owned()),
        ..run("new", "sweep the floor")
    };
    let params = made.params.clone();
    let accepted = store.accept(made).await;
    assert_eq!(accepted.session_key, "new");
    assert_eq!(accepted.summary.state, RunState::Queued);
    let remains = home.remains();
    store.close().await;

    let store = remains.open();
    assert_eq!(store.run(&accepted.id).await.unwrap(), accepted);
    assert_eq!(store.run_params(&accepted.id).await.unwrap(), params);
    assert_eq!(
        store.unfinished_runs().await.unwrap(),
        std::slice::from_ref(&accepted)
    );
    assert!(store.journal(&accepted.id).await.unwrap().is_empty());
    let session = store.get_session(&SessionRef::parse("new")).await.unwrap();
    assert_eq!((session.kind.as_str(), session.messages), ("cron", 0));
    let topics: Vec<_> = store.replay(0, 10).await;
    let topics: Vec<_> = topics.iter().map(|event| &*event.topic).collect();
    assert_eq!(topics, ["session.created", "run.queued"]);
    store.close().await;
}

#[tokio::test]
async fn one_key_is_one_run() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(keyed("s", "once", "k")).await;
    let mut again = keyed("s", "once", "k");
    again.params =
        json!({ "task": "once", "sessionKey": "s", "wait": true, "idempotencyKey": "k" });
    let again = store.accept_run(again).await.unwrap();
    assert!(
        again.duplicate,
        "another order and another way to be answered"
    );
    assert_eq!(again.run, first);

    let other = store.accept_run(keyed("s", "twice", "k")).await;
    let other = other.unwrap_err();
    assert!(matches!(other, StoreError::Conflict(_)), "{other:?}");
    let mut model = keyed("s", "once", "k");
    model.params["model"] = json!("other/model");
    let model = store.accept_run(model).await.unwrap_err();
    assert!(matches!(model, StoreError::Conflict(_)), "{model:?}");
    store.accept(keyed("t", "once", "k")).await;
    store.close().await;

    let store = home.open();
    let later = store.accept_run(keyed("s", "once", "k")).await.unwrap();
    assert_eq!((later.duplicate, later.run.id), (true, first.id));
    assert_eq!(store.run_stats().await.unwrap().runs, 2);
    store.close().await;
}

#[tokio::test]
async fn many_at_once_with_one_key_or_one_id_are_one_run() {
    let home = Home::new();
    let store = home.open();
    let handle = (*store).clone();
    let same = run("t", "once");
    let accepted = together(100, |number| {
        let store = handle.clone();
        let by_key = number % 2 == 0;
        let run = if by_key {
            keyed("s", "once", "k")
        } else {
            same.clone()
        };
        async move { store.accept_run(run).await.unwrap() }
    })
    .await;
    let fresh = accepted.iter().filter(|accepted| !accepted.duplicate);
    assert_eq!(fresh.count(), 2);
    assert_eq!(store.unfinished_runs().await.unwrap().len(), 2);
    store.close().await;
}

#[tokio::test]
async fn the_queue_of_a_session_is_bounded_and_sessions_are_independent() {
    let home = Home::new();
    let store = home.open();
    let waiting = |task: &str| NewRun {
        queue_max: 2,
        ..run("s", task)
    };
    let first = store.accept(waiting("1")).await;
    store.accept(waiting("2")).await;
    store.accept(waiting("3")).await;
    let full = store.accept_run(waiting("4")).await.unwrap_err();
    assert!(matches!(full, StoreError::Overloaded(_)), "{full:?}");
    let wire = WireError::from(full);
    assert_eq!(
        (wire.code, wire.retryable),
        (ErrorCode::Overloaded, Some(true))
    );
    store.accept(run("other", "free")).await;

    store
        .write_step(step(&first, 0, RunState::Done))
        .await
        .unwrap();
    store.accept(waiting("4")).await;
    let mut none = run("lone", "1");
    none.queue_max = 0;
    store.accept(none).await;
    let mut second = run("lone", "2");
    second.queue_max = 0;
    let refused = store.accept_run(second).await.unwrap_err();
    assert!(matches!(refused, StoreError::Overloaded(_)), "{refused:?}");
    store.close().await;
}

#[tokio::test]
async fn reject_means_conflict_while_a_run_lives() {
    let home = Home::new();
    let store = home.open();
    let rejecting = |task: &str| NewRun {
        mode: QueueMode::Reject,
        ..run("s", task)
    };
    let first = store.accept(rejecting("1")).await;
    let refused = store.accept_run(rejecting("2")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict(_)), "{refused:?}");
    store
        .write_step(step(&first, 0, RunState::Done))
        .await
        .unwrap();
    store.accept(rejecting("3")).await;
    store.close().await;
}

#[tokio::test]
async fn a_fork_works_on_a_session_of_its_own() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    store.send("s", "one").await;
    store.send("s", "two").await;
    let parent = store.get_session(&SessionRef::parse("s")).await.unwrap();
    let forked = || NewRun {
        fork: true,
        mode: QueueMode::Reject,
        ..keyed("s", "what if", "k")
    };
    let run = store.accept(forked()).await;
    assert_ne!(run.session_id, parent.id);
    let child = SessionRef::parse(&run.session_key);
    let child = store.get_session(&child).await.unwrap();
    assert_eq!(child.parent, Some(parent.id));
    assert_eq!(child.metadata["forkedAt"], 2);
    let again = store.accept_run(forked()).await.unwrap();
    assert_eq!((again.duplicate, again.run.id), (true, run.id));
    assert_eq!(store.session_count().await.unwrap(), 2);
    store.close().await;
}

#[tokio::test]
async fn what_is_out_of_bounds_is_refused_and_makes_nothing() {
    let home = Home::new();
    let store = home.open();
    let mut long = run("s", "x");
    long.task = "x".repeat(4 * 1024 * 1024 + 1);
    let mut heavy = run("s", "x");
    heavy.params = json!({ "images": "x".repeat(8 * 1024 * 1024) });
    let mut kind = run("s", "x");
    kind.kind = Some("Main".to_owned());
    for wrong in [run("", "x"), keyed("s", "x", ""), long, heavy, kind] {
        let error = store.accept_run(wrong).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    }
    assert_eq!(store.session_count().await.unwrap(), 0);
    assert_eq!(home.blobs(), 0);
    store.close().await;
}
