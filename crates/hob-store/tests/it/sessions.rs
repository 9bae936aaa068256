//! Sessions and messages: rules, pages, cursors.

use crate::support::{Home, keyed, named, text_to};
use hob_store::StoreError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    SessionAnnotateParams, SessionCreateParams, SessionHistoryParams, SessionLabelParams,
};
use hob_wire::{ContentPart, MessageContent, Role, ToolCall};
use serde_json::json;

fn by_key(key: &str) -> SessionRef {
    SessionRef::parse(key)
}

#[tokio::test]
async fn creating_again_returns_the_session_and_wipes_nothing() {
    let home = Home::new();
    let store = home.open();
    let first = store
        .create_session(SessionCreateParams {
            session_key: Some("chat:main".to_owned()),
            kind: Some("main".to_owned()),
            metadata: json!({ "a": [1, 2] }).as_object().cloned(),
            label: Some("Home".to_owned()),
            parent: None,
            id: None,
        })
        .await
        .unwrap();
    assert!(first.created);
    assert_eq!(first.session.session_key, "chat:main");
    store.send("chat:main", "hello").await;

    let again = store
        .create_session(SessionCreateParams {
            kind: Some("cron".to_owned()),
            metadata: json!({ "b": 1 }).as_object().cloned(),
            ..named("chat:main")
        })
        .await
        .unwrap();
    assert!(!again.created);
    assert_eq!(again.session.id, first.session.id);
    assert_eq!(again.session.kind, "main");
    assert_eq!(again.session.metadata, first.session.metadata);
    assert_eq!(again.session.messages, 1);

    let by_id = store
        .create_session(named(&first.session.id.to_string()))
        .await
        .unwrap();
    assert!(!by_id.created);
    assert_eq!(by_id.session.id, first.session.id);
    store.close().await;
}

#[tokio::test]
async fn a_session_without_a_key_is_named_by_its_id() {
    let home = Home::new();
    let store = home.open();
    let made = store
        .create_session(SessionCreateParams::default())
        .await
        .unwrap()
        .session;
    assert_eq!(made.session_key, made.id.to_string());
    assert_eq!(made.kind, "main");
    let child = store
        .create_session(SessionCreateParams {
            parent: Some(made.session_key.clone()),
            ..named("child")
        })
        .await
        .unwrap()
        .session;
    assert_eq!(child.parent, Some(made.id));
    let found = store.get_session(&by_key(&made.session_key)).await.unwrap();
    assert_eq!(found, made);
    store.close().await;
}

#[tokio::test]
async fn what_is_out_of_bounds_is_refused_by_name() {
    let home = Home::new();
    let store = home.open();
    let free_id = "01890a5d-ac96-774b-bcce-b302099a8057";
    let with_kind = |kind: &str| SessionCreateParams {
        kind: Some(kind.to_owned()),
        ..SessionCreateParams::default()
    };
    let cases = [
        (named(""), "sessionKey"),
        (named(&"k".repeat(257)), "sessionKey"),
        (named("a\nb"), "sessionKey"),
        (named(free_id), "form"),
        (with_kind("Main"), "kind"),
        (with_kind(""), "kind"),
        (with_kind(&"k".repeat(33)), "kind"),
        (
            SessionCreateParams {
                label: Some("l".repeat(257)),
                ..SessionCreateParams::default()
            },
            "label",
        ),
        (
            SessionCreateParams {
                metadata: json!({ "m": "x".repeat(64 * 1024) }).as_object().cloned(),
                ..SessionCreateParams::default()
            },
            "metadata",
        ),
    ];
    for (params, names) in cases {
        let error = store.create_session(params).await.unwrap_err();
        let StoreError::Invalid(message) = &error else {
            panic!("{names}: {error:?}");
        };
        assert!(message.contains(names), "{names}: {message}");
    }
    let orphan = SessionCreateParams {
        parent: Some("nobody".to_owned()),
        ..SessionCreateParams::default()
    };
    let error = store.create_session(orphan).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)), "{error:?}");

    store.create("s").await;
    let long = text_to("s", &"x".repeat(4 * 1024 * 1024));
    let error = store.send_message(long).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    let error = store.send_message(text_to("t", "x")).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)), "{error:?}");
    assert_eq!(store.session_count().await.unwrap(), 1);
    store.close().await;
}

