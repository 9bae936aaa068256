//! The bus: it routes requests by a table of registrations and events by subscriptions, between
//! connections, the rooms of the house and callers inside it. It knows nothing of what they mean.
//!
//! - [`Bus`]: the whole of what the daemon sees; `hub` is what its parts share
//! - [`Link`] and [`Outlet`]: a connection; [`Room`]: a service of the house; [`Caller`]: a client
//!   in it. Each is a `party`; what travels to one is a `delivery` and waits in its `outbox`
//! - `router`: requests to a service and answers back, by `routes` (read without a lock) and
//!   `pending`; `registry` and `registration` change the table; `sweeper` ends silence
//! - `pump` and `board`: events in order, by `filter` and `index`; `catch_up` and `ring`: the past
//! - `gateway_methods`, `describe`, `inspect`, `trace`, `tally`: what the bus says of itself
//! - [`EventLog`], [`Publisher`]: what the store gives the bus; [`MemoryLog`] for tests
//!
//! Invariants: a payload is encoded once and never read here; nobody waits for another's consumer;
//! every queue has a bound; a request gets one answer, from the party it was given to or about it.

mod board;
mod bus;
mod caller;
mod catch_up;
mod delivery;
mod describe;
mod drain;
mod emitter;
mod event;
mod filter;
mod gateway_methods;
mod hub;
mod index;
mod inspect;
mod limits;
mod link;
mod log;
mod memory_log;
mod outbox;
mod parties;
mod party;
mod peer;
mod pending;
mod pump;
mod registration;
mod registry;
mod ring;
mod room;
mod room_worker;
mod router;
mod routes;
mod since;
mod sweeper;
mod tally;
mod trace;
mod waiters;

pub use bus::{Bus, BusParts};
pub use caller::Caller;
pub use emitter::Emitter;
pub use event::{LoggedEvent, NewEvent, SessionTag};
pub use limits::BusLimits;
pub use link::{Link, Outlet};
pub use log::{BoxFuture, EventLog, LogBounds, Publisher, PublisherInbox, publisher};
pub use memory_log::MemoryLog;
pub use peer::{Closed, Peer};
pub use room::{Call, Notice, Room};
