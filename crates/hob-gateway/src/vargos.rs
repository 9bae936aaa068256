//! The opt-in listener for Vargos clients. They use the same frames at `/` but can send neither a
//! token nor a path. Enabling the listener is the grant; instead of a token, the kernel tells that
//! the peer is a program of hob's user that hob did not start.
//!
//! Invariants: only loopback peers of hob's user (`peer_check`); exact Host; same Origin or none.
//! The peer has scope `control` and may register any service that is not built in, no more.

use crate::http::{HttpService, HttpState};
use crate::http_error::HttpError;
use crate::shared;
use crate::token_cache::Principal;
use crate::websocket::WebSocketHandshake;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::routing::get;
use hob_wire::{Scope, Scopes};
use std::sync::Arc;

/// The surface and the principal of all Vargos clients.
pub(crate) const SURFACE: &str = "vargos";

pub(crate) fn http_service(state: HttpState) -> HttpService {
    HttpService::with_router(Arc::new(state), Router::new().route("/", get(open)))
}

fn principal() -> Principal {
    Principal {
        id: SURFACE.into(),
        name: SURFACE.into(),
        scopes: Scopes::rank(Scope::Control).with_any_service(),
    }
}

async fn open(
    State(state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    // The peer was checked when the connection was accepted.
    let handshake = WebSocketHandshake::from_request(request, None)?;
    let peer = shared::peer(&principal(), SURFACE);
    let (link, outlet) = state.shared.bus.connect(peer)?;
    Ok(handshake.accept(&state.shared, link, outlet))
}
