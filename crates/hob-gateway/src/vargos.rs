//! The opt-in listener for Vargos clients, which speak the same frames at `/` but can send neither
//! a token nor a path. Opting in is the grant; what stands in for the token is the kernel's word
//! that the peer is a program of our own user which hob did not start.
//!
//! Invariants: only loopback peers of our user (`peer_check`); exact Host; same Origin or none; scope `control`
//! and the right to register any service that is not built in, no more.

use crate::book::Principal;
use crate::http::{Desk, Site};
use crate::refusal::Refusal;
use crate::shared;
use crate::websocket::Handshake;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::routing::get;
use hob_wire::{Scope, Scopes};
use std::sync::Arc;

/// The surface and principal of every such peer.
pub(crate) const SURFACE: &str = "vargos";

pub(crate) fn site(desk: Desk) -> Site {
    Site::with_router(Arc::new(desk), Router::new().route("/", get(open)))
}

pub(crate) fn principal() -> Principal {
    Principal {
        id: SURFACE.into(),
        name: SURFACE.into(),
        scopes: Scopes::rank(Scope::Control).with_any_service(),
    }
}

async fn open(State(desk): State<Arc<Desk>>, request: Request) -> Result<Response<Body>, Refusal> {
    let handshake = Handshake::of(request, None)?;
    let peer = shared::peer(&principal(), SURFACE);
    let (link, outlet) = desk.shared.bus.connect(peer)?;
    Ok(handshake.finish(&desk.shared, link, outlet))
}
