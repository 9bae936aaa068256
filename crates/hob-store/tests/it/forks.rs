//! Forks of sessions: whole copies or none, at any length.

use crate::support::{Home, Open, alter, count, keyed, named, text_to, verify};
use hob_store::StoreError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{SessionForkParams, SessionForkResult};
use hob_wire::{Message, MessageContent};

fn fork_of(key: &str, new_key: &str) -> SessionForkParams {
    SessionForkParams {
        session_key: key.to_owned(),
        new_key: Some(new_key.to_owned()),
        ..SessionForkParams::default()
    }
}

async fn fork(store: &Open, params: SessionForkParams) -> Result<SessionForkResult, StoreError> {
    store.fork_session(params, None).await
}

/// A home with this many messages in `a`.
async fn filled(messages: u64) -> (Home, Open) {
    let home = Home::new();
    let store = home.open();
    store.create("a").await;
    for number in 1..=messages {
        store.send("a", &format!("m{number}")).await;
    }
    (home, store)
}

fn contents(messages: &[Message]) -> Vec<(u64, u64, &MessageContent)> {
    let parts = messages.iter();
    parts.map(|it| (it.seq, it.at, &it.content)).collect()
}

#[tokio::test]
async fn a_fork_has_the_messages_up_to_one_and_goes_on_by_itself() {
    let (home, store) = filled(5).await;
    let at_three = SessionForkParams {
        at: Some(3),
        ..fork_of("a", "b")
    };
    let made = fork(&store, at_three).await.unwrap();
    let source = store.get_session(&SessionRef::parse("a")).await.unwrap();
    assert!(made.created);
    assert_eq!((made.copied, made.session.messages), (3, 3));
    assert_eq!(made.session.parent, Some(source.id));
    assert_eq!(made.session.label.as_deref(), Some("m1 (fork)"));
    let (old, new) = (store.messages("a").await, store.messages("b").await);
    assert_eq!(contents(&new), contents(&old[..3]));
    assert!(
        new.iter()
            .all(|it| old.iter().all(|other| it.id != other.id))
    );
    assert_eq!(store.send("b", "another way").await, 4);
    assert_eq!(store.send("a", "m6").await, 6);
    store.delete_session(&SessionRef::parse("a")).await.unwrap();
    assert_eq!(store.messages("b").await.len(), 4);
    store.close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
    let again = home.open();
    assert_eq!(again.messages("b").await.len(), 4);
    again.close().await;
}

#[tokio::test]
async fn a_long_session_is_copied_in_steps_and_becomes_visible_at_once() {
    // More rows than three steps, and a message that is a step of its own.
    let (home, store) = filled(700).await;
    store.send("a", &"x".repeat(2 * 1024 * 1024)).await;
    store.send("a", "end").await;
    let before = store.published_at_least(703).await.len();
    let made = fork(&store, fork_of("a", "b")).await.unwrap();
    assert_eq!(made.copied, 702);
    let events = store.published_at_least(before + 1).await;
    let topics: Vec<&str> = events[before..].iter().map(|it| &*it.topic).collect();
    assert_eq!(topics, ["session.created"]);
    let (old, new) = (store.messages("a").await, store.messages("b").await);
    assert_eq!(contents(&new), contents(&old));
    store.close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
    assert_eq!(count(&home.database(), "SELECT count(*) FROM deletions"), 0);
}

#[tokio::test]
async fn a_key_is_one_fork() {
    let (_home, store) = filled(4).await;
    let first = fork(&store, fork_of("a", "b")).await.unwrap();
    store.send("a", "m5").await;
    for at in [None, Some(4)] {
        let params = SessionForkParams {
            at,
            ..fork_of("a", "b")
        };
        let again = fork(&store, params).await.unwrap();
        assert!(!again.created);
        assert_eq!(again.session.id, first.session.id);
        assert_eq!((again.copied, again.session.messages), (4, 4));
    }
    store.create("taken").await;
    for (source, key, at) in [("a", "b", Some(2)), ("a", "taken", None), ("a", "a", None)] {
        let params = SessionForkParams {
            at,
            ..fork_of(source, key)
        };
        let refused = fork(&store, params).await.unwrap_err();
        assert!(matches!(refused, StoreError::Conflict(_)), "{refused:?}");
    }
    // Without a key each request is a fork of its own.
    let bare = SessionForkParams {
        session_key: "a".to_owned(),
        ..SessionForkParams::default()
    };
    let (one, two) = (fork(&store, bare.clone()).await, fork(&store, bare).await);
    assert_ne!(one.unwrap().session.id, two.unwrap().session.id);
    store.close().await;
}

