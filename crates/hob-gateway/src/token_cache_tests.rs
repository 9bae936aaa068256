//! Valid, wrong, revoked and expired tokens.

use super::TokenCache;
use crate::credential::{MintedToken, digest, mint};
use hob_kit::randomness::Randomness;
use hob_wire::rooms::token::TokenCreateParams;
use hob_wire::{Scope, Scopes};

fn minted(name: &str, expires_in_ms: Option<u64>) -> MintedToken {
    let params = TokenCreateParams {
        name: name.to_owned(),
        scopes: vec!["chat".to_owned()],
        expires_in_ms,
        workspaces: Vec::new(),
    };
    mint(&params, 1_000, &Randomness::system()).unwrap()
}

fn book_with(token: &MintedToken) -> TokenCache {
    let token_cache = TokenCache::default();
    token_cache.set_owner(digest("the owner's"));
    token_cache.insert(&token.created.info, token.secret_hash);
    token_cache
}

#[test]
fn the_right_text_gives_the_recorded_scopes() {
    let token = minted("ci", None);
    let token_cache = book_with(&token);
    let who = token_cache.verify(&token.created.token, 5_000).unwrap();
    assert_eq!(&*who.name, "ci");
    assert_eq!(who.scopes, Scopes::rank(Scope::Chat));
    let owner = token_cache.verify("the owner's", 5_000).unwrap();
    assert!(owner.scopes.allow(Scope::Admin));
}

#[test]
fn anything_else_gives_nothing() {
    let token = minted("ci", None);
    let token_cache = book_with(&token);
    let text = &token.created.token;
    let other_secret = format!("{}0", &text[..text.len() - 1]);
    let other_secret = if other_secret == *text {
        format!("{}1", &text[..text.len() - 1])
    } else {
        other_secret
    };
    let wrong = [
        "",
        "the owner",
        &other_secret,
        &text[..text.len() - 1],
        "hob_00000000_",
        "hob_owner_the owner's",
        "hob__",
    ];
    for text in wrong {
        assert_eq!(token_cache.verify(text, 5_000), None, "{text}");
    }
    assert_eq!(TokenCache::default().verify("", 0), None);
}

#[test]
fn expiry_is_exact_and_reported_once() {
    let token = minted("brief", Some(500));
    let token_cache = book_with(&token);
    assert!(token_cache.verify(&token.created.token, 1_499).is_some());
    assert!(token_cache.verify(&token.created.token, 1_500).is_none());
    assert!(token_cache.remove_expired(1_499).is_empty());
    assert_eq!(token_cache.remove_expired(1_500).len(), 1);
    assert!(token_cache.remove_expired(1_500).is_empty());
    assert!(token_cache.contains("owner"));
}

#[test]
fn a_struck_or_revoked_token_is_gone() {
    let token = minted("ci", None);
    let token_cache = book_with(&token);
    token_cache.remove(&token.created.info.id);
    assert_eq!(token_cache.verify(&token.created.token, 0), None);
    let mut info = token.created.info.clone();
    info.revoked_at = Some(2_000);
    token_cache.insert(&info, token.secret_hash);
    assert_eq!(token_cache.verify(&token.created.token, 0), None);
}
