//! The public interface of the bus: construction, services, connections, callers and shutdown.

use crate::caller::Caller;
use crate::counters::BusCounters;
use crate::drain;
use crate::emitter::EventEmitter;
use crate::endpoint_list::EndpointList;
use crate::event_filter;
use crate::event_log::{EventLog, PublisherInbox, publisher};
use crate::event_pump::{self, PumpHandle, SubscribeReply, SubscribeRequest};
use crate::followers::FollowerCounts;
use crate::hub::Hub;
use crate::limits::BusLimits;
use crate::link::{self, BusLink, BusOutlet};
use crate::memory_log::MemoryLog;
use crate::peer::{CloseReason, PeerIdentity};
use crate::registry::RouteRegistry;
use crate::request_traces::RequestTraces;
use crate::room::Room;
use crate::room_worker::{RoomListener, RoomWorker};
use crate::route_table::ServiceOffer;
use crate::since::SincePosition;
use crate::sweeper;
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_kit::tasks::TaskGroup;
use hob_wire::rooms::gateway::{GatewayCounters, ServiceConnected};
use hob_wire::{MethodSpec, WireError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// Catch-ups that may read the log at the same time.
const LOG_READERS_MAX: usize = 32;

/// The dependencies of a bus.
pub struct BusParts {
    pub log: Arc<dyn EventLog>,
    pub inbox: PublisherInbox,
    pub clock: Clock,
    pub randomness: Randomness,
    pub tasks: TaskGroup,
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

/// The message bus; cheap to clone. It runs until its task group stops.
#[derive(Clone, Debug)]
pub struct Bus(pub(crate) Arc<Hub>);

impl Bus {
    /// Starts a bus. Must be called inside a tokio runtime.
    pub fn new(parts: BusParts) -> Bus {
        let (pump, commands) = PumpHandle::new(Arc::clone(&parts.log));
        let hub = Arc::new(Hub {
            registry: RouteRegistry::new(&parts.version),
            counters: BusCounters::default(),
            traces: RequestTraces::new(parts.randomness.u64()),
            pump,
            pending_added: Notify::new(),
            draining: AtomicBool::new(false),
            relays_undeclared: AtomicBool::new(false),
            open_outlets: AtomicUsize::new(0),
            started_ms: parts.clock.monotonic_ms(),
            last_id: AtomicU64::new(0),
            endpoints: EndpointList::default(),
            followers: FollowerCounts::default(),
            log_readers: Semaphore::new(LOG_READERS_MAX),
            log: parts.log,
            clock: parts.clock,
            tasks: parts.tasks,
            limits: parts.limits,
            version: parts.version,
        });
        // Set before the pump runs: an event may be committed before its first poll, and the pump
        // must not take that event for one it has already published.
        hub.counters.seq.set(hub.log.bounds().last);
        let pump = event_pump::run(Arc::clone(&hub), commands, parts.inbox);
        hub.tasks.spawn_until_stop("bus pump", pump);
        let sweeper = sweeper::run(Arc::clone(&hub));
        hub.tasks.spawn_until_stop("bus sweeper", sweeper);
        Bus(hub)
    }

    /// Starts a bus with an in-memory log and the system clock, for testing one service.
    pub fn in_memory(tasks: &TaskGroup) -> Bus {
        let (publisher, inbox) = publisher();
        Bus::new(BusParts {
            log: Arc::new(MemoryLog::new(publisher)),
            inbox,
            clock: Clock::system(),
            randomness: Randomness::system(),
            tasks: tasks.clone(),
            limits: BusLimits::default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// Serves a built-in service and reserves its name, methods and events.
    pub fn serve(&self, room: impl Into<Room>) -> Result<(), WireError> {
        let (hub, room) = (&self.0, room.into());
        let specs: Vec<MethodSpec> = room.methods.iter().map(|(spec, _)| *spec).collect();
        let subscriptions = room.listeners.iter().map(|(pattern, _)| pattern.clone());
        let offer = ServiceOffer::builtin(room.service, &hub.version, &specs, &room.events);
        let offer = offer.with_subscriptions(subscriptions.collect());
        let endpoint = hub.room_endpoint(room.service);
        hub.registry.add_builtin(offer, Arc::clone(&endpoint))?;
        // The room is in the route table from here on. Requests that arrive before the worker
        // starts wait in its outbox.
        let handlers = room.methods.into_iter();
        let worker = RoomWorker {
            hub: Arc::clone(hub),
            endpoint,
            handlers: handlers
                .map(|(spec, handler)| (spec.name, handler))
                .collect(),
            permits: Arc::new(Semaphore::new(room.concurrency)),
        };
        hub.tasks.spawn_until_stop("bus room", worker.run());
        if !room.listeners.is_empty() {
            self.listen(room.service, room.listeners)?;
        }
        // Announced last: whoever hears it may call the room at once.
        hub.announce::<ServiceConnected>(room.service);
        Ok(())
    }

    /// Admits an external connection; `OVERLOADED` when there are too many.
    pub fn connect(&self, peer: PeerIdentity) -> Result<(BusLink, BusOutlet), WireError> {
        let endpoint = self.0.connect(peer)?;
        Ok(link::open(&self.0, &endpoint))
    }

    /// Creates an in-process caller with every scope.
    pub fn caller(&self, name: &str) -> Caller {
        Caller::new(&self.0, self.0.caller(name))
    }

    /// Creates a caller that acts for `peer`. Its scopes are checked as for a connection.
    pub fn caller_as(&self, peer: PeerIdentity) -> Result<Caller, WireError> {
        Ok(Caller::new(&self.0, self.0.caller_as(peer)?))
    }

    /// Returns an emitter for volatile events of the built-in `service`.
    pub fn emitter(&self, service: &str) -> EventEmitter {
        EventEmitter {
            hub: Arc::clone(&self.0),
            service: Arc::from(service),
        }
    }

    /// From now on, relays events that no service declared, as volatile ones, if their sender may
    /// register any service. For a bus without rooms, whose services are all outside.
    pub fn relay_undeclared_events(&self) {
        self.0.relays_undeclared.store(true, Ordering::Relaxed);
    }

    pub fn counters(&self) -> GatewayCounters {
        self.0.counters()
    }

    pub fn limits(&self) -> &BusLimits {
        &self.0.limits
    }

    /// Closes every connection of a credential at once. Frames still in their outboxes are not sent.
    pub fn close_principal(&self, principal: &str) {
        for endpoint in self.0.endpoints.of_principal(principal) {
            self.0.close(&endpoint, CloseReason::Revoked);
        }
    }

    /// Runs `then` once a connection has closed. Returns false if it is already closed, or if it is
    /// a caller, which has no connection to watch.
    pub fn when_closed(&self, connection: u64, then: impl FnOnce() + Send + 'static) -> bool {
        let Some(endpoint) = self.0.endpoints.find(connection) else {
            return false;
        };
        if endpoint.outbox().is_none() {
            return false;
        }
        self.0.tasks.spawn_until_stop("bus connection", async move {
            if let Some(outbox) = endpoint.outbox() {
                outbox.wait_closed().await;
                then();
            }
        });
        true
    }

    /// Shuts the bus down gracefully: refuses new external requests and connections, waits for
    /// requests in flight, fails the ones that do not finish, closes every link with
    /// [`CloseReason::ShuttingDown`] and waits until the outlets are flushed. Returns false if
    /// flushing timed out. Rooms keep running until the task group stops.
    pub async fn drain(&self, within: Duration) -> bool {
        drain::drain(&self.0, within).await
    }

    fn listen(
        &self,
        service: &str,
        listeners: Vec<(String, crate::room::EventListener)>,
    ) -> Result<(), WireError> {
        let hub = &self.0;
        let endpoint = hub.room_endpoint(service);
        let patterns: Vec<String> = listeners
            .iter()
            .map(|(pattern, _)| pattern.clone())
            .collect();
        let filters = {
            let routes = hub.registry.routes();
            event_filter::parse(&patterns, None, &endpoint.peer.scopes, &routes)?
        };
        hub.pump.subscribe_now(SubscribeRequest {
            endpoint: Arc::clone(&endpoint),
            filters,
            // The position is taken now, so the room gets every later event even if the pump
            // handles this command after some of them.
            since: Some(SincePosition {
                seq: hub.log.bounds().last,
                log_id: None,
            }),
            reply: SubscribeReply::Nobody,
        })?;
        let listener = RoomListener {
            hub: Arc::clone(hub),
            endpoint,
            listeners,
        };
        hub.tasks
            .spawn_until_stop("bus room listener", listener.run());
        Ok(())
    }
}
