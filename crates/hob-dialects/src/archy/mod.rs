//! Archy's dialect: translates its clients' requests into calls of `terminal.*` and `desktop.*`.
//! Served on an opt-in unix socket, because its clients can send no token.
//!
//! - `listener`: the socket; `connection`: one connection; `framing`: finds the end of a request;
//!   `fields`: reads the request's `data`
//! - `client`: the sender of a request and its bus calls; `actions`: dispatches a request
//! - `commands`, `waiting`, `batch`: run commands in a session; `analyzed_output`: analyzed output
//!   in Archy's format
//! - `windows`: windows and applications; `client_display`: the client's desktop
//! - `prompt_folder`: the folder in a prompt; `extra_actions`: actions that only hob has;
//!   `service_actions`: actions of services on the bus
//!
//! Invariants: this surface only translates. Only programs of hob's user may connect. Bytes, time
//! and connections are limited. A waiting client does not block others.

mod actions;
mod analyzed_output;
mod batch;
mod client;
mod client_display;
mod commands;
mod connection;
mod extra_actions;
mod fields;
mod framing;
mod listener;
mod prompt_folder;
mod service_actions;
mod waiting;
mod windows;

pub(crate) use listener::open;

use crate::token_cache::Principal;
use hob_wire::{Scope, Scopes};

/// The surface and the principal of all Archy clients.
pub(crate) const SURFACE: &str = "archy";

/// The principal of all clients. Enabling the socket grants the terminal and the desktop, which
/// need `admin`. Apart from these, only services that offer `archy.ACTION` are called.
fn principal() -> Principal {
    Principal {
        id: SURFACE.into(),
        name: SURFACE.into(),
        scopes: Scopes::rank(Scope::Admin),
    }
}
