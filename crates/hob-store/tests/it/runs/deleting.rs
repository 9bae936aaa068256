//! A session's runs go with it, unless one has not ended; the ledger stays.

use super::rig::{reserve, run, settle, step};
use crate::support::{Home, count, wait_for};
use hob_store::{SpendingCeilings, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{AgentListParams, RunState};
use serde_json::json;

#[tokio::test]
async fn a_session_with_a_live_run_stays() {
    let home = Home::new();
    let store = home.open();
    let session = SessionRef::parse("s");
    let run = store.accept(run("s", "x")).await;
    for state in [RunState::Queued, RunState::Running] {
        let index = store.run(&run.id).await.unwrap().journal_len;
        store.write_step(step(&run, index, state)).await.unwrap();
        let refused = store.delete_session(&session).await.unwrap_err();
        assert!(matches!(refused, StoreError::Conflict(_)), "{refused:?}");
        assert!(refused.to_string().contains("Stop the run"), "{refused}");
    }
    store
        .write_step(step(&run, 2, RunState::Done))
        .await
        .unwrap();
    store.delete_session(&session).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn runs_go_with_their_session_and_the_ledger_stays() {
    let home = Home::new();
    let store = home.open();
    let accepted = store.accept(run("s", "x")).await;
    let mut begin = step(&accepted, 0, RunState::Running);
    begin.reserve = Some(reserve("k", Some(10), SpendingCeilings::default()));
    // More than one step of the removal, and a value that is a file.
    begin.journal = (0..600).map(|n| json!({ "n": n })).collect();
    begin.journal.push(json!("x".repeat(100_000)));
    store.write_step(begin).await.unwrap();
    let mut end = step(&accepted, 601, RunState::Done);
    end.ledger = vec![settle("k", Some(7))];
    store.write_step(end).await.unwrap();
    for number in 0..5 {
        store.whole_run("s", &number.to_string()).await;
    }
    let kept = store.whole_run("t", "kept").await;
    assert_eq!(home.blobs(), 1);

    store.delete_session(&SessionRef::parse("s")).await.unwrap();
    let gone = store.run(&accepted.id).await.unwrap_err();
    assert!(matches!(gone, StoreError::NotFound(_)), "{gone:?}");
    let late = store
        .write_step(step(&accepted, 602, RunState::Running))
        .await;
    assert!(matches!(late, Err(StoreError::NotFound(_))), "{late:?}");
    let listed = store.list_runs(AgentListParams::default()).await.unwrap();
    assert_eq!(listed.runs, [kept]);
    let stats = store.run_stats().await.unwrap();
    assert_eq!((stats.runs, stats.cost.micro_dollars), (7, Some(7)));
    wait_for("the sweep", || {
        let rows = "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM run_tasks)
                    + (SELECT count(*) FROM journal) + (SELECT count(*) FROM deletions)";
        count(&home.database(), rows) == 4 && home.blobs() == 0
    })
    .await;
    // The key is free for a session that has nothing of the former one.
    store.whole_run("s", "anew").await;
    let stats = store.run_stats().await.unwrap();
    assert_eq!(stats.cost.micro_dollars, Some(7));
    store.close().await;
    assert!(crate::support::verify(&home.database()).problems.is_empty());
}
