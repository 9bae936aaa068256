//! The typed client of hob's daemon, for every face and for services written in Rust.
//!
//! - [`DaemonTarget`]: the daemon to connect to, by its home's unix socket or by a `ws://` URL
//! - [`Client`] makes calls
//! - [`EventStream`]: events that resume after a reconnect without gap or repeat
//! - [`SessionFollower`]: the blocks of one session, as they change
//! - [`ServiceDefinition`], [`ServiceHandle`]: methods and events that a program offers on the bus
//! - [`launcher`]: starting the daemon of a home as a detached process
//! - [`ClientError`]: errors, with a kind for programs and a sentence for people
//!
//! ```no_run
//! use hob_client::{Client, DaemonTarget, StreamItem, SubscribeOptions};
//! use hob_kit::{home::Home, host_environment::EnvVars};
//! use hob_wire::rooms::session::{Send, SessionSendParams};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let home = Home::resolve(&EnvVars::capture())?;
//! let client = Client::connect(DaemonTarget::home(&home)).await?;
//! let sent = client
//!     .call::<Send>(&SessionSendParams {
//!         session_key: "chat:main".into(),
//!         content: "Good morning".into(),
//!         role: None,
//!         idempotency_key: Some("2026-11-15 greeting".into()),
//!     })
//!     .await?;
//! let mut events = client.subscribe(SubscribeOptions::to(["session.*"])).await?;
//! while let Some(item) = events.next().await {
//!     if let StreamItem::Event(event) = item? {
//!         let _ = (event.topic, sent.seq);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: one task owns each connection. Every channel is bounded. Dropping a handle ends its
//! task and closes its connection. A call that was in progress when the connection broke is never
//! repeated silently.

mod client;
mod connection;
mod connector;
mod error;
mod events;
mod follower;
pub mod launcher;
mod service;
mod service_handle;
mod target;
mod transport;

pub use client::{CallOptions, Client, ConnectOptions, ConnectionState};
pub use error::ClientError;
pub use events::{BusEvent, EventStream, StreamItem, SubscribeOptions};
pub use follower::{FollowItem, FollowOptions, SessionFollower};
// What a follower's items are made of, how names in questions are shown, and money is read.
pub use hob_core::amounts;
pub use hob_core::transcript::{BlockList, BlockPage, BlockRequest, ListChange};
pub use hob_core::visible_text;
pub use service::{IncomingRequest, ServiceDefinition};
pub use service_handle::ServiceHandle;
pub use target::DaemonTarget;
