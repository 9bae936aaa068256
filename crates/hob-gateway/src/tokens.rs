//! The room `tokens`: creates, lists and revokes tokens.
//!
//! Invariants: a token works only after its row is durable. A revoked token stops working, and its
//! connections close, as soon as the revocation is durable.

use crate::credential::{self, MintedToken};
use crate::token_cache::TokenCache;
use hob_bus::{Bus, Room};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_store::{Store, TokenRow};
use hob_wire::WireError;
use hob_wire::rooms::token::{
    Create, List, Revoke, TokenCreateParams, TokenCreateResult, TokenListParams, TokenListResult,
    TokenRevokeParams, TokenRevokeResult,
};
use std::sync::Arc;

/// The state of the room.
#[derive(Debug)]
pub(crate) struct TokenService {
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    pub(crate) token_cache: Arc<TokenCache>,
    pub(crate) clock: Clock,
    pub(crate) randomness: Randomness,
}

/// Serves the room `tokens`.
pub(crate) fn serve(service: TokenService) -> Result<(), WireError> {
    let bus = service.bus.clone();
    let room = Room::new("tokens")
        .state(Arc::new(service))
        .method(Create, create)
        .method(List, list)
        .method(Revoke, revoke);
    bus.serve(room)
}

async fn create(
    service: &TokenService,
    params: TokenCreateParams,
) -> Result<TokenCreateResult, WireError> {
    let MintedToken {
        secret_hash,
        created,
    } = credential::mint(&params, service.clock.wall_ms(), &service.randomness)?;
    let row = TokenRow {
        info: created.info.clone(),
        secret_hash,
    };
    // Durable before it is valid: a crash must not lose a token that a client already uses.
    service.store.insert_token(row).await?;
    service.token_cache.insert(&created.info, secret_hash);
    tracing::info!(token = created.info.name, scopes = ?created.info.scopes, "a token was created");
    Ok(created)
}

async fn list(service: &TokenService, _: TokenListParams) -> Result<TokenListResult, WireError> {
    let found = service.store.list_tokens().await?;
    let tokens = found.rows.into_iter().map(|row| row.info).collect();
    Ok(TokenListResult {
        tokens,
        damaged: found.damaged,
    })
}

async fn revoke(
    service: &TokenService,
    params: TokenRevokeParams,
) -> Result<TokenRevokeResult, WireError> {
    let now_ms = service.clock.wall_ms();
    let info = service.store.revoke_token(&params.token, now_ms).await?;
    // Removed before its links are closed: no new link can open with it in between.
    service.token_cache.remove(&info.id);
    service.bus.close_principal(&info.id);
    tracing::info!(token = info.name, "a token was revoked");
    Ok(TokenRevokeResult {
        id: info.id,
        name: info.name,
    })
}
