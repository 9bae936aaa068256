//! Tokens: unique live names, revoking by id or name.

use crate::support::Home;
use hob_store::{StoreError, TokenRow};
use hob_wire::rooms::token::TokenInfo;

fn token(id: &str, name: &str, expires_at: Option<u64>) -> TokenRow {
    TokenRow {
        info: TokenInfo {
            workspaces: vec![format!("/work/{name}")],
            note: None,
            id: id.to_owned(),
            name: name.to_owned(),
            scopes: vec!["chat".to_owned(), "service:echo".to_owned()],
            created_at: 5,
            expires_at,
            revoked_at: None,
        },
        secret_hash: [7; 32],
    }
}

#[tokio::test]
async fn tokens_live_and_end() {
    let home = Home::new();
    let store = home.open();
    store.insert_token(token("a", "phone", None)).await.unwrap();
    let twice = store.insert_token(token("b", "phone", None)).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    store
        .insert_token(token("c", "old", Some(1)))
        .await
        .unwrap();
    store.insert_token(token("d", "old", None)).await.unwrap();
    store.close().await;

    let store = home.open();
    let rows = store.list_tokens().await.unwrap().rows;
    assert_eq!(rows[0], token("a", "phone", None));
    assert_eq!(rows.len(), 3);
    let revoked = store.revoke_token("phone", 9).await.unwrap();
    assert_eq!((revoked.id.as_str(), revoked.revoked_at), ("a", Some(9)));
    let again = store.revoke_token("a", 10).await.unwrap();
    assert_eq!(again.revoked_at, Some(9), "a repeat changes nothing");
    let gone = store.revoke_token("phone", 10).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
    store.insert_token(token("e", "phone", None)).await.unwrap();
    store.close().await;
}
