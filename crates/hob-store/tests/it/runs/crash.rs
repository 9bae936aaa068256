//! What a kill leaves: every acknowledged write whole, nothing of the others.

use super::rig::{last_payload, reserve, run, settle, step};
use crate::support::{Home, count};
use hob_store::{LedgerEntry, NewMessage, SpendingCeilings, StoreError};
use hob_wire::rooms::agent::RunState;
use hob_wire::{MessageContent, Role};
use serde_json::json;

/// After each acknowledged write the files are taken as a kill would leave them, and a new store
/// goes on from there.
#[tokio::test]
async fn a_run_goes_on_from_whatever_write_was_the_last() {
    let home = Home::new();
    let store = home.open();
    let accepted = store.accept(run("s", "task")).await;
    let mut remains = vec![home.remains()];
    let ends = 5;
    for place in 0..ends {
        let state = if place + 1 == ends {
            RunState::Done
        } else {
            RunState::Running
        };
        let mut write = step(&accepted, place, state);
        write.messages = vec![NewMessage::new(
            Role::Assistant,
            MessageContent::Text(format!("message {place}")),
        )];
        let key = |place: u64| format!("{}/{place}", accepted.id);
        if place > 0 {
            write.ledger = vec![settle(&key(place - 1), Some(1))];
        }
        if place + 1 < ends {
            write.reserve = Some(reserve(&key(place), Some(10), SpendingCeilings::default()));
        }
        write.events = vec![("run.tool", json!({ "place": place }))];
        store.write_step(write).await.unwrap();
        remains.push(home.remains());
    }
    store.close().await;

    for (written, home) in (0..).zip(remains) {
        let verdict = crate::support::verify(&home.database());
        assert!(verdict.problems.is_empty(), "{:?}", verdict.problems);
        let store = home.open();
        let run = store.run(&accepted.id).await.unwrap();
        assert_eq!(run.journal_len, written);
        assert_eq!(store.journal(&run.id).await.unwrap().len() as u64, written);
        assert_eq!(store.messages("s").await.len() as u64, written);
        let unfinished = store.unfinished_runs().await.unwrap();
        assert_eq!(unfinished.is_empty(), written == ends);
        if written > 0 {
            let events = store.replay(0, 100).await;
            assert_eq!(last_payload(&events, "run.tool")["place"], written - 1);
        }
        // The one under way still counts as reserved, the others as settled.
        let settled = i64::try_from(written.saturating_sub(1)).unwrap();
        let counted = if (1..ends).contains(&written) {
            settled + 10
        } else {
            settled
        };
        let sum = "SELECT ifnull(sum(micro_dollars), 0) FROM spending";
        assert_eq!(count(&home.database(), sum), counted);
        if written < ends {
            let next = step(&run, written, RunState::Running);
            store.write_step(next).await.unwrap();
        }
        store.close().await;
    }
}

#[tokio::test]
async fn a_handle_that_goes_away_leaves_what_it_queued() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "task")).await;
    let queued: Vec<_> = (0..20)
        .map(|place| store.write_step(step(&run, place, RunState::Running)))
        .collect();
    let mut written = 0;
    for write in queued {
        written += u64::from(write.await.is_ok());
    }
    drop(store);
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    // The writer ends by itself; until then the new start fences it.
    let store = loop {
        match home.try_open(true) {
            Ok(store) => break store,
            Err(error) => assert!(std::time::Instant::now() < deadline, "{error}"),
        }
    };
    assert_eq!(store.journal(&run.id).await.unwrap().len() as u64, written);
    assert_eq!(written, 20);
    store.close().await;
}

#[tokio::test]
async fn a_former_daemon_cannot_write_to_a_run() {
    let home = Home::new();
    let former = home.open();
    let run = former.accept(run("s", "task")).await;
    let store = home.open();
    let late = former.write_step(step(&run, 0, RunState::Running)).await;
    let late = late.unwrap_err();
    assert!(matches!(late, StoreError::Fenced { .. }), "{late:?}");
    store
        .write_step(step(&run, 0, RunState::Running))
        .await
        .unwrap();
    former.close().await;
    store.close().await;
}

#[tokio::test]
async fn a_loose_call_of_a_killed_daemon_stays_at_its_reserve_as_unknown() {
    let home = Home::new();
    let store = home.open();
    let entry = LedgerEntry {
        reserve: Some(reserve("chat", Some(10), SpendingCeilings::default())),
        ..LedgerEntry::default()
    };
    store.add_ledger(entry).await.unwrap();
    let accepted = store.accept(run("s", "task")).await;
    let mut begin = step(&accepted, 0, RunState::Running);
    begin.reserve = Some(reserve("of a run", Some(10), SpendingCeilings::default()));
    store.write_step(begin).await.unwrap();
    let remains = home.remains();
    store.close().await;
    let store = remains.open();
    let states = |state: &str| {
        let select = format!("SELECT count(*) FROM ledger WHERE state = '{state}'");
        count(&remains.database(), &select)
    };
    assert_eq!((states("unknown"), states("reserved")), (1, 1));
    assert_eq!(
        store.run_stats().await.unwrap().cost.micro_dollars,
        Some(20)
    );
    store.close().await;
}
