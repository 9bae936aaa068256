//! The bus and what it is made of. This is the whole of what the daemon and the gateway see.

use crate::caller::Caller;
use crate::drain;
use crate::emitter::Emitter;
use crate::filter;
use crate::hub::Hub;
use crate::limits::BusLimits;
use crate::link::{self, Link, Outlet};
use crate::log::{EventLog, PublisherInbox, publisher};
use crate::memory_log::MemoryLog;
use crate::parties::Parties;
use crate::peer::{Closed, Peer};
use crate::pump::{self, PumpHandle, Reply, Subscription};
use crate::registry::Registry;
use crate::room::Room;
use crate::room_worker::{RoomListener, RoomWorker};
use crate::routes::Offer;
use crate::since::Since;
use crate::sweeper;
use crate::tally::Tally;
use crate::trace::Traces;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::tasks::Tasks;
use hob_wire::rooms::gateway::{Counters, ServiceConnected};
use hob_wire::{MethodSpec, WireError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// Catch-ups that read the log at once.
const LOG_READERS_MAX: usize = 32;

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
        f.debug_struct("BusParts")
            .field("limits", &self.limits)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// The bus; cheap to clone. It lives until its tasks are told to stop.
#[derive(Clone, Debug)]
pub struct Bus(pub(crate) Arc<Hub>);

impl Bus {
    /// Starts a bus; called inside a runtime.
    pub fn new(parts: BusParts) -> Bus {
        let (pump, commands) = PumpHandle::new(Arc::clone(&parts.log));
        let hub = Arc::new(Hub {
            registry: Registry::new(&parts.version),
            tally: Tally::default(),
            traces: Traces::new(parts.dice.u64()),
            pump,
            waiting: Notify::new(),
            draining: AtomicBool::new(false),
            outlets: AtomicUsize::new(0),
            started_ms: parts.clock.monotonic_ms(),
            last_id: AtomicU64::new(0),
            parties: Parties::default(),
            log_readers: Semaphore::new(LOG_READERS_MAX),
            log: parts.log,
            clock: parts.clock,
            tasks: parts.tasks,
            limits: parts.limits,
            version: parts.version,
        });
        // Here, not in the pump, which may begin to run after the first event.
        hub.tally.seq.set(hub.log.bounds().last);
        let pump = pump::run(Arc::clone(&hub), commands, parts.inbox);
        hub.tasks.spawn_until_stop("bus pump", pump);
        let sweeper = sweeper::run(Arc::clone(&hub));
        hub.tasks.spawn_until_stop("bus sweeper", sweeper);
        Bus(hub)
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

    /// Serves a built-in service. From now on its name, methods and events cannot be taken.
    pub fn serve(&self, room: Room) -> Result<(), WireError> {
        let hub = &self.0;
        let specs: Vec<MethodSpec> = room.methods.iter().map(|(spec, _)| *spec).collect();
        let heard = room.listeners.iter().map(|(pattern, _)| pattern.clone());
        let offer = Offer::builtin(room.service, &hub.version, &specs, &room.events);
        let offer = offer.hearing(heard.collect());
        let party = hub.room_party(room.service);
        hub.registry.admit(offer, Arc::clone(&party))?;
        let handlers = room.methods.into_iter();
        let worker = RoomWorker {
            hub: Arc::clone(hub),
            party,
            handlers: handlers
                .map(|(spec, handler)| (spec.name, handler))
                .collect(),
            turns: Arc::new(Semaphore::new(room.concurrency)),
        };
        hub.tasks.spawn_until_stop("bus room", worker.run());
        if !room.listeners.is_empty() {
            self.listen(room.service, room.listeners)?;
        }
        hub.announce::<ServiceConnected>(room.service);
        Ok(())
    }

    /// Admits a party from outside; `OVERLOADED` when there are too many.
    pub fn connect(&self, peer: Peer) -> Result<(Link, Outlet), WireError> {
        let party = self.0.connect(peer)?;
        Ok(link::join(&self.0, &party))
    }

    /// A client inside the house, with every scope.
    pub fn caller(&self, name: &str) -> Caller {
        Caller::new(&self.0, self.0.caller(name))
    }

    /// A client that acts for `peer`: its scopes are checked like any connection's.
    pub fn caller_as(&self, peer: Peer) -> Result<Caller, WireError> {
        Ok(Caller::new(&self.0, self.0.caller_as(peer)?))
    }

    /// Emits volatile events of the built-in `service`.
    pub fn emitter(&self, service: &str) -> Emitter {
        Emitter {
            hub: Arc::clone(&self.0),
            service: Arc::from(service),
        }
    }

    pub fn counters(&self) -> Counters {
        self.0.counters()
    }

    pub fn limits(&self) -> &BusLimits {
        &self.0.limits
    }

    /// Closes every link of a credential at once; what waits in their outboxes is not sent.
    pub fn close_principal(&self, principal: &str) {
        for party in self.0.parties.of_principal(principal) {
            self.0.close(&party, Closed::Revoked);
        }
    }

    /// Does `then` once a connection has closed. False for one that is closed already, and for a
    /// caller that lives for one request only.
    pub fn when_closed(&self, connection: u64, then: impl FnOnce() + Send + 'static) -> bool {
        let Some(party) = self.0.parties.find(connection) else {
            return false;
        };
        if party.outbox().is_none() {
            return false;
        }
        self.0.tasks.spawn_until_stop("bus connection", async move {
            if let Some(outbox) = party.outbox() {
                outbox.ended().await;
                then();
            }
        });
        true
    }

    /// Stops the bus politely: refuses new requests and connections from outside, lets requests
    /// under way end, fails those that do not, closes every link with [`Closed::ShuttingDown`] and
    /// waits until the outlets were emptied. False if that took longer than `within`. Rooms go on
    /// until their tasks are stopped.
    pub async fn drain(&self, within: Duration) -> bool {
        drain::drain(&self.0, within).await
    }

    fn listen(
        &self,
        service: &str,
        listeners: Vec<(String, crate::room::Listener)>,
    ) -> Result<(), WireError> {
        let hub = &self.0;
        let party = hub.room_party(service);
        let patterns: Vec<String> = listeners
            .iter()
            .map(|(pattern, _)| pattern.clone())
            .collect();
        let filters = {
            let routes = hub.registry.routes();
            filter::parse(&patterns, None, &party.peer.scopes, &routes)?
        };
        hub.pump.subscribe_now(Subscription {
            party: Arc::clone(&party),
            filters,
            // The room hears all that is committed from now on, whenever the pump gets to this.
            since: Some(Since {
                seq: hub.log.bounds().last,
                log_id: None,
            }),
            reply: Reply::Nobody,
        })?;
        let listener = RoomListener {
            hub: Arc::clone(hub),
            party,
            listeners,
        };
        hub.tasks
            .spawn_until_stop("bus room listener", listener.run());
        Ok(())
    }
}
