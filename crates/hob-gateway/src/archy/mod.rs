//! Archy's socket: its clients' documents turned into calls of `terminal.*` and `desktop.*`, and
//! what those say into its answers. An opt-in unix socket, since its clients can send no token.
//!
//! - `socket`: the listener; `conversation`: one connection, and what is said on it
//! - `framing`: where a document ends; `fields`: what its `data` holds
//! - `actions`: which action is what; `client`: whoever asks, and the calls this takes
//! - `commands`, `waiting`: what is typed into a session, and its end; `batch`: several at once
//! - `windows`: windows and applications; `asker`: on whose desktop; `analyzed`: output that was
//!   looked at
//! - `prompt`: the folder a prompt shows; `added`: actions of hob's own; `offered`: those of
//!   services on the bus
//!
//! Invariants: this surface decides nothing, it translates; only peers of our own user are heard;
//! bytes, time and connections are bounded; a client that waits keeps no other waiting.

mod actions;
mod added;
mod analyzed;
mod asker;
mod batch;
mod client;
mod commands;
mod conversation;
mod fields;
mod framing;
mod offered;
mod prompt;
mod socket;
mod waiting;
mod windows;

pub(crate) use socket::open;

use crate::book::Principal;
use hob_wire::{Scope, Scopes};

/// The surface and principal of every such client.
pub(crate) const SURFACE: &str = "archy";

/// Opening the socket was the grant: of the terminal and the desktop, which need `admin`. This surface
/// makes no other calls but those of the services that offer `archy.ACTION`.
fn principal() -> Principal {
    Principal {
        id: SURFACE.into(),
        name: SURFACE.into(),
        scopes: Scopes::rank(Scope::Admin),
    }
}
