//! Steps: wholly or not at all, in order, one run of a session at a time.

use super::rig::{in_state, run, step};
use crate::support::{Home, Open};
use hob_store::{NewMessage, StepWrite, StoreError};
use hob_wire::rooms::agent::{Cost, RunState};
use hob_wire::work::RunEndCause;
use hob_wire::{MessageContent, Role};
use serde_json::json;

fn message(role: Role, text: &str) -> NewMessage {
    NewMessage::new(role, MessageContent::from(text))
}

#[tokio::test]
async fn a_step_is_journal_messages_row_and_events_together() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "hello")).await;
    let mut begin = step(&run, 0, RunState::Running);
    begin.messages = vec![message(Role::User, "hello")];
    let written = store.write_step(begin).await.unwrap();
    assert_eq!(written.messages.len(), 1);
    assert_eq!(written.messages[0].seq, 1);

    let mut done = step(&run, 1, RunState::Done);
    done.journal.push(json!({ "event": "more" }));
    done.messages = vec![
        message(Role::Assistant, "a thought"),
        message(Role::Assistant, "the answer"),
    ];
    done.summary.notes = vec!["two turns were left out".to_owned()];
    done.summary.resumed = 2;
    done.summary.cost = Cost {
        micro_dollars: Some(7),
        input_tokens: 1,
        output_tokens: 2,
        calls: 3,
    };
    let summary = done.summary.clone();
    let written = store.write_step(done).await.unwrap();
    assert_eq!(store.messages("s").await[1..], written.messages);

    for store in [store, home.remains().open()] {
        let kept = store.run(&run.id).await.unwrap();
        assert_eq!(kept.summary, summary);
        assert_eq!(kept.journal_len, 3);
        assert_eq!((kept.first_message, kept.last_message), (Some(1), Some(3)));
        let journal = store.journal(&run.id).await.unwrap();
        assert_eq!(journal[2], json!({ "event": "more" }));
        assert!(store.unfinished_runs().await.unwrap().is_empty());
        store.close().await;
    }
}

/// Every state a run can be in, and to which others it may go.
#[tokio::test]
async fn states_follow_each_other_as_they_may() {
    let live = [
        RunState::Running,
        RunState::Waiting,
        RunState::InDoubt,
        RunState::Paused,
    ];
    let home = Home::new();
    let store = home.open();
    let mut number = 0;
    let mut make = async |state: RunState| {
        number += 1;
        let run = store.accept(run(&format!("s{number}"), "x")).await;
        if state != RunState::Queued {
            store.write_step(step(&run, 0, state)).await.unwrap();
        }
        let len = u64::from(state != RunState::Queued);
        (run, len)
    };
    for from in live.into_iter().chain([RunState::Queued]) {
        for to in live.into_iter().chain([RunState::Done]) {
            let (run, len) = make(from).await;
            let done = store.write_step(step(&run, len, to)).await;
            assert!(done.is_ok(), "{from:?} to {to:?}: {done:?}");
        }
        let (run, len) = make(from).await;
        let back = store.write_step(step(&run, len, RunState::Queued)).await;
        assert_eq!(back.is_ok(), from == RunState::Queued, "{from:?}");
    }
    for to in live.into_iter().chain([RunState::Queued, RunState::Done]) {
        let (run, len) = make(RunState::Done).await;
        let after = store.write_step(step(&run, len, to)).await.unwrap_err();
        assert!(
            matches!(after, StoreError::Conflict(_)),
            "{to:?}: {after:?}"
        );
        assert!(after.to_string().contains("ended"), "{after}");
    }
    store.close().await;
}

#[tokio::test]
async fn an_end_needs_a_cause_and_only_an_end_has_one() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "x")).await;
    let mut causeless = step(&run, 0, RunState::Done);
    causeless.summary.cause = None;
    let mut endless = step(&run, 0, RunState::Done);
    endless.summary.ended_at = None;
    let mut early = step(&run, 0, RunState::Running);
    early.summary.cause = Some(RunEndCause::Aborted);
    for wrong in [causeless, endless, early] {
        let error = store.write_step(wrong).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    }
    store.close().await;
}

async fn state_of(store: &Open) -> (usize, u64, u64) {
    let runs = store.unfinished_runs().await.unwrap();
    let lens = runs.iter().map(|run| run.journal_len).sum();
    (
        store.messages("s").await.len(),
        lens,
        store.event_log().bounds().last,
    )
}

#[tokio::test]
async fn a_write_out_of_order_is_refused_whole() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "x")).await;
    store
        .write_step(step(&run, 0, RunState::Running))
        .await
        .unwrap();
    let before = state_of(&store).await;
    for at_index in [0, 2, 1_000] {
        let mut late = step(&run, at_index, RunState::Running);
        late.messages = vec![message(Role::Assistant, "no")];
        late.events = vec![("run.started", json!({}))];
        let error = store.write_step(late).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict(_)), "{error:?}");
    }
    let far = step(&run, 100_000, RunState::Running);
    let error = store.write_step(far).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    assert_eq!(state_of(&store).await, before);
    let nobody = StepWrite::new(
        hob_wire::RunId(uuid::Uuid::nil()),
        0,
        in_state(RunState::Running),
    );
    let error = store.write_step(nobody).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)), "{error:?}");
    store.close().await;
}

#[tokio::test]
async fn of_two_writers_at_one_place_one_wins() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "x")).await;
    for place in 0..20 {
        let (one, other) = tokio::join!(
            store.write_step(step(&run, place, RunState::Running)),
            store.write_step(step(&run, place, RunState::Waiting)),
        );
        assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
    }
    assert_eq!(store.journal(&run.id).await.unwrap().len(), 20);
    store.close().await;
}

#[tokio::test]
async fn a_session_has_one_run_under_way() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(run("s", "1")).await;
    let second = store.accept(run("s", "2")).await;
    store
        .write_step(step(&first, 0, RunState::Paused))
        .await
        .unwrap();
    let refused = store.write_step(step(&second, 0, RunState::Running)).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict(_)), "{refused:?}");
    assert!(refused.to_string().contains(&first.id.to_string()));
    // One that never began may still be stopped.
    let third = store.accept(run("s", "3")).await;
    store
        .write_step(step(&third, 0, RunState::Done))
        .await
        .unwrap();
    store
        .write_step(step(&first, 1, RunState::Done))
        .await
        .unwrap();
    store
        .write_step(step(&second, 0, RunState::Running))
        .await
        .unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_message_key_that_was_used_refuses_the_step() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "x")).await;
    let mut first = step(&run, 0, RunState::Running);
    first.messages = vec![NewMessage {
        idempotency_key: Some("steer".to_owned()),
        ..message(Role::User, "left")
    }];
    store.write_step(first.clone()).await.unwrap();
    let mut again = first.clone();
    again.at_index = 1;
    let refused = store.write_step(again).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict(_)), "{refused:?}");
    assert_eq!(store.run(&run.id).await.unwrap().journal_len, 1);
    store.close().await;
}
