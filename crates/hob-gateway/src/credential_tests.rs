//! The form of a token, and params that are refused.

use super::{OWNER, claimed_id, digest, is_owner_token, mint, mint_owner};
use hob_kit::randomness::Randomness;
use hob_wire::ErrorCode;
use hob_wire::rooms::token::TokenCreateParams;

fn wish(name: &str, scopes: &[&str], expires_in_ms: Option<u64>) -> TokenCreateParams {
    TokenCreateParams {
        name: name.to_owned(),
        scopes: scopes.iter().map(ToString::to_string).collect(),
        expires_in_ms,
        workspaces: Vec::new(),
    }
}

#[test]
fn a_token_has_its_form_and_its_hash() {
    let randomness = Randomness::seeded(7);
    let minted = mint(
        &wish("ci", &["read", "chat", "service:mail"], Some(500)),
        1_000,
        &randomness,
    );
    let minted = minted.unwrap();
    let info = &minted.created.info;
    assert_eq!(info.scopes, ["chat", "service:mail"]);
    assert_eq!(info.expires_at, Some(1_500));
    assert_eq!(claimed_id(&minted.created.token), info.id);
    assert_eq!(minted.created.token.len(), "hob_".len() + 8 + 1 + 48);
    assert_eq!(digest(&minted.created.token), minted.secret_hash);
}

#[test]
fn the_owners_text_claims_the_owner() {
    let text = mint_owner(&Randomness::seeded(1));
    assert!(is_owner_token(&text));
    assert_eq!(claimed_id(&text), OWNER);
    assert!(!is_owner_token(&text[1..]));
    assert!(!is_owner_token(""));
}

#[test]
fn bad_wishes_are_named() {
    let randomness = Randomness::seeded(7);
    let long = "x".repeat(65);
    let wishes = [
        wish("", &["read"], None),
        wish(&long, &["read"], None),
        wish("a\nb", &["read"], None),
        wish("owner", &["read"], None),
        wish("ci", &[], None),
        wish("ci", &["root"], None),
        wish("ci", &["service:*"], None),
        wish("ci", &["read"], Some(0)),
    ];
    for params in wishes {
        let error = mint(&params, 0, &randomness).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidParams, "{params:?}");
    }
}
