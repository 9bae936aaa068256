//! AgentLoop's dialect: translates its clients' commands into bus calls, and bus events into its
//! events. Served at `/agentloop` with a token, and at the root of an opt-in listener for clients
//! that can send neither a token nor a path.
//!
//! - `client`: one client and its commands; `services`: its service commands; `session`: the turns
//!   and the routing of a session
//! - `turn`: answers one message; `attach`: the rest of an answer that began on another connection;
//!   `run_follower`, `run_translator`: the events of an answer; `images`: image files that a message
//!   names
//! - `agent_packs`: the agents, and the router that picks one for a message; `workspace_packs`,
//!   `pack_file`: the agents of a workspace
//! - `speech`: speech where clients look for their speech server
//! - `outgoing`: the events for a client; `engine_file`: the file in which clients find the
//!   listener
//! - `types`: the commands and events; `settings`: the configuration keys; `import`: what AgentLoop
//!   stored
//!
//! Invariants: this surface only translates. Events of a session go only to the client that asked,
//! or that names the session while it is answered. An invalid frame is answered with `error` and the connection stays open. Files of this machine
//! are read only for clients with the scope `control`.

mod agent_packs;
mod attach;
mod client;
mod engine_file;
mod images;
mod import;
mod outgoing;
mod pack_file;
mod run_follower;
mod run_translator;
mod services;
mod session;
mod settings;
pub(crate) mod speech;
mod turn;
mod types;
mod workspace_packs;

pub(crate) use import::IMPORTER;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::routing::get;
use client::{AgentLoopClient, AgentLoopMessageSink};
use hob_bus::{BusLink, BusOutlet};
use hob_gateway::dialect::{DialectEntry, HttpProtocol, OptInListener, OptInProtocol};
use hob_gateway::http::HttpState;
use hob_gateway::http_error::HttpError;
use hob_gateway::shared::GatewayShared;
use hob_gateway::websocket::{self, WebSocketHandshake};
use hob_wire::{Scope, Scopes};
use std::sync::Arc;

/// The surface of all AgentLoop clients.
const SURFACE: &str = "agentloop";
/// The answer to a plain HTTP request on the listener.
const BANNER: &str = "hob speaks AgentLoop's protocol here, over a WebSocket.\n";

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    keys: settings::KEYS,
    routes: || Router::new().route("/agentloop", get(open)),
    opt_in: Some(OptInListener {
        scopes: || Scopes::rank(Scope::Control),
        place: settings::address,
        protocol: OptInProtocol::Http(HttpProtocol {
            routes: || Router::new().route("/", get(open_or_greet)),
            on_open: engine_file::announce,
        }),
    }),
    ..DialectEntry::new(SURFACE, "AgentLoop")
};

/// `GET /agentloop`.
async fn open(
    State(state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let (principal, handshake) = state.authenticate_handshake(request)?;
    let joined = state.connect(&principal, SURFACE)?;
    let client = AgentLoopClient::new(Arc::clone(&state), principal)?;
    Ok(serve_client(handshake, &state.shared, client, joined))
}

/// `GET /` of the opt-in listener.
async fn open_or_greet(
    state: State<Arc<HttpState>>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    if request.headers().contains_key(header::UPGRADE) {
        return open(state, request).await;
    }
    // A browser or curl on this port gets a hint instead of a protocol error.
    let mut response = Response::new(Body::from(BANNER));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    Ok(response)
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
        let sink = AgentLoopMessageSink(Arc::clone(&client));
        websocket::serve(socket, &link, &sink, source, &served).await;
        client.disconnect();
    })
}
