//! The outside judge. It knows the wire only from its documents: raw WebSocket, raw lines on the
//! unix socket and raw HTTP against the built binary, with no crate of ours, so that what it
//! accepts is what any program in any language can rely on.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a JSON literal is written where it is used and read best by value"
)]

mod errors;
mod events;
mod failure;
mod garbage;
mod http;
mod limits;
mod listeners;
mod messages;
mod payload;
mod peers;
mod process;
mod resume;
mod routing;
mod scopes;
mod sessions;
mod settings;
mod surfaces;
mod tools;
pub(crate) mod wire;
