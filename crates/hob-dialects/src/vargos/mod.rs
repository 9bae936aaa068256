//! Vargos: its clients use hob's own frames at `/`, but can send neither a token nor a path, so an
//! opt-in listener is their only way in. Requests and events of hob's rooms are translated between
//! Vargos's form and hob's; everything else passes unchanged. On a bare daemon the rooms are
//! outside services, so nothing of theirs is translated.
//!
//! - `client`: one client, its frames in and out; `params`: the params of its requests
//! - `runs`, `sessions`, `jobs`, `tools`: the methods of each room; `job_names`: names of jobs;
//!   `dates`: points in time
//! - `registration`: the events of a registered service; `events`: events for the client
//! - `settings`: the configuration keys; `import`, `import_config`: what Vargos stored
//!
//! Invariants: a client has the scope `control` and may register any service that is not built in,
//! no more. A translated request is answered by calls of hob's own methods, with the rights of the
//! client. What hob does not have is refused by its name.

mod client;
mod dates;
mod events;
mod import;
mod import_config;
mod job_names;
mod jobs;
mod params;
mod registration;
mod runs;
mod sessions;
mod settings;
mod tools;

pub(crate) use import::IMPORTER;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::routing::get;
use client::{VargosClient, VargosMessageSink, VargosMessageSource};
use hob_gateway::dialect::{DialectEntry, HttpProtocol, OptInListener, OptInProtocol};
use hob_gateway::http::HttpState;
use hob_gateway::http_error::HttpError;
use hob_gateway::websocket;
use hob_wire::{Scope, Scopes};
use std::sync::Arc;

/// The surface of all Vargos clients.
const SURFACE: &str = "vargos";

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    keys: settings::KEYS,
    opt_in: Some(OptInListener {
        scopes: || Scopes::rank(Scope::Control).with_any_service(),
        place: settings::address,
        protocol: OptInProtocol::Http(HttpProtocol {
            routes: || Router::new().route("/", get(open)),
            on_open: |_, _| {},
        }),
    }),
    ..DialectEntry::new(SURFACE, "Vargos")
};

/// `GET /` of the opt-in listener.
async fn open(
    State(state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let (principal, handshake) = state.authenticate_handshake(request)?;
    let (link, outlet) = state.connect(&principal, SURFACE)?;
    let (client, answers) = VargosClient::connect(&state, &principal).await?;
    let served = Arc::clone(&state.shared);
    Ok(handshake.upgrade(&state.shared, async move |socket| {
        let Some(socket) = socket else {
            link.close();
            return;
        };
        let source = VargosMessageSource::new(outlet, answers, &client);
        let sink = VargosMessageSink {
            link: &link,
            client: Arc::clone(&client),
        };
        websocket::serve(socket, &link, &sink, source, &served).await;
        client.disconnect();
    }))
}
