//! The gateway: how the outside reaches the bus. Listeners, credentials, the WebSocket, the unix
//! socket, REST, probes.
//!
//! - [`gateway`]: starting it all; [`settings`]: the keys it owns
//! - `listener`, `unix`, `vargos`: the ways in; `websocket`, `lines`: the two framings
//! - `http`: what every HTTP request passes, in order; `rest`, `tools`, `openapi`, `probes`: what it may
//!   ask
//! - `agentloop`, `archy`, `looprunner`: other programs' dialects; `peer_check`: who is let in without a
//!   token, where that is granted; `hooks`: other systems that call a job by its own secret; `unproven`:
//!   who of them has a place before that is known
//! - `openai`: the surface at `/v1`; `line`: a link for one answer; `event_stream`: one in pieces;
//!   `speech`: `/tts` and `/v1/audio/speech`; `patience`: peers that stop reading
//! - `origin`, `door`, `book`, [`credential`], [`owner`]: who may come in; `tokens`: `token.*`
//!
//! Invariants: every HTTP request is checked in the order Host, Origin, path, token, scope; nothing
//! but `/health` answers without a credential; scopes come only from the book; every listener is
//! on loopback; bytes, time and connections are bounded before a peer is known.

mod address;
mod agentloop;
mod archy;
mod book;
pub mod credential;
mod door;
mod event_stream;
pub mod gateway;
mod hooks;
mod http;
mod keeper;
mod line;
mod lines;
mod listener;
mod looprunner;
mod openai;
mod openapi;
mod origin;
pub mod owner;
mod patience;
mod peer_check;
mod probes;
mod procnet;
mod refusal;
mod rest;
pub mod settings;
mod shared;
mod speech;
mod subprotocol;
mod tokens;
mod tools;
mod unix;
mod unproven;
mod vargos;
mod websocket;

pub use gateway::{Gateway, GatewayError, GatewayParts};
pub use openapi::document as openapi_document;
pub use settings::KEYS;
pub use tools::document as tools_document;
