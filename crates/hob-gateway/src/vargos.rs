//! The opt-in listener for Vargos clients, which speak the same frames at `/` but can send neither
//! a token nor a path. Opting in is the grant; what stands in for the token is the kernel's word
//! that the peer's socket belongs to our own user.
//!
//! Invariants: only loopback peers of our user; exact Host; same Origin or none; scope `control`
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
use std::net::SocketAddr;
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

/// Whether `peer` is a socket of our user on this machine.
pub(crate) fn is_ours(peer: SocketAddr, ours: SocketAddr) -> bool {
    if hob_kit::failpoint::broken(46) {
        return true;
    }
    let allowed = peer.ip().to_canonical().is_loopback() && owned_by_us(peer, ours);
    if !allowed {
        tracing::warn!(listener = SURFACE, "another user's connection was refused");
    }
    allowed
}

/// An IPv4 peer may stand in either table.
#[cfg(target_os = "linux")]
fn owned_by_us(peer: SocketAddr, ours: SocketAddr) -> bool {
    let user = rustix::process::geteuid().as_raw();
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|path| {
        let table = std::fs::read_to_string(path).unwrap_or_default();
        crate::procnet::owner(&table, peer, ours) == Some(user)
    })
}

/// Other kernels do not say; [`announce`] did.
#[cfg(not(target_os = "linux"))]
fn owned_by_us(_peer: SocketAddr, _ours: SocketAddr) -> bool {
    true
}

/// Says what was opened.
pub(crate) fn announce(address: SocketAddr) {
    tracing::info!("Vargos clients of this user may connect to {address} without a token");
    if cfg!(not(target_os = "linux")) {
        tracing::warn!(
            "this system does not tell whose a connection is: every user of this machine may connect to {address}"
        );
    }
}
