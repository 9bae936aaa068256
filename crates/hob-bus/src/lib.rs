//! The message bus. It routes requests by registered methods and events by subscriptions, between
//! external connections, built-in rooms and in-process callers. It never interprets a payload.
//!
//! - [`Bus`]: the interface for the daemon and the gateway; `hub` holds the state its parts share
//! - [`BusLink`] and [`BusOutlet`]: a connection; [`Room`] and [`StatefulRoom`]: a built-in service;
//!   [`Caller`]: an in-process client. Each is an `endpoint`; a `delivery` to an endpoint waits in its
//!   `outbox`
//! - `router`: requests and answers, by `route_table` (read without a lock) and
//!   `pending_requests`; `registry` and `registration_checks` change the table; `sweeper` times out
//!   requests
//! - `event_pump` and `event_dispatcher`: events in order, by `event_filter` and
//!   `subscription_index`; `catch_up` and `event_ring`: past events
//! - `gateway_methods`, `describe`, `inspect`, `request_traces`, `counters`: the methods `gateway.*`
//!   and the data they report
//! - [`EventLog`], [`Publisher`]: the interface to the store; [`MemoryLog`] for tests
//!
//! Invariants: a payload is encoded once and never read here; no endpoint waits for another
//! endpoint's consumer; every queue is bounded; a request gets one answer, from the service that
//! took it or, if that fails, from the bus.

mod bus;
mod caller;
mod catch_up;
mod counters;
mod delivery;
mod describe;
mod drain;
mod emitter;
mod endpoint;
mod endpoint_list;
mod event;
mod event_dispatcher;
mod event_filter;
mod event_log;
mod event_pump;
mod event_ring;
mod followers;
mod gateway_methods;
mod hub;
mod inspect;
mod limits;
mod link;
mod memory_log;
mod outbox;
mod peer;
mod pending_requests;
mod registration_checks;
mod registry;
mod request_traces;
mod response_waiters;
mod room;
mod room_worker;
mod route_table;
mod router;
mod since;
mod stateful_room;
mod subscription_index;
mod sweeper;

pub use bus::{Bus, BusParts};
pub use caller::Caller;
pub use emitter::EventEmitter;
pub use event::{LoggedEvent, NewEvent, SessionTag};
pub use event_log::{BoxFuture, EventLog, LogBounds, Publisher, PublisherInbox, publisher};
pub use limits::BusLimits;
pub use link::{BusLink, BusOutlet};
pub use memory_log::MemoryLog;
pub use peer::{CloseReason, PeerIdentity};
pub use room::{ReceivedEvent, RequestContext, Room};
pub use stateful_room::{BoundHandler, StatefulRoom};
