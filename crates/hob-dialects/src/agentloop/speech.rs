//! Speech at the address where AgentLoop's clients look for Kokomo, its speech server: `POST /tts`
//! and `GET /health`, through hob's speech services.
//!
//! Invariants: it is open only while AgentLoop's listener is configured, for the same programs. A
//! taken address is left alone and reported.

use crate::agentloop::settings;
use axum::http::{HeaderValue, Response, header};
use axum::routing::get;
use hob_gateway::dialect::{DialectEntry, HttpProtocol, HttpRoutes, OptInListener, OptInProtocol};
use hob_wire::speech_request::SPEECH_SERVER;
use hob_wire::{Scope, Scopes};

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    // Another program may be the speech server there, and its clients then talk to that one.
    may_be_taken: true,
    opt_in: Some(OptInListener {
        scopes: || Scopes::rank(Scope::Chat),
        place: settings::speech_address,
        protocol: OptInProtocol::Http(HttpProtocol {
            routes,
            on_open: |_, _| {},
        }),
    }),
    ..DialectEntry::new("agentloop-speech", "AgentLoop speech")
};

fn routes() -> HttpRoutes {
    hob_gateway::speech::tts_routes().route("/health", get(health))
}

/// Tells that this is hob, so that no service of hob's is looked for here.
async fn health() -> Response<String> {
    let mut response = Response::new("ok".to_owned());
    let name = HeaderValue::from_static(SPEECH_SERVER);
    response.headers_mut().insert(header::SERVER, name);
    response
}