#[tokio::test]
async fn history_pages_back_and_export_forward() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    for number in 1..=25 {
        assert_eq!(store.send("s", &format!("m{number}")).await, number);
    }
    let mut before = None;
    let mut pages = Vec::new();
    loop {
        let page = store
            .history(SessionHistoryParams {
                session_key: "s".to_owned(),
                limit: Some(10),
                before,
            })
            .await
            .unwrap();
        pages.push(page.messages.iter().map(|m| m.seq).collect::<Vec<_>>());
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(
        pages,
        [
            (16..=25).collect::<Vec<_>>(),
            (6..=15).collect(),
            (1..=5).collect()
        ]
    );
    let all = store.messages("s").await;
    assert_eq!(all.len(), 25);
    assert_eq!(all[24].content, MessageContent::from("m25"));
    let zero = SessionHistoryParams {
        session_key: "s".to_owned(),
        limit: Some(0),
        before: None,
    };
    assert!(matches!(
        store.history(zero).await,
        Err(StoreError::Invalid(_))
    ));
    store.close().await;
}

#[tokio::test]
async fn large_messages_make_small_pages() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let text = "x".repeat(1_500_000);
    for _ in 0..5 {
        store.send("s", &text).await;
    }
    let page = store
        .history(SessionHistoryParams {
            session_key: "s".to_owned(),
            limit: None,
            before: None,
        })
        .await
        .unwrap();
    assert_eq!(
        page.messages.iter().map(|m| m.seq).collect::<Vec<_>>(),
        [4, 5]
    );
    assert_eq!(page.next, Some(4));
    assert_eq!(store.messages("s").await.len(), 5);
    store.close().await;
}

#[tokio::test]
async fn parts_come_back_as_they_were_sent() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let content = MessageContent::Parts(vec![
        ContentPart::Text {
            text: "zwölf \u{1F600} \"\\ \u{7f}".to_owned(),
        },
        ContentPart::ToolCall(ToolCall {
            id: "1".to_owned(),
            name: "fs.read".to_owned(),
            args: json!({ "z": 1, "a": { "deep": [null, 1.5] } }),
        }),
    ]);
    let mut params = text_to("s", "");
    params.content = content.clone();
    params.role = Some(Role::Assistant);
    let sent = store.send_message(params).await.unwrap();
    let kept = &store.messages("s").await[0];
    assert_eq!(kept.id, sent.message_id);
    assert_eq!(kept.content, content);
    assert_eq!(kept.role, Role::Assistant);
    store.close().await;
}

#[tokio::test]
async fn one_idempotency_key_is_one_message() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    store.create("t").await;
    let first = store.send_message(keyed("s", "once", "k")).await.unwrap();
    let again = store.send_message(keyed("s", "once", "k")).await.unwrap();
    assert_eq!(again, first);
    let other = store
        .send_message(keyed("s", "different", "k"))
        .await
        .unwrap_err();
    assert!(matches!(other, StoreError::Conflict(_)), "{other:?}");
    let mut role = keyed("s", "once", "k");
    role.role = Some(Role::System);
    let role = store.send_message(role).await.unwrap_err();
    assert!(matches!(role, StoreError::Conflict(_)), "{role:?}");
    assert_eq!(
        store
            .send_message(keyed("t", "once", "k"))
            .await
            .unwrap()
            .seq,
        1,
        "a key belongs to its session"
    );
    store.close().await;

    let store = home.open();
    let later = store.send_message(keyed("s", "once", "k")).await.unwrap();
    assert_eq!(later, first, "after a restart");
    assert_eq!(store.messages("s").await.len(), 1);
    store.close().await;
}