#[tokio::test]
async fn many_requests_with_one_key_at_once_make_one_fork() {
    let (home, store) = filled(600).await;
    let forks = (0..8).map(|_| store.fork_session(fork_of("a", "b"), None));
    let forks: Vec<SessionForkResult> = futures_of(forks).await;
    assert_eq!(forks.iter().filter(|it| it.created).count(), 1);
    assert!(forks.iter().all(|it| it.session.id == forks[0].session.id));
    assert_eq!(store.messages("b").await.len(), 600);
    store.close().await;
    // The other copies are swept by now, or by the next start.
    home.open().close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
}

async fn futures_of(
    forks: impl Iterator<Item = impl Future<Output = Result<SessionForkResult, StoreError>>>,
) -> Vec<SessionForkResult> {
    let mut waiting: Vec<_> = forks.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|fork| match fork.as_mut().poll(context) {
            std::task::Poll::Ready(made) => {
                done.push(made.unwrap());
                false
            }
            std::task::Poll::Pending => true,
        });
        if waiting.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_leaves_nothing() {
    let (home, store) = filled(2).await;
    let too_far = SessionForkParams {
        at: Some(3),
        ..fork_of("a", "b")
    };
    let refused = fork(&store, too_far).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("the session 'a' has 2 messages"),
        "{refused}"
    );
    let missing = fork(&store, fork_of("none", "b")).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound(_)));
    let id_like = fork_of("a", "0190c0de-0000-7000-8000-000000000000");
    let refused = fork(&store, id_like).await.unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)));
    let empty = SessionForkParams {
        at: Some(0),
        label: Some("From the start".to_owned()),
        ..fork_of("a", "empty")
    };
    let empty = fork(&store, empty).await.unwrap();
    assert_eq!((empty.copied, empty.session.messages), (0, 0));
    assert_eq!(empty.session.label.as_deref(), Some("From the start"));
    assert_eq!(store.send("empty", "first").await, 1);
    store.close().await;
    assert_eq!(count(&home.database(), "SELECT count(*) FROM sessions"), 2);
    assert_eq!(count(&home.database(), "SELECT count(*) FROM deletions"), 0);
}

#[tokio::test]
async fn a_damaged_or_missing_message_is_named_and_ends_the_fork() {
    for (change, named) in [
        (
            "UPDATE messages SET at = at + 1 WHERE seq = 500",
            "Message 500 of session 'a' is damaged",
        ),
        (
            "DELETE FROM messages WHERE seq = 500",
            "Message 500 of session 'a' is missing",
        ),
        (
            "DELETE FROM messages WHERE seq > 598",
            "Messages 599 to 600 of session 'a' are missing",
        ),
    ] {
        let (home, store) = filled(600).await;
        store.close().await;
        alter(&home, change);
        let store = home.open();
        let refused = fork(&store, fork_of("a", "b")).await.unwrap_err();
        assert!(refused.to_string().starts_with(named), "{refused}");
        let before = SessionForkParams {
            at: Some(499),
            ..fork_of("a", "b")
        };
        let made = fork(&store, before).await.unwrap();
        assert!(made.created, "the messages before it can be forked");
        store.close().await;
        home.open().close().await;
        let left = "SELECT count(*) FROM messages WHERE session NOT IN
            (SELECT row_id FROM sessions UNION SELECT session FROM deletions)";
        assert_eq!(count(&home.database(), left), 0);
    }
}

#[tokio::test]
async fn a_fork_that_a_crash_cut_off_is_swept_at_the_next_start() {
    let (home, store) = filled(3).await;
    store.close().await;
    // What a crash between two steps leaves.
    alter(
        &home,
        "UPDATE sqlite_sequence SET seq = 9 WHERE name = 'sessions'",
    );
    alter(
        &home,
        "INSERT INTO deletions (session, copying) VALUES (9, 1)",
    );
    alter(
        &home,
        "INSERT INTO messages (session, seq, id, role, at, content)
         SELECT 9, seq, id, role, at, content FROM messages",
    );
    let store = home.open();
    let swept = || {
        let left = "SELECT count(*) FROM messages WHERE session = 9";
        count(&home.database(), left) == 0
    };
    crate::support::wait_for("the sweep", swept).await;
    assert_eq!(store.messages("a").await.len(), 3);
    fork(&store, fork_of("a", "b")).await.unwrap();
    store.close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_copied_message_does_not_use_up_its_key() {
    let home = Home::new();
    let store = home.open();
    store.create_session(named("a")).await.unwrap();
    store.send_message(keyed("a", "one", "k")).await.unwrap();
    store.send_message(text_to("a", "two")).await.unwrap();
    fork(&store, fork_of("a", "b")).await.unwrap();
    let sent = store.send_message(keyed("b", "another", "k")).await;
    assert_eq!(sent.unwrap().seq, 3);
    store.close().await;
}
