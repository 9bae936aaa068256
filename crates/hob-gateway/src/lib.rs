//! The gateway: every listener through which the outside reaches the bus, and the authentication in
//! front of it.
//!
//! - [`gateway`]: starts everything; [`settings`]: the configuration keys; `shared`: the state of
//!   all listeners
//! - `tcp_listener`, `unix_listener`: accept connections; `websocket`, `line_codec`: the two
//!   framings; `write_timeout`: drops peers that stop reading
//! - `http`: the checks of every HTTP request; `rest`, `tools`, `openapi`, `probes`, `speech`: its
//!   routes; `http_error`: its error answers; `event_stream`: server-sent events
//! - `openai`: the surface at `/v1`; `bus_connection`: a bus link for one answer
//! - `vargos`, `agentloop`, `archy`, `looprunner`: the dialects of other programs; `peer_check`,
//!   `procnet`: the local programs that may use them without a token
//! - `hooks`: webhooks, each with its own secret; `unproven_calls`: limits on callers whose
//!   signature is not checked yet
//! - `origin`, `address`, `authenticator`, `token_cache`, `token_refresher`, [`credential`],
//!   [`owner_token`], `subprotocol`: authentication; `tokens`: the room `token.*`
//!
//! Invariants: every HTTP request is checked in the order Host, Origin, path, token, scope. Only
//! `/health` answers without a credential. Scopes come only from the token cache. Every listener is
//! on loopback. Bytes, time and connections are bounded before a peer is authenticated.

mod address;
mod agentloop;
mod archy;
mod authenticator;
mod bus_connection;
pub mod credential;
mod event_stream;
pub mod gateway;
mod hooks;
mod http;
mod http_error;
mod line_codec;
mod looprunner;
mod openai;
mod openapi;
mod origin;
pub mod owner_token;
mod peer_check;
mod probes;
mod procnet;
mod rest;
pub mod settings;
mod shared;
mod speech;
mod subprotocol;
mod tcp_listener;
mod token_cache;
mod token_refresher;
mod tokens;
mod tools;
mod unix_listener;
mod unproven_calls;
mod vargos;
mod websocket;
mod write_timeout;

pub use gateway::{Gateway, GatewayError, GatewayParts};
pub use openapi::document as openapi_document;
pub use settings::KEYS;
pub use tools::document as tools_document;
