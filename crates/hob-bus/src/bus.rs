//! The bus and what it is made of.

use crate::caller::Caller;
use crate::emitter::Emitter;
use crate::limits::BusLimits;
use crate::link::{Link, Outlet};
use crate::log::{EventLog, PublisherInbox, publisher};
use crate::memory_log::MemoryLog;
use crate::peer::Peer;
use crate::room::Room;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::tasks::Tasks;
use hob_wire::rooms::gateway;
use hob_wire::{ErrorCode, WireError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a bus is made of; named, because the daemon joins all of it.
pub struct BusParts {
    pub log: Arc<dyn EventLog>,
    pub inbox: PublisherInbox,
    pub clock: Clock,
    pub dice: Dice,
    pub tasks: Tasks,
    pub limits: BusLimits,
    /// hob's version, for `gateway.describe`.
    pub version: String,
}

impl fmt::Debug for BusParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusParts").finish_non_exhaustive()
    }
}

/// The bus; cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus(Arc<BusParts>);

impl Bus {
    pub fn new(parts: BusParts) -> Bus {
        Bus(Arc::new(parts))
    }

    /// A bus with a log in memory and the machine's clock: for testing a service alone.
    pub fn in_memory(tasks: &Tasks) -> Bus {
        let (publisher, inbox) = publisher();
        Bus::new(BusParts {
            log: Arc::new(MemoryLog::new(publisher)),
            inbox,
            clock: Clock::system(),
            dice: Dice::system(),
            tasks: tasks.clone(),
            limits: BusLimits::default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// Serves a built-in service; its names can never be taken.
    pub fn serve(&self, room: Room) -> Result<(), WireError> {
        let _ = room;
        Ok(())
    }

    /// Admits a party from outside; `OVERLOADED` when there are too many.
    pub fn connect(&self, peer: Peer) -> Result<(Link, Outlet), WireError> {
        let _ = peer;
        Err(WireError::new(
            ErrorCode::ServiceUnavailable,
            "the bus is not open",
        ))
    }

    /// A client inside the house, with every scope.
    pub fn caller(&self, name: &str) -> Caller {
        let _ = name;
        Caller {}
    }

    /// A client that acts for `peer`: its scopes are checked like any connection's.
    pub fn caller_as(&self, peer: Peer) -> Result<Caller, WireError> {
        let _ = peer;
        Ok(Caller {})
    }

    /// Emits volatile events of the built-in `service`.
    pub fn emitter(&self, service: &str) -> Emitter {
        let _ = service;
        Emitter {}
    }

    pub fn counters(&self) -> gateway::Counters {
        gateway::Counters::default()
    }

    pub fn limits(&self) -> &BusLimits {
        &self.0.limits
    }

    /// Closes every link of a credential, at once.
    pub fn close_principal(&self, principal: &str) {
        let _ = principal;
    }

    /// Stops the bus politely: refuses new requests from outside, lets those under way finish and
    /// outboxes flush, then closes every link. False if some had not flushed in time.
    pub async fn drain(&self, within: Duration) -> bool {
        let _ = within;
        true
    }
}
