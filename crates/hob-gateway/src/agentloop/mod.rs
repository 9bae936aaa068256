//! AgentLoop's dialect: its clients' commands turned into calls on the bus, and what happens there
//! into its events. At `/agentloop` with a token, and at the root of an opt-in listener of its own
//! for clients that can send neither a token nor a path.
//!
//! - `client`: one client, and what each command does; `place`: one session as a client sees it
//! - `turn` on `story`: one message answered, told in AgentLoop's order
//! - `services`: services in AgentLoop's words; `pictures`: files a message names
//! - `engine`: the file by which clients find the listener
//!
//! Invariants: this surface decides nothing, it translates; events of a session go only to the
//! client that asked; a frame that is not understood is answered with `error` and the connection
//! lives; files of this machine are read only for clients that may act on it.

mod client;
mod engine;
mod pictures;
mod place;
mod services;
mod source;
mod story;
mod turn;

use crate::book::Principal;
use crate::http::{Desk, Site};
use crate::refusal::Refusal;
use crate::shared::{self, Shared};
use crate::websocket::{self, Handshake};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::routing::get;
use client::Client;
pub(crate) use engine::announce;
use hob_bus::{Link, Outlet};
use hob_wire::{Scope, Scopes};
use std::sync::Arc;

/// The surface of every such client, and the principal of those without a token.
pub(crate) const SURFACE: &str = "agentloop";
/// What a plain request to the listener is told.
const BANNER: &str = "hob speaks AgentLoop's protocol here, over a WebSocket.\n";

/// The listener's only surface.
pub(crate) fn site(desk: Desk) -> Site {
    let router = Router::new().route("/", get(open_granted));
    Site::with_router(Arc::new(desk), router)
}

/// `GET /agentloop`.
pub(crate) async fn open(
    State(desk): State<Arc<Desk>>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let principal = desk.admit_socket(request.headers())?;
    let selected = crate::subprotocol::read(request.headers())?.select()?;
    let handshake = Handshake::of(request, selected)?;
    let peer = shared::peer(&principal, SURFACE);
    let (link, outlet) = desk.shared.connect_as(peer, &principal, &desk.door)?;
    let client = Client::new(Arc::clone(&desk), principal, false)?;
    Ok(serve(handshake, &desk.shared, client, (link, outlet)))
}

/// `GET /` of the listener: opening it was the grant.
async fn open_granted(
    State(desk): State<Arc<Desk>>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    if !request.headers().contains_key(header::UPGRADE) {
        let mut response = Response::new(Body::from(BANNER));
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        return Ok(response);
    }
    let handshake = Handshake::of(request, None)?;
    let principal = Principal {
        id: SURFACE.into(),
        name: SURFACE.into(),
        scopes: Scopes::rank(Scope::Control),
    };
    let joined = desk.shared.bus.connect(shared::peer(&principal, SURFACE))?;
    let client = Client::new(Arc::clone(&desk), principal, true)?;
    Ok(serve(handshake, &desk.shared, client, joined))
}

/// Hears of the services from the start, and serves the socket.
fn serve(
    handshake: Handshake,
    shared: &Arc<Shared>,
    (client, events): (Client, source::Events),
    (link, outlet): (Link, Outlet),
) -> Response<Body> {
    let (client, served) = (Arc::new(client), Arc::clone(shared));
    handshake.upgrade(shared, async move |socket| {
        let Some(socket) = socket else {
            link.close();
            return;
        };
        source::subscribe(&link).await;
        client.begin();
        let source = source::Source::new(outlet, events, Arc::clone(&client));
        websocket::serve(socket, &link, &client, source, &served).await;
        client.end();
    })
}
