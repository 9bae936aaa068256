//! Archy's dialect: translates its clients' requests into calls of `terminal.*` and `desktop.*`.
//! Served on an opt-in unix socket, because its clients can send no token.
//!
//! - `types`: the requests and responses; `settings`: the configuration keys
//! - `connection`: one connection; `framing`: finds the end of a request; `fields`: reads the
//!   request's `data`
//! - `client`: the sender of a request and its bus calls; `actions`: dispatches a request
//! - `commands`, `waiting`, `batch`: run commands in a session; `analysis`: the format, facts and
//!   findings of a command's output, also behind `terminal.analyze`; `analyzed_output`,
//!   `structured_facts`: the same in Archy's format, names and keys
//! - `windows`: windows and applications; `client_display`: the client's desktop
//! - `prompt_folder`: the folder in a prompt; `extra_actions`: actions that only hob has;
//!   `service_actions`: actions of services on the bus; `import`: what Archy stored
//!
//! Invariants: this surface only translates. Only programs of hob's user may connect. Bytes, time
//! and connections are limited. A waiting client does not block others.

mod actions;
pub(crate) mod analysis;
mod analyzed_output;
mod batch;
mod client;
mod client_display;
mod commands;
mod connection;
mod extra_actions;
mod fields;
mod framing;
mod import;
mod prompt_folder;
mod service_actions;
mod settings;
mod structured_facts;
mod types;
mod waiting;
mod windows;

pub(crate) use import::IMPORTER;

use hob_gateway::dialect::{DialectEntry, OptInListener, OptInProtocol, SocketProtocol};
use hob_wire::{Scope, Scopes};
use types::ArchyResponse;

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    keys: settings::KEYS,
    opt_in: Some(OptInListener {
        // Enabling the socket grants the terminal and the desktop, which need `admin`. Apart from
        // these, only services that offer `archy.ACTION` are called.
        scopes: || Scopes::rank(Scope::Admin),
        place: settings::socket,
        protocol: OptInProtocol::Socket(SocketProtocol {
            serve: |stream, caller, shared| Box::pin(connection::serve(stream, caller, shared)),
            refusal: |why| serde_json::to_vec(&ArchyResponse::failed(why)).unwrap_or_default(),
        }),
    }),
    ..DialectEntry::new("archy", "Archy")
};
