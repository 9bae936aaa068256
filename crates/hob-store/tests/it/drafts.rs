//! Drafts of sessions: one for each, kept over a restart, gone with the session.

use crate::support::{Home, Open, count, verify};
use hob_store::StoreError;
use hob_wire::id::SessionRef;
use hob_wire::limits::DRAFT_BYTES_MAX;
use hob_wire::rooms::session::{SessionDraftParams, SessionForkParams, SessionListParams};

async fn draft(store: &Open, key: &str, text: Option<&str>) -> Result<String, StoreError> {
    let params = SessionDraftParams {
        session_key: key.to_owned(),
        draft: text.map(str::to_owned),
    };
    let found = store.session_draft(params).await?;
    assert_eq!(found.updated_at.is_some(), !found.draft.is_empty());
    Ok(found.draft)
}

#[tokio::test]
async fn a_draft_is_replaced_cleared_and_kept_over_a_restart() {
    let home = Home::new();
    let store = home.open();
    for key in ["a", "b"] {
        store.create(key).await;
    }
    assert_eq!(draft(&store, "a", None).await.unwrap(), "");
    draft(&store, "a", Some("Half")).await.unwrap();
    let text = "Half a\nsentence";
    assert_eq!(draft(&store, "a", Some(text)).await.unwrap(), text);
    draft(&store, "b", Some("x")).await.unwrap();
    assert_eq!(draft(&store, "b", Some("")).await.unwrap(), "");
    store.close().await;
    let store = home.open();
    assert_eq!(draft(&store, "a", None).await.unwrap(), text);
    assert_eq!(draft(&store, "b", None).await.unwrap(), "");
    store.close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_draft_moves_no_session_and_goes_with_it_but_not_into_a_fork() {
    let home = Home::new();
    let store = home.open();
    store.create("a").await;
    store.create("b").await;
    let list = async || {
        let page = store.list_sessions(SessionListParams::default()).await;
        page.unwrap().sessions
    };
    let before = list().await;
    let events = store.published_at_least(2).await.len();
    draft(&store, "a", Some("later")).await.unwrap();
    assert_eq!(list().await, before);
    assert_eq!(store.published().len(), events, "a draft is no event");
    let fork = SessionForkParams {
        session_key: "a".to_owned(),
        new_key: Some("c".to_owned()),
        ..SessionForkParams::default()
    };
    store.fork_session(fork, None).await.unwrap();
    assert_eq!(draft(&store, "c", None).await.unwrap(), "");
    store.delete_session(&SessionRef::parse("a")).await.unwrap();
    let gone = draft(&store, "a", None).await.unwrap_err();
    assert!(matches!(gone, StoreError::NotFound(_)));
    store.create("a").await;
    assert_eq!(draft(&store, "a", None).await.unwrap(), "");
    store.close().await;
    assert_eq!(count(&home.database(), "SELECT count(*) FROM drafts"), 0);
}

#[tokio::test]
async fn a_draft_is_bounded() {
    let home = Home::new();
    let store = home.open();
    store.create("a").await;
    let longest = "ä".repeat(DRAFT_BYTES_MAX / 2);
    assert_eq!(draft(&store, "a", Some(&longest)).await.unwrap(), longest);
    let refused = draft(&store, "a", Some(&format!("{longest}x"))).await;
    assert!(matches!(refused.unwrap_err(), StoreError::Invalid(_)));
    let missing = draft(&store, "none", Some("x")).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound(_)));
    assert_eq!(draft(&store, "a", None).await.unwrap(), longest);
    store.close().await;
}
