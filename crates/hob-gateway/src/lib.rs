//! The gateway: every listener through which the outside reaches the bus, and the authentication in
//! front of it.
//!
//! - [`gateway`]: starts everything; [`settings`]: the configuration keys; [`shared`]: the state of
//!   all listeners
//! - `tcp_listener`, `unix_listener`: accept connections; [`websocket`], `line_codec`: the two
//!   framings; `write_timeout`: drops peers that stop reading
//! - [`http`]: the checks of every HTTP request; [`rest`], `tools`, [`openapi`], `probes`, `speech`:
//!   its routes; [`http_error`]: its error answers; [`event_stream`]: server-sent events
//! - [`openai`]: the surface at `/v1`; [`bus_connection`]: a bus link for one answer
//! - [`dialect`]: the interface of an adapter for another system's clients, which uses the public
//!   modules; `opt_in_listener`, `opt_in_socket`: its listeners without a token; `peer_check`,
//!   `procnet`: the local programs that may use them
//! - `hooks`: webhooks, each with its own secret; `unproven_calls`: limits on callers whose
//!   signature is not checked yet
//! - `origin`, `address`, `authenticator`, `token_cache`, `token_refresher`, [`credential`],
//!   [`owner_token`], `subprotocol`: authentication; `tokens`: the room `token.*`
//!
//! Invariants: every HTTP request is checked in the order Host, Origin, path, token, scope. Only
//! `/health` answers without a credential. Scopes come only from the token cache, and on an
//! opt-in listener from its dialect. Every listener is on loopback. Bytes, time and connections are
//! bounded before a peer is authenticated. No foreign product is named here.

mod address;
mod authenticator;
pub mod bus_connection;
pub mod credential;
pub mod dialect;
pub mod event_stream;
pub mod gateway;
mod hooks;
pub mod http;
pub mod http_error;
mod line_codec;
pub mod openai;
pub mod openapi;
mod opt_in_listener;
mod opt_in_socket;
mod origin;
pub mod owner_token;
mod peer_check;
mod probes;
mod procnet;
pub mod rest;
pub mod settings;
pub mod shared;
pub mod speech;
mod subprotocol;
mod tcp_listener;
mod token_cache;
mod token_refresher;
mod tokens;
mod tools;
mod unix_listener;
mod unproven_calls;
pub mod websocket;
mod write_timeout;

pub use gateway::{Gateway, GatewayError, GatewayParts};
pub use settings::KEYS;
pub use token_cache::Principal;
