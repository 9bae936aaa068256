//! The typed way to hob's daemon, for every face and for services written in Rust.
//!
//! - [`Target`]: which daemon (the one of a home by its unix socket, or one behind a `ws://` URL)
//! - [`Client`]: calls; [`EventStream`]: events that resume without gap or repeat;
//!   [`Service`]: methods and events that a program of yours offers on the bus
//! - [`start`]: starting the daemon of a home, detached
//! - [`ClientError`]: what can go wrong, as a kind to match and a sentence to act on
//!
//! ```no_run
//! use hob_client::{Client, Item, Subscription, Target};
//! use hob_kit::{home::Home, world::Env};
//! use hob_wire::rooms::session::{Send, SendParams};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let home = Home::resolve(&Env::capture())?;
//! let client = Client::connect(Target::home(&home)).await?;
//! let sent = client
//!     .call::<Send>(&SendParams {
//!         session_key: "chat:main".into(),
//!         content: "Good morning".into(),
//!         role: None,
//!         idempotency_key: Some("2026-11-15 greeting".into()),
//!     })
//!     .await?;
//! let mut events = client.subscribe(Subscription::to(["session.*"])).await?;
//! while let Some(item) = events.next().await {
//!     if let Item::Event(event) = item? {
//!         let _ = (event.topic, sent.seq);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
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
