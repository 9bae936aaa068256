//! Group commit: order, one bad row alone, many at once, fencing.

use crate::support::{Home, keyed, named, text_to, together};
use hob_kit::tasks::TaskGroup;
use hob_store::StoreError;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const AT_ONCE: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_sends_with_one_key_are_one_message() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let handle = (*store).clone();
    let sent = together(AT_ONCE, |_| {
        let store = handle.clone();
        async move { store.send_message(keyed("s", "once", "k")).await.unwrap() }
    })
    .await;
    assert!(sent.iter().all(|one| *one == sent[0]));
    assert_eq!(sent.len(), AT_ONCE);
    assert_eq!(store.messages("s").await.len(), 1);
    assert_eq!(store.published_at_least(2).await.len(), 2);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_commands_fail_alone_and_leave_no_gap() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let handle = (*store).clone();
    let results = together(AT_ONCE, |number| {
        let store = handle.clone();
        async move {
            let session = if number % 4 == 0 { "missing" } else { "s" };
            store
                .send_message(text_to(session, &number.to_string()))
                .await
        }
    })
    .await;
    let failed = results.iter().filter(|result| result.is_err()).count();
    assert_eq!(failed, AT_ONCE / 4);
    let messages = store.messages("s").await;
    let seqs = messages.iter().map(|m| m.seq).collect::<Vec<_>>();
    assert_eq!(seqs, (1..=75).collect::<Vec<_>>());
    let events = store.published_at_least(76).await;
    let numbers = events.iter().map(|event| event.seq).collect::<Vec<_>>();
    assert_eq!(numbers, (1..=76).collect::<Vec<_>>());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_published_in_the_order_of_the_log() {
    let home = Home::new();
    let store = home.open();
    for session in 0..10 {
        store.create(&format!("s{session}")).await;
    }
    let handle = (*store).clone();
    let answered = together(AT_ONCE, |number| {
        let store = handle.clone();
        async move {
            let mut seqs = Vec::new();
            for turn in 0..5 {
                let key = format!("s{}", number % 10);
                let text = format!("{number}/{turn}");
                seqs.push(store.send_message(text_to(&key, &text)).await.unwrap().seq);
            }
            seqs
        }
    })
    .await;
    assert!(answered.iter().all(|seqs| seqs.is_sorted()));
    let published = store.published_at_least(510).await;
    assert!(published.is_sorted_by(|one, next| one.seq + 1 == next.seq));
    assert_eq!(
        store.replay(0, 100).await,
        published,
        "the log says the same"
    );
    for session in 0..10 {
        let messages = store.messages(&format!("s{session}")).await;
        let ids = messages.iter().map(|m| m.id).collect::<BTreeSet<_>>();
        assert_eq!(ids.len(), 50);
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_one_key_many_times_makes_one_session() {
    let home = Home::new();
    let store = home.open();
    let handle = (*store).clone();
    let made = together(AT_ONCE, |_| {
        let store = handle.clone();
        async move { store.create_session(named("chat:main")).await.unwrap() }
    })
    .await;
    assert_eq!(made.iter().filter(|one| one.created).count(), 1);
    assert_eq!(store.session_count().await.unwrap(), 1);
    store.close().await;
}

#[tokio::test]
async fn a_second_start_fences_the_first() {
    let home = Home::new();
    let first = home.open();
    first.create("s").await;
    let second = home.open();
    assert_eq!(second.epoch(), first.epoch() + 1);
    let late = first.send_message(text_to("s", "late")).await.unwrap_err();
    assert_eq!(
        late,
        StoreError::Fenced {
            ours: first.epoch(),
            theirs: second.epoch()
        }
    );
    let again = first.send_message(text_to("s", "later")).await.unwrap_err();
    assert!(matches!(again, StoreError::Fenced { .. }), "{again:?}");
    assert!(first.messages("s").await.is_empty(), "it still reads");
    second.send("s", "mine").await;
    assert_eq!(second.messages("s").await.len(), 1);
    first.close().await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_commits_what_is_queued() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let handle = (*store).clone();
    let tasks = TaskGroup::new();
    let acked = Arc::new(Mutex::new(0_usize));
    for number in 0..AT_ONCE {
        let (store, acked) = (handle.clone(), Arc::clone(&acked));
        tasks.spawn("send", async move {
            let sent = store.send_message(text_to("s", &number.to_string())).await;
            match sent {
                Ok(_) => *acked.lock().unwrap() += 1,
                Err(error) => assert_eq!(error, StoreError::Closed),
            }
        });
    }
    store.close().await;
    assert!(tasks.finish(Duration::from_mins(1)).await);
    assert_eq!(tasks.panics(), 0);
    let acked = *acked.lock().unwrap();
    let store = home.open();
    assert_eq!(store.messages("s").await.len(), acked);
    store.close().await;
}
