//! `session.*` through the bus.

use crate::fixture::{Fixture, code};
use hob_bus::PeerIdentity;
use hob_wire::rooms::session::{
    Create, Delete, Export, Get, History, Label, List, Send, SessionCreateParams,
    SessionDeleteParams, SessionExportParams, SessionGetParams, SessionHistoryParams,
    SessionLabelParams, SessionListParams, SessionSendParams,
};
use hob_wire::{ErrorCode, MessageContent, Role, Scope, Scopes};

fn house() -> Fixture {
    let fixture = Fixture::new();
    hob_daemon::session::serve(&fixture.context).expect("is served");
    fixture
}

fn named(key: &str) -> SessionCreateParams {
    SessionCreateParams {
        session_key: Some(key.to_owned()),
        ..SessionCreateParams::default()
    }
}

fn message(key: &str, text: &str) -> SessionSendParams {
    SessionSendParams {
        session_key: key.to_owned(),
        content: MessageContent::Text(text.to_owned()),
        role: None,
        idempotency_key: None,
    }
}

fn history(key: &str) -> SessionHistoryParams {
    SessionHistoryParams {
        session_key: key.to_owned(),
        limit: None,
        before: None,
    }
}

#[tokio::test]
async fn a_session_is_created_once_and_found_by_key_and_id() {
    let house = house();
    let caller = house.caller();
    let first = caller
        .call::<Create>(&named("chat:main"))
        .await
        .expect("creates");
    assert!(first.created);
    let (notice, payload) = house.heard("session.created").await;
    assert_eq!(&*notice.source, "sessions");
    assert_eq!(payload["sessionKey"], "chat:main");
    assert!(notice.session.expect("has a tag").matches("chat:main"));

    let again = caller
        .call::<Create>(&named("chat:main"))
        .await
        .expect("finds");
    assert!(!again.created);
    assert_eq!(again.session.id, first.session.id);
    for session_key in ["chat:main".to_owned(), first.session.id.to_string()] {
        let found = caller.call::<Get>(&SessionGetParams { session_key }).await;
        assert_eq!(found.expect("finds").id, first.session.id);
    }
    house.close().await;
}

#[tokio::test]
async fn a_message_is_kept_heard_and_paged() {
    let house = house();
    let caller = house.caller();
    caller
        .call::<Create>(&named("chat:main"))
        .await
        .expect("creates");
    let sent = caller
        .call::<Send>(&message("chat:main", "hello"))
        .await
        .expect("sends");
    assert_eq!(sent.seq, 1);
    let (_, payload) = house.heard("session.message").await;
    assert_eq!(payload["content"], "hello");
    assert_eq!(payload["sessionKey"], "chat:main");
    assert_eq!(payload["id"], sent.message_id.to_string());

    let mut reply = message("chat:main", "good day");
    reply.role = Some(Role::Assistant);
    caller.call::<Send>(&reply).await.expect("sends");
    let page = caller
        .call::<History>(&history("chat:main"))
        .await
        .expect("reads");
    let roles: Vec<Role> = page.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    assert_eq!(page.next, None);

    let export = SessionExportParams {
        session_key: "chat:main".to_owned(),
        after: Some(1),
        limit: None,
    };
    let rest = caller.call::<Export>(&export).await.expect("reads");
    assert_eq!(rest.messages.len(), 1);
    house.close().await;
}

#[tokio::test]
async fn many_concurrent_repeats_of_one_request_are_one_message() {
    let house = house();
    let caller = house.caller();
    caller
        .call::<Create>(&named("chat:main"))
        .await
        .expect("creates");
    let mut keyed = message("chat:main", "once");
    keyed.idempotency_key = Some("k".to_owned());
    let mut sends = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (caller, keyed) = (caller.clone(), keyed.clone());
        sends.spawn(async move { caller.call::<Send>(&keyed).await.expect("sends") });
    }
    let answers = sends.join_all().await;
    assert!(
        answers.iter().all(|sent| *sent == answers[0]),
        "all get the same answer"
    );
    let page = caller
        .call::<History>(&history("chat:main"))
        .await
        .expect("reads");
    assert_eq!(page.messages.len(), 1);
    house.close().await;
}

#[tokio::test]
async fn labels_lists_and_deletion() {
    let house = house();
    let caller = house.caller();
    for key in ["one", "two"] {
        caller.call::<Create>(&named(key)).await.expect("creates");
    }
    let label = SessionLabelParams {
        session_key: "one".to_owned(),
        label: Some("First".to_owned()),
    };
    let labelled = caller.call::<Label>(&label).await.expect("labels");
    assert_eq!(labelled.label.as_deref(), Some("First"));
    let listed = caller
        .call::<List>(&SessionListParams::default())
        .await
        .expect("lists");
    assert_eq!(listed.sessions.len(), 2);
    let delete = SessionDeleteParams {
        session_key: "one".to_owned(),
    };
    caller.call::<Delete>(&delete).await.expect("deletes");
    let (_, payload) = house.heard("session.deleted").await;
    assert_eq!(payload["sessionKey"], "one");
    assert_eq!(
        code(caller.call::<Delete>(&delete).await),
        ErrorCode::NotFound
    );
    house.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_by_its_code() {
    let house = house();
    let caller = house.caller();
    let missing = message("nowhere", "hello");
    assert_eq!(
        code(caller.call::<Send>(&missing).await),
        ErrorCode::NotFound
    );
    let garbage = Some(bytes::Bytes::from_static(
        br#"{"sessionKey":"a","colour":1}"#,
    ));
    let refused = caller.call_raw("session.send", garbage, None).await;
    assert_eq!(code(refused), ErrorCode::InvalidParams);

    let reader = PeerIdentity {
        name: "reader".to_owned(),
        surface: "http",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(Scope::Read),
    };
    let reader = house.bus.caller_as(reader).expect("connects");
    assert_eq!(
        code(reader.call::<Create>(&named("x")).await),
        ErrorCode::Forbidden
    );
    reader
        .call::<List>(&SessionListParams::default())
        .await
        .expect("may read");
    house.close().await;
}
