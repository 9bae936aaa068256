//! The typed way to hob's daemon, for every face and for services written in Rust.
//!
//! - [`Target`]: which daemon (the one of a home by its unix socket, or one behind a `ws://` URL)
//! - [`Client`]: calls; [`EventStream`]: events that resume without gap or repeat;
//!   [`Service`]: methods and events that a program of yours offers on the bus
//! - [`start`]: starting the daemon of a home, detached
//! - [`ClientError`]: what can go wrong, as a kind to match and a sentence to act on
//!
//! Invariants: one owner task per connection; every channel is bounded; dropping a handle ends its
//! task and closes its connection; a call that was under way when the connection broke is never
//! repeated silently.

mod calls;
mod connector;
mod error;
mod events;
mod link;
mod service;
mod serving;
pub mod start;
mod target;
mod transport;

pub use calls::{CallOptions, Client, ConnectOptions, LinkState};
pub use error::ClientError;
pub use events::{Event, EventStream, Item, Subscription};
pub use service::{Incoming, Service};
pub use serving::Serving;
pub use target::Target;
