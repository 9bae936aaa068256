//! AgentLoop's dialect: translates its clients' commands into bus calls, and bus events into its
//! events. Served at `/agentloop` with a token, and at the root of an opt-in listener for clients
//! that can send neither a token nor a path.
//!
//! - `client`: one client and its commands; `services`: its service commands; `session`: the turns
//!   and the routing of a session
//! - `turn`: answers one message; `run_translator`: the events of that answer; `images`: image
//!   files that a message names
//! - `outgoing`: the events for a client; `engine_file`: the file in which clients find the
//!   listener
//!
//! Invariants: this surface only translates. Events of a session go only to the client that asked.
//! An invalid frame is answered with `error` and the connection stays open. Files of this machine
//! are read only for clients with the scope `control`.

mod client;
mod engine_file;
mod images;
mod outgoing;
mod run_translator;
mod services;
mod session;
mod turn;

use crate::http::{HttpService, HttpState};
use crate::http_error::HttpError;
use crate::shared::{self, GatewayShared};
use crate::token_cache::Principal;
use crate::websocket::{self, WebSocketHandshake};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::routing::get;
use client::AgentLoopClient;
pub(crate) use engine_file::announce;
use hob_bus::{BusLink, BusOutlet};
use hob_wire::{Scope, Scopes};
use std::sync::Arc;

/// The surface of all AgentLoop clients, and the principal of those without a token.
pub(crate) const SURFACE: &str = "agentloop";
/// The answer to a plain HTTP request on the listener.
const BANNER: &str = "hob speaks AgentLoop's protocol here, over a WebSocket.\n";

/// Builds the service of the opt-in listener.
pub(crate) fn http_service(state: HttpState) -> HttpService {
    let router = Router::new().route("/", get(open_granted));
    HttpService::with_router(Arc::new(state), router)
}

/// `GET /agentloop`.
pub(crate) async fn open(
    State(state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let principal = state.authenticate_websocket(request.headers())?;
    let selected = crate::subprotocol::read(request.headers())?.select()?;
    let handshake = WebSocketHandshake::from_request(request, selected)?;
    let peer = shared::peer(&principal, SURFACE);
    let (link, outlet) = state
        .shared
        .connect_as(peer, &principal, &state.authenticator)?;
    let client = AgentLoopClient::new(Arc::clone(&state), principal, false)?;
    Ok(serve_client(
        handshake,
        &state.shared,
        client,
        (link, outlet),
    ))
}

/// `GET /` of the opt-in listener: enabling it was the grant.
async fn open_granted(
    State(state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    // A browser or curl on this port gets a hint instead of a protocol error.
    if !request.headers().contains_key(header::UPGRADE) {
        let mut response = Response::new(Body::from(BANNER));
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        return Ok(response);
    }
    let handshake = WebSocketHandshake::from_request(request, None)?;
    let principal = Principal {
        id: SURFACE.into(),
        name: SURFACE.into(),
        scopes: Scopes::rank(Scope::Control),
    };
    let joined = state
        .shared
        .bus
        .connect(shared::peer(&principal, SURFACE))?;
    let client = AgentLoopClient::new(Arc::clone(&state), principal, true)?;
    Ok(serve_client(handshake, &state.shared, client, joined))
}

/// Subscribes to service events and serves the socket.
fn serve_client(
    handshake: WebSocketHandshake,
    shared: &Arc<GatewayShared>,
    (client, events): (AgentLoopClient, outgoing::AgentLoopEventReceiver),
    (link, outlet): (BusLink, BusOutlet),
) -> Response<Body> {
    let (client, served) = (Arc::new(client), Arc::clone(shared));
    handshake.upgrade(shared, async move |socket| {
        let Some(socket) = socket else {
            link.close();
            return;
        };
        // Subscribed before the list is sent, so that no change of a service falls in between.
        outgoing::subscribe_services(&link).await;
        client.start();
        let source = outgoing::AgentLoopMessageSource::new(outlet, events, Arc::clone(&client));
        websocket::serve(socket, &link, &client, source, &served).await;
        client.disconnect();
    })
}
