//! The bus: router, registry, subscriptions, and the links of services inside the house and out.

mod bus;
mod caller;
mod emitter;
mod event;
mod limits;
mod link;
mod log;
mod memory_log;
mod peer;
mod room;

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
