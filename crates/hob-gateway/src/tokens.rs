//! The room `tokens`: making, listing and revoking credentials.
//!
//! Invariants: a token works only after its row is durable; a revoked one stops working, and its
//! connections close, as soon as the revocation is durable.

use crate::book::Book;
use crate::credential::{self, Minted};
use hob_bus::{Bus, Room};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_store::{Store, TokenRow};
use hob_wire::WireError;
use hob_wire::rooms::token::{
    Create, CreateParams, Created, List, Revoke, RevokeParams, Revoked, Tokens,
};
use std::sync::Arc;

/// What the room works with.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    pub(crate) book: Arc<Book>,
    pub(crate) clock: Clock,
    pub(crate) dice: Dice,
}

pub(crate) fn room(desk: Desk) -> Room {
    let (create_desk, list_desk) = (desk.clone(), desk.clone());
    Room::new("tokens")
        .method::<Create, _, _>(move |_, params| create(create_desk.clone(), params))
        .method::<List, _, _>(move |_, _| list(list_desk.clone()))
        .method::<Revoke, _, _>(move |_, params| revoke(desk.clone(), params))
}

async fn create(desk: Desk, params: CreateParams) -> Result<Created, WireError> {
    let Minted {
        secret_hash,
        created,
    } = credential::mint(&params, desk.clock.wall_ms(), &desk.dice)?;
    let row = TokenRow {
        info: created.info.clone(),
        secret_hash,
    };
    desk.store.insert_token(row).await?;
    desk.book.enter(&created.info, secret_hash);
    tracing::info!(token = created.info.name, scopes = ?created.info.scopes, "a token was made");
    Ok(created)
}

async fn list(desk: Desk) -> Result<Tokens, WireError> {
    let found = desk.store.list_tokens().await?;
    let tokens = found.rows.into_iter().map(|row| row.info).collect();
    Ok(Tokens {
        tokens,
        damaged: found.damaged,
    })
}

async fn revoke(desk: Desk, params: RevokeParams) -> Result<Revoked, WireError> {
    let now_ms = desk.clock.wall_ms();
    let info = desk.store.revoke_token(&params.token, now_ms).await?;
    desk.book.strike(&info.id);
    desk.bus.close_principal(&info.id);
    tracing::info!(token = info.name, "a token was revoked");
    Ok(Revoked {
        id: info.id,
        name: info.name,
    })
}
