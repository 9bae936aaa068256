//! The writer when commands, disk or connection fail under it.

use crate::error::StoreError;
use crate::events::PayloadSource;
use crate::page_limit;
use crate::store::{Store, StoreOptions};
use bytes::Bytes;
use hob_bus::{LoggedEvent, NewEvent, publisher};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_kit::tasks::TaskGroup;
use hob_wire::rooms::daemon::StoreState;
use hob_wire::rooms::session::{SessionCreateParams, SessionSendParams};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Rig {
    folder: tempfile::TempDir,
    published: Arc<Mutex<Vec<LoggedEvent>>>,
}

impl Rig {
    fn new() -> Self {
        Rig {
            folder: tempfile::tempdir().unwrap(),
            published: Arc::default(),
        }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("hob.db")
    }

    fn open(&self) -> Store {
        let (to_bus, mut inbox) = publisher();
        let published = Arc::clone(&self.published);
        TaskGroup::new().spawn("published", async move {
            while let Some(batch) = inbox.next().await {
                published.lock().unwrap().extend(batch);
            }
        });
        Store::open(StoreOptions {
            database: self.database(),
            clock: Clock::system(),
            randomness: Randomness::system(),
            publisher: to_bus,
            had_database: false,
        })
        .unwrap()
    }

    fn published(&self) -> Vec<u64> {
        let published = self.published.lock().unwrap();
        published.iter().map(|event| event.seq).collect()
    }
}