#[tokio::test]
async fn a_session_is_one_however_it_is_named() {
    let home = Home::new();
    let store = home.open();
    let id = store.create("s").await.session.id.to_string();
    for (at, name) in ["s", &id, "s", &id, &id, "s"].into_iter().enumerate() {
        assert_eq!(store.send(name, "x").await, at as u64 + 1);
    }
    store.delete_session(&by_key(&id)).await.unwrap();
    for name in ["s", &id] {
        let gone = store.send_message(text_to(name, "x")).await.unwrap_err();
        assert!(matches!(gone, StoreError::NotFound(_)), "{gone:?}");
    }
    store.create("s").await;
    assert_eq!(store.send("s", "x").await, 1);
    store.close().await;
}

#[tokio::test]
async fn a_label_is_set_and_taken_away() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let label = |label: Option<&str>| SessionLabelParams {
        session_key: "s".to_owned(),
        label: label.map(ToOwned::to_owned),
    };
    let named = store.label_session(label(Some("Cats"))).await.unwrap();
    assert_eq!(named.label.as_deref(), Some("Cats"));
    let bare = store.label_session(label(None)).await.unwrap();
    assert_eq!(bare.label, None);
    store.close().await;
}

#[tokio::test]
async fn deleting_takes_the_messages_and_frees_the_key() {
    let home = Home::new();
    let store = home.open();
    let first = store.create("s").await.session;
    for number in 0..700 {
        store.send("s", &format!("m{number}")).await;
    }
    let gone = store.delete_session(&by_key("s")).await.unwrap();
    assert_eq!((gone.id, gone.messages), (first.id, 700));
    let again = store.delete_session(&by_key("s")).await.unwrap_err();
    assert!(matches!(again, StoreError::NotFound(_)), "{again:?}");
    let second = store.create("s").await;
    assert!(second.created);
    assert_ne!(second.session.id, first.id);
    assert!(store.messages("s").await.is_empty());
    store.close().await;

    // What was not swept before the end is swept after the next start.
    let store = home.open();
    store.send("s", "alone").await;
    crate::support::wait_for("the sweep", || {
        crate::support::count(&home.database(), "SELECT count(*) FROM messages") == 1
    })
    .await;
    store.close().await;
}

#[tokio::test]
async fn a_caller_may_choose_the_id() {
    let home = Home::new();
    let store = home.open();
    let id: hob_wire::SessionId = "0c0ffee0-1111-4222-8333-444455556666".parse().unwrap();
    let chosen = || SessionCreateParams {
        id: Some(id),
        ..SessionCreateParams::default()
    };
    let made = store.create_session(chosen()).await.unwrap();
    assert!(made.created);
    assert_eq!(made.session.session_key, id.to_string());
    store.send(&id.to_string(), "hello").await;
    let again = store.create_session(chosen()).await.unwrap();
    assert_eq!((again.created, again.session.messages), (false, 1));
    let both = SessionCreateParams {
        id: Some(id),
        ..named("chat:main")
    };
    let refused = store.create_session(both).await.unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)));
    store.close().await;
}

#[tokio::test]
async fn metadata_is_set_entry_by_entry() {
    let home = Home::new();
    let store = home.open();
    let made = SessionCreateParams {
        metadata: json!({ "a": 1, "b": 2 }).as_object().cloned(),
        ..named("s")
    };
    store.create_session(made).await.unwrap();
    let annotate = |entries: serde_json::Value| SessionAnnotateParams {
        session_key: "s".to_owned(),
        metadata: entries.as_object().cloned().unwrap(),
    };
    let session = store
        .annotate_session(annotate(json!({ "a": null, "b": 3, "c": [1] })))
        .await
        .unwrap();
    assert_eq!(
        serde_json::Value::Object(session.metadata),
        json!({ "b": 3, "c": [1] })
    );
    let huge = annotate(json!({ "a": "x".repeat(70_000) }));
    let refused = store.annotate_session(huge).await.unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)), "{refused}");
    let kept = store.get_session(&by_key("s")).await.unwrap();
    assert_eq!(kept.metadata.len(), 2);
    store.close().await;
}