async fn wait_for(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !done() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn event(topic: &str) -> NewEvent {
    NewEvent {
        source: "test".into(),
        topic: topic.into(),
        session: None,
        payload: Some(Bytes::from_static(b"1")),
    }
}

fn text(content: String) -> SessionSendParams {
    SessionSendParams {
        session_key: "s".to_owned(),
        content: hob_wire::MessageContent::Text(content),
        role: None,
        idempotency_key: None,
    }
}

async fn session(store: &Store) {
    let named = SessionCreateParams {
        session_key: Some("s".to_owned()),
        ..SessionCreateParams::default()
    };
    store.create_session(named).await.unwrap();
}

#[tokio::test]
async fn a_command_that_panics_fails_alone() {
    let rig = Rig::new();
    let store = rig.open();
    let panicked: Result<u64, _> = store
        .write(0, |batch| {
            batch.log_event(event("half"), PayloadSource::Log)?;
            panic!("on purpose");
        })
        .await;
    assert!(
        matches!(panicked, Err(StoreError::Internal(_))),
        "{panicked:?}"
    );
    assert_eq!(store.append_event(event("whole")).await, Ok(1));
    assert_eq!(store.status().state, StoreState::Ready);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_after_writing_fails_alone() {
    let rig = Rig::new();
    let store = rig.open();
    let tasks = TaskGroup::new();
    for number in 0..100 {
        let store = store.clone();
        tasks.spawn("write", async move {
            let done = store
                .write(0, move |batch| {
                    batch.log_event(event("written"), PayloadSource::Log)?;
                    match number % 10 {
                        0 => Err(StoreError::Conflict("too late".to_owned()).into()),
                        _ => Ok(number),
                    }
                })
                .await;
            match number % 10 {
                0 => assert_eq!(done, Err(StoreError::Conflict("too late".to_owned()))),
                _ => assert_eq!(done, Ok(number)),
            }
        });
    }
    assert!(tasks.finish(Duration::from_mins(1)).await);
    assert_eq!(tasks.panics(), 0);
    wait_for("ninety events", || rig.published().len() == 90).await;
    assert_eq!(rig.published(), (1..=90).collect::<Vec<_>>());
    let page = store.event_log().page(0, 500).await.unwrap();
    assert_eq!(page.len(), 90, "and no row was left");
    store.close().await;
}

#[tokio::test]
async fn a_batch_whose_transaction_is_gone_fails_as_a_whole_and_the_store_goes_on() {
    let rig = Rig::new();
    let store = rig.open();
    let lost: Result<(), _> = store
        .write(0, |batch| {
            batch.log_event(event("lost"), PayloadSource::Log)?;
            batch.sql.execute_batch("ROLLBACK")?;
            Err(StoreError::Internal("the transaction is gone".to_owned()).into())
        })
        .await;
    assert!(lost.is_err());
    assert_eq!(store.append_event(event("next")).await, Ok(1));
    store.close().await;
}

#[tokio::test]
async fn what_was_committed_without_an_answer_is_published_after_all() {
    let rig = Rig::new();
    let store = rig.open();
    store.append_event(event("first")).await.unwrap();
    // A commit whose success never reached us, as when the disk fails at the wrong moment.
    let unknown: Result<(), _> = store
        .write(0, |batch| {
            batch.log_event(event("unknown"), PayloadSource::Log)?;
            batch.sql.execute_batch("COMMIT")?;
            Err(StoreError::Io("on purpose".to_owned()).into())
        })
        .await;
    assert!(matches!(unknown, Err(StoreError::Io(_))), "{unknown:?}");
    assert_eq!(store.append_event(event("third")).await, Ok(3));
    wait_for("three events", || rig.published().len() == 3).await;
    assert_eq!(rig.published(), [1, 2, 3]);
    assert_eq!(store.event_log().bounds().last, 3);
    store.close().await;
}

#[tokio::test]
async fn a_count_that_was_rolled_back_is_not_remembered() {
    let rig = Rig::new();
    let store = rig.open();
    session(&store).await;
    store.send_message(text("one".to_owned())).await.unwrap();
    // The send of this batch is undone together with it.
    let tasks = TaskGroup::new();
    let sender = store.clone();
    tasks.spawn("send", async move {
        let _ = sender.send_message(text("undone?".to_owned())).await;
    });
    let lost: Result<(), _> = store
        .write(0, |batch| {
            batch.sql.execute_batch("ROLLBACK")?;
            Err(StoreError::Io("on purpose".to_owned()).into())
        })
        .await;
    assert!(lost.is_err());
    assert!(tasks.finish(Duration::from_mins(1)).await);
    for _ in 0..3 {
        store.send_message(text("next".to_owned())).await.unwrap();
    }
    store.close().await;
    let verified = Store::verify(&rig.database(), &mut |_, _| {}).unwrap();
    assert!(verified.sound, "{verified:?}");
}

#[tokio::test]
async fn a_hand_in_the_database_costs_one_refusal() {
    let rig = Rig::new();
    let store = rig.open();
    session(&store).await;
    store.send_message(text("one".to_owned())).await.unwrap();
    // Somebody adds a message behind the store's back.
    store
        .write(0, |batch| {
            batch.sql.execute_batch(
                "INSERT INTO messages (session, seq, id, role, at, content)
                 VALUES (1, 2, zeroblob(16), 'user', 1, '\"theirs\"');
                 UPDATE sessions SET message_count = 2",
            )?;
            Ok(())
        })
        .await
        .unwrap();
    let refused = store.send_message(text("two".to_owned())).await;
    assert!(
        matches!(refused, Err(StoreError::Internal(_))),
        "{refused:?}"
    );
    let sent = store.send_message(text("three".to_owned())).await.unwrap();
    assert_eq!(sent.seq, 3);
    store.close().await;
}

#[tokio::test]
async fn a_full_disk_refuses_work_keeps_reading_and_recovers_by_itself() {
    let rig = Rig::new();
    let store = rig.open();
    session(&store).await;
    store.close().await;
    page_limit::set(&rig.database(), Some(60));
    let store = rig.open();
    let mut kept = 0;
    let error = loop {
        match store.send_message(text("x".repeat(10_000))).await {
            Ok(sent) => kept = sent.seq,
            Err(error) => break error,
        }
        assert!(kept < 1_000, "it never fills");
    };
    assert_eq!(error, StoreError::Full);
    assert_eq!(
        error.to_string(),
        "The disk is full; hob stopped accepting work. Free some space and it goes on by itself."
    );
    let status = store.status();
    assert_eq!(status.state, StoreState::Full);
    assert_eq!(status.message, Some(error.to_string()));
    // It stays refused, at once, and what was acknowledged can be read.
    let again = store.send_message(text("small".to_owned())).await;
    assert_eq!(again, Err(StoreError::Full));
    let found = store
        .get_session(&hob_wire::id::SessionRef::parse("s"))
        .await
        .unwrap();
    assert_eq!(found.messages, kept);

    page_limit::set(&rig.database(), None);
    wait_for("room", || store.status().state == StoreState::Ready).await;
    let sent = store.send_message(text("after".to_owned())).await.unwrap();
    assert_eq!(sent.seq, kept + 1, "nothing refused was kept");
    store.close().await;
    let verified = Store::verify(&rig.database(), &mut |_, _| {}).unwrap();
    assert!(verified.sound, "{verified:?}");
}

#[tokio::test]
async fn the_log_is_brought_into_the_database_when_it_is_quiet_and_written_over() {
    let rig = Rig::new();
    let store = rig.open();
    session(&store).await;
    store.send_message(text("x".to_owned())).await.unwrap();
    let length = || {
        let wal = crate::connection::sibling_path(&rig.database(), "-wal");
        wal.metadata().unwrap().len()
    };
    let before = length();
    // Without its log the database has only what was brought into it.
    let alone = rig.database().with_file_name("alone.db");
    let is_there = || {
        std::fs::copy(rig.database(), &alone).unwrap();
        let sql = crate::connection::open_reader(&alone).unwrap();
        let messages = sql.query_row("SELECT count(*) FROM messages", [], |row| row.get(0));
        messages == Ok(1)
    };
    assert!(before > 0 && !is_there());
    wait_for("the message in the database", is_there).await;
    store.send_message(text("y".to_owned())).await.unwrap();
    assert_eq!(length(), before, "its place is written over");
    store.close().await;
}
